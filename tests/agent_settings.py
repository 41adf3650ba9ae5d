"""Settings files as agents and people really write them: where they are in a home, and what is in them."""

CLAUDE_JSON = """{
  "numStartups": 41,
  "installMethod": "native",
  "tipsHistory": {
    "new-user-warmup": 3
  },
  "projects": {
    "/home/ada/app": {
      "allowedTools": [],
      "mcpServers": {},
      "hasTrustDialogAccepted": true
    }
  },
  "mcpServers": {
    "linear": {
      "type": "http",
      "url": "https://mcp.linear.app/mcp"
    }
  },
  "userID": "a0b1"
}
"""
CLAUDE_SETTINGS = """{
  "permissions": { "allow": ["Bash(ls:*)"] },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "prettier --write" }]
      }
    ]
  },
  "model": "opus"
}
"""
CODEX_CONFIG = """# my Codex
model = "gpt-5.5"
approval_policy = "on-request"

[projects."/home/ada/app"]
trust_level = "trusted"

[mcp_servers.docs] # of the team
command = "npx"
args = [
    "-y",
    "docs-mcp", # latest
]
[mcp_servers.docs.env]
TOKEN = "x"

[tui]
notifications = true
"""
GEMINI_SETTINGS = """{
  // written by hand
  "security": {"auth": {"selectedType": "oauth-personal"}},
  "mcpServers": {
    "github": {"httpUrl": "https://api.githubcopilot.com/mcp/"}
  },
  "ui": {"theme": "GitHub"}
}
"""
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  /* providers */
  "provider": {
    "local": { "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "http://localhost:1234/v1" } },
  },
  "mcp": {
    "context7": { "type": "remote", "url": "https://mcp.context7.com/mcp", "enabled": true },
  },
}
"""
CURSOR_MCP = '{\n\t"mcpServers": {\n\t\t"figma": {\n\t\t\t"url": "http://127.0.0.1:3845/mcp"\n\t\t}\n\t}\n}'
CURSOR_HOOKS = '{\n  "version": 1,\n  "hooks": {\n    "stop": [{ "command": "./hooks/audit.sh" }]\n  }\n}\n'
VSCODE_MCP = """{
\t"servers": {
\t\t"playwright": {
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest"]
\t\t},
\t},
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "password": true },
\t],
}
"""
COPILOT_MCP = """{
  "mcpServers": {
    "playwright": {
      "tools": [
        "*"
      ],
      "type": "local",
      "command": "npx",
      "args": [
        "@playwright/mcp@latest"
      ]
    }
  }
}
"""
QWEN_SETTINGS = '{"security":{"auth":{"selectedType":"qwen-oauth"}},"model":{"name":"coder-model"},"$version":3}'
KIMI_MCP = '{\n  "mcpServers": {\n    "context7": {\n      "url": "https://mcp.context7.com/mcp",\n      "transport": "http"\n    }\n  }\n}\n'
GOOSE_CONFIG = """GOOSE_PROVIDER: openai
GOOSE_MODEL: gpt-5.5
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
    description: ''
    timeout: 300
    bundled: true
    available_tools: []
  # a server of the team
  docs:
    enabled: false
    type: stdio
    name: docs
    cmd: npx
    args:
    - -y
    - docs-mcp
    envs: {}
    env_keys:
    - DOCS_TOKEN
    timeout: 60
GOOSE_TELEMETRY_ENABLED: false
"""
CRUSH = """{
  "$schema": "https://charm.land/crush.json",
  "lsp": { "go": { "command": "gopls" } },
  "mcp": {
    "fs": { "type": "stdio", "command": "npx", "args": ["-y", "server-fs"], "timeout": 120, "disabled": false }
  }
}
"""
ZED = """// Zed settings
//
// For information on how to configure Zed, see the Zed
// documentation: https://zed.dev/docs/configuring-zed
{
  "theme": {
    "mode": "system",
    "light": "One Light", // "Ayu Light"
  },
  "context_servers": {
    "mcp-server-github": {
      "source": "extension",
      "settings": {},
    },
  },
  "agent": { "always_allow_tool_actions": false },
}
"""
WINDSURF_MCP = (
    '{\r\n  "mcpServers": {\r\n    "figma": {\r\n      "serverUrl": "https://mcp.figma.com/mcp"\r\n    }\r\n  }\r\n}\r\n'
)
CLINE_MCP = """{
  "mcpServers": {
    "weather": {
      "command": "node",
      "args": ["/opt/weather.js"],
      "env": {},
      "disabled": false,
      "autoApprove": ["get_forecast"]
    }
  }
}
"""
ROO_MCP = '\ufeff{\n  "mcpServers": {\n  }\n}'
AMP = '{\n  "amp.notifications.enabled": true,\n  "amp.mcpServers": {}\n}\n'
EXTENSIONS = ".config/Code/User/globalStorage"

SETTINGS: dict[str, dict[str, str]] = {
    "claude-code": {".claude.json": CLAUDE_JSON, ".claude/settings.json": CLAUDE_SETTINGS},
    "codex": {".codex/config.toml": CODEX_CONFIG},
    "gemini-cli": {".gemini/settings.json": GEMINI_SETTINGS},
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE},
    "cursor": {".cursor/mcp.json": CURSOR_MCP, ".cursor/hooks.json": CURSOR_HOOKS},
    "vscode-copilot": {".config/Code/User/mcp.json": VSCODE_MCP},
    "copilot-cli": {".copilot/mcp-config.json": COPILOT_MCP},
    "qwen-code": {".qwen/settings.json": QWEN_SETTINGS},
    "kimi": {".kimi/mcp.json": KIMI_MCP},
    "goose": {".config/goose/config.yaml": GOOSE_CONFIG},
    "crush": {".config/crush/crush.json": CRUSH},
    "zed": {".config/zed/settings.json": ZED},
    "windsurf": {".codeium/windsurf/mcp_config.json": WINDSURF_MCP},
    "cline": {f"{EXTENSIONS}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json": CLINE_MCP},
    "roo-code": {f"{EXTENSIONS}/rooveterinaryinc.roo-cline/settings/mcp_settings.json": ROO_MCP},
    "kilo-code": {f"{EXTENSIONS}/kilocode.kilo-code/settings/mcp_settings.json": CLINE_MCP},
    "amp": {".config/amp/settings.json": AMP},
    "droid": {".factory/mcp.json": '{\n  "mcpServers": {}\n}\n'},
    "kiro": {".kiro/settings/mcp.json": CLINE_MCP},
    "iflow": {".iflow/settings.json": '{"theme": "Default"}\n'},
}
"""The files of each agent, by their path below the home folder."""

SERVERS: dict[str, tuple[str, tuple[str, ...], dict[str, object]]] = {
    "claude-code": (".claude.json", ("mcpServers",), {"type": "stdio", "command": "/bin/recollect", "args": ["mcp"]}),
    "codex": (".codex/config.toml", ("mcp_servers",), {"command": "/bin/recollect", "args": ["mcp"]}),
    "gemini-cli": (".gemini/settings.json", ("mcpServers",), {"command": "/bin/recollect", "args": ["mcp"]}),
    "opencode": (
        ".config/opencode/opencode.jsonc",
        ("mcp",),
        {"type": "local", "command": ["/bin/recollect", "mcp"], "enabled": True},
    ),
    "cursor": (".cursor/mcp.json", ("mcpServers",), {"command": "/bin/recollect", "args": ["mcp"]}),
    "vscode-copilot": (
        ".config/Code/User/mcp.json",
        ("servers",),
        {"type": "stdio", "command": "/bin/recollect", "args": ["mcp"]},
    ),
    "copilot-cli": (
        ".copilot/mcp-config.json",
        ("mcpServers",),
        {"type": "local", "command": "/bin/recollect", "args": ["mcp"], "tools": ["*"]},
    ),
    "goose": (
        ".config/goose/config.yaml",
        ("extensions",),
        {
            "enabled": True,
            "type": "stdio",
            "name": "recollect",
            "description": "History and memory of all coding agents on this machine",
            "cmd": "/bin/recollect",
            "args": ["mcp"],
            "timeout": 300,
        },
    ),
    "crush": (".config/crush/crush.json", ("mcp",), {"type": "stdio", "command": "/bin/recollect", "args": ["mcp"]}),
    "zed": (
        ".config/zed/settings.json",
        ("context_servers",),
        {"source": "custom", "command": "/bin/recollect", "args": ["mcp"]},
    ),
    "amp": (".config/amp/settings.json", ("amp.mcpServers",), {"command": "/bin/recollect", "args": ["mcp"]}),
}
"""Where the server is in the files above, for the program `/bin/recollect`: file, keys, entry. Others: as for Cursor."""
