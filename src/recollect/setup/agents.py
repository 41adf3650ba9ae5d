"""The agents that setup connects. One declaration each: where it keeps its MCP servers, hooks, skills and commands.

Evidence: Claude Code 2.1, Codex 0.169, Gemini CLI 0.61, OpenCode 1.18, Qwen Code 0.15, Copilot CLI 1.0 and Amp were run with
these files, and list the server. For all others, their documentation was read. No editor was tried.
"""

from recollect.setup.agent import Agent, Check, Hooks, SettingsFile, WholeFile
from recollect.setup.parts import Key, Server
from recollect.setup.places import (
    Place,
    claude_file,
    claude_folder,
    cline_folders,
    crush_folder,
    editor_folders,
    extension,
    gemini_signs,
    goose_folder,
    project,
    user,
    xdg_config,
)
from recollect.sources.formats.homes import all_of, data, home, in_home

SKILL = "skills/recollect/SKILL.md"
STDIO = {"type": "stdio"}
OPENCODE_SCHEMA = Key("$schema", "https://opencode.ai/config.json", only_new=True)  # OpenCode adds it if it is missing

CODEX = home("CODEX_HOME", ".codex")
GEMINI = home("GEMINI_CLI_HOME", "", ".gemini")
OPENCODE = xdg_config("opencode")
CURSOR = in_home(".cursor")
COPILOT = home("COPILOT_HOME", ".copilot")
QWEN = home("QWEN_HOME", ".qwen")
KIMI = all_of(home("KIMI_SHARE_DIR", ".kimi"), home("KIMI_CODE_HOME", ".kimi-code"))
ROO = extension("rooveterinaryinc.roo-cline")
KILO = extension("kilocode.kilo-code")


def _servers(place: Place, server: Server | None = None) -> SettingsFile:
    return SettingsFile(place, (server or Server(),))


def _shared_skill() -> tuple[WholeFile, ...]:
    """The skill in the folder that Codex, Gemini CLI and OpenCode all read. Gemini CLI warns of a second copy."""
    return (WholeFile(user(in_home(".agents"), SKILL), SKILL),)


def _shared_project_skill() -> tuple[WholeFile, ...]:
    return (WholeFile(project(f".agents/{SKILL}"), SKILL),)


AGENTS: tuple[Agent, ...] = (
    Agent(
        name="claude-code",
        title="Claude Code",
        aliases=("claude",),
        programs=("claude",),
        signs=lambda env: [*claude_folder(env), *in_home(".claude.json")(env)],
        user=(
            SettingsFile(claude_file, (Server(fixed=STDIO),)),
            SettingsFile(user(claude_folder, "settings.json"), (Hooks("hooks.json"),)),
            WholeFile(user(claude_folder, SKILL), SKILL),
            WholeFile(user(claude_folder, "agents/search-conversation.md"), "search-conversation.md"),
            WholeFile(user(claude_folder, "commands/recall.md"), "commands/recall.md"),
        ),
        project=(
            SettingsFile(project(".mcp.json"), (Server(fixed=STDIO),)),
            SettingsFile(project(".claude/settings.json"), (Hooks("hooks.json"),)),
            WholeFile(project(f".claude/{SKILL}"), SKILL),
            WholeFile(project(".claude/agents/search-conversation.md"), "search-conversation.md"),
            WholeFile(project(".claude/commands/recall.md"), "commands/recall.md"),
        ),
        check=Check(
            command=("claude", "mcp", "list"),
            env={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
        ),
        by_hand_in_project=("Claude Code: start it in the project, and approve the server of `.mcp.json` when it asks.",),
    ),
    Agent(
        name="codex",
        title="Codex",
        programs=("codex",),
        signs=CODEX,
        user=(
            SettingsFile(user(CODEX, "config.toml"), (Server(at=("mcp_servers",)),), "toml"),
            SettingsFile(user(CODEX, "hooks.json"), (Hooks("codex/hooks.json"),)),
            WholeFile(user(CODEX, "agents/search-conversation.toml"), "codex/search-conversation.toml"),
            *_shared_skill(),
        ),
        project=(
            SettingsFile(project(".codex/config.toml"), (Server(at=("mcp_servers",)),), "toml"),
            SettingsFile(project(".codex/hooks.json"), (Hooks("codex/hooks.json"),)),
            WholeFile(project(".codex/agents/search-conversation.toml"), "codex/search-conversation.toml"),
            *_shared_project_skill(),
        ),
        check=Check(command=("codex", "mcp", "list"), connects=False),
        by_hand=("Codex: type /hooks, and trust the hooks of Recollect. Codex silently skips hooks that are not trusted.",),
    ),
    Agent(
        name="gemini-cli",
        title="Gemini CLI",
        aliases=("gemini",),
        programs=("gemini",),
        signs=gemini_signs,
        user=(
            SettingsFile(user(GEMINI, "settings.json"), (Server(), Hooks("gemini/settings.json"))),
            WholeFile(user(GEMINI, "agents/search-conversation.md"), "gemini/search-conversation.md"),
            WholeFile(user(GEMINI, "commands/recall.toml"), "gemini/recall.toml"),
            *_shared_skill(),
        ),
        project=(
            SettingsFile(project(".gemini/settings.json"), (Server(), Hooks("gemini/settings.json"))),
            WholeFile(project(".gemini/agents/search-conversation.md"), "gemini/search-conversation.md"),
            WholeFile(project(".gemini/commands/recall.toml"), "gemini/recall.toml"),
            *_shared_project_skill(),
        ),
        check=Check(
            command=("gemini", "mcp", "list"),
            files={".gemini/trustedFolders.json": '{"{folder}": "TRUST_FOLDER"}'},
        ),
        by_hand=("Gemini CLI: trust your folders when it asks. It starts servers only in trusted ones.",),
    ),
    Agent(
        name="opencode",
        title="OpenCode",
        programs=("opencode",),
        signs=all_of(OPENCODE, data((), "opencode")),
        user=(
            SettingsFile(
                user(OPENCODE, "opencode.json", "opencode.jsonc"),
                (
                    OPENCODE_SCHEMA,
                    Server(at=("mcp",), fixed={"type": "local"}, arguments=None, env="environment", last={"enabled": True}),
                ),
            ),
            WholeFile(user(OPENCODE, "agents/search-conversation.md"), "opencode/search-conversation.md"),
            WholeFile(user(OPENCODE, "commands/recall.md"), "opencode/recall.md"),
            *_shared_skill(),
        ),
        project=(
            SettingsFile(
                project("opencode.json", "opencode.jsonc"),
                (
                    OPENCODE_SCHEMA,
                    Server(at=("mcp",), fixed={"type": "local"}, arguments=None, env="environment", last={"enabled": True}),
                ),
            ),
            WholeFile(project(".opencode/agents/search-conversation.md"), "opencode/search-conversation.md"),
            WholeFile(project(".opencode/commands/recall.md"), "opencode/recall.md"),
            *_shared_project_skill(),
        ),
        check=Check(command=("opencode", "mcp", "list"), env={"OPENCODE_DISABLE_AUTOUPDATE": "1"}),
    ),
    Agent(
        name="cursor",
        title="Cursor",
        programs=("cursor-agent", "cursor"),
        signs=CURSOR,
        user=(
            _servers(user(CURSOR, "mcp.json")),
            SettingsFile(user(CURSOR, "hooks.json"), (Hooks("cursor/hooks.json"),)),
            WholeFile(user(CURSOR, SKILL), SKILL),
        ),
        project=(
            _servers(project(".cursor/mcp.json")),
            SettingsFile(project(".cursor/hooks.json"), (Hooks("cursor/hooks.json"),)),
            WholeFile(project(f".cursor/{SKILL}"), SKILL),
        ),
        by_hand=("Cursor: switch the server on in Settings > MCP, if it is off.",),
    ),
    Agent(
        name="vscode-copilot",
        title="VS Code",
        aliases=("vscode", "code"),
        programs=("code", "code-insiders", "codium"),
        signs=editor_folders,
        user=(_servers(user(editor_folders, "mcp.json"), Server(at=("servers",), fixed=STDIO)),),
        project=(_servers(project(".vscode/mcp.json"), Server(at=("servers",), fixed=STDIO)),),
        by_hand=("VS Code: confirm that you trust the server, when it asks.",),
    ),
    Agent(
        name="copilot-cli",
        title="GitHub Copilot CLI",
        aliases=("copilot",),
        programs=("copilot",),
        signs=COPILOT,
        user=(
            _servers(user(COPILOT, "mcp-config.json"), Server(fixed={"type": "local"}, last={"tools": ["*"]})),
            WholeFile(user(COPILOT, SKILL), SKILL),
        ),
        project=(
            _servers(project(".github/mcp.json"), Server(fixed={"type": "local"}, last={"tools": ["*"]})),
            WholeFile(project(f".github/{SKILL}"), SKILL),
        ),
    ),
    Agent(
        name="qwen-code",
        title="Qwen Code",
        aliases=("qwen",),
        programs=("qwen",),
        signs=QWEN,
        user=(
            SettingsFile(user(QWEN, "settings.json"), (Server(), Hooks("qwen/settings.json"))),
            WholeFile(user(QWEN, SKILL), SKILL),
        ),
        project=(
            SettingsFile(project(".qwen/settings.json"), (Server(), Hooks("qwen/settings.json"))),
            WholeFile(project(f".qwen/{SKILL}"), SKILL),
        ),
        check=Check(
            command=("qwen", "mcp", "list"),
            files={".qwen/trustedFolders.json": '{"{folder}": "TRUST_FOLDER"}'},
        ),
    ),
    Agent(
        name="kimi",
        title="Kimi",
        programs=("kimi",),
        signs=KIMI,
        user=(_servers(user(KIMI, "mcp.json")), WholeFile(user(KIMI, SKILL), SKILL)),
        project=(_servers(project(".kimi-code/mcp.json")), WholeFile(project(f".kimi-code/{SKILL}"), SKILL)),
    ),
    Agent(
        name="goose",
        title="Goose",
        programs=("goose",),
        signs=goose_folder,
        user=(
            SettingsFile(
                user(goose_folder, "config.yaml"),
                (
                    Server(
                        at=("extensions",),
                        fixed={
                            "enabled": True,
                            "type": "stdio",
                            "name": "recollect",
                            "description": "History and memory of all coding agents on this machine",
                        },
                        command="cmd",
                        env="envs",
                        last={"timeout": 300},
                    ),
                ),
                "yaml",
            ),
        ),
    ),
    Agent(
        name="crush",
        title="Crush",
        programs=("crush",),
        signs=all_of(crush_folder, data((), "crush")),
        user=(
            _servers(user(crush_folder, "crush.json"), Server(at=("mcp",), fixed=STDIO)),
            WholeFile(user(crush_folder, SKILL), SKILL),
        ),
        project=(
            _servers(project(".crush.json", "crush.json"), Server(at=("mcp",), fixed=STDIO)),
            WholeFile(project(f".crush/{SKILL}"), SKILL),
        ),
    ),
    Agent(
        name="zed",
        title="Zed",
        programs=("zed", "zeditor"),
        signs=all_of(xdg_config("zed"), data((), "zed")),
        user=(
            _servers(user(xdg_config("zed"), "settings.json"), Server(at=("context_servers",), fixed={"source": "custom"})),
        ),
        project=(_servers(project(".zed/settings.json"), Server(at=("context_servers",), fixed={"source": "custom"})),),
    ),
    Agent(
        name="windsurf",
        title="Windsurf",
        programs=("windsurf",),
        signs=in_home(".codeium/windsurf"),
        user=(
            _servers(user(in_home(".codeium/windsurf"), "mcp_config.json")),
            WholeFile(user(in_home(".codeium/windsurf"), SKILL), SKILL),
        ),
        by_hand=("Windsurf: press Refresh in its list of MCP servers.",),
    ),
    Agent(
        name="cline",
        title="Cline",
        programs=("cline",),
        signs=cline_folders,
        user=(_servers(user(cline_folders, "settings/cline_mcp_settings.json")),),
    ),
    Agent(
        name="roo-code",
        title="Roo Code",
        aliases=("roo",),
        signs=ROO,
        user=(_servers(user(ROO, "settings/mcp_settings.json")),),
        project=(_servers(project(".roo/mcp.json")),),
    ),
    Agent(
        name="kilo-code",
        title="Kilo Code",
        aliases=("kilo",),
        signs=KILO,
        user=(_servers(user(KILO, "settings/mcp_settings.json")),),
        project=(_servers(project(".kilocode/mcp.json")),),
    ),
    Agent(
        name="amp",
        title="Amp",
        programs=("amp",),
        signs=all_of(xdg_config("amp"), data((), "amp")),
        user=(_servers(user(xdg_config("amp"), "settings.json", "settings.jsonc"), Server(at=("amp.mcpServers",))),),
        project=(_servers(project(".amp/settings.json"), Server(at=("amp.mcpServers",))),),
    ),
    Agent(
        name="droid",
        title="Factory Droid",
        programs=("droid",),
        signs=in_home(".factory"),
        user=(_servers(user(in_home(".factory"), "mcp.json"), Server(fixed=STDIO)),),
        project=(_servers(project(".factory/mcp.json"), Server(fixed=STDIO)),),
    ),
    Agent(
        name="kiro",
        title="Kiro",
        programs=("kiro-cli", "kiro"),
        signs=in_home(".kiro"),
        user=(_servers(user(in_home(".kiro"), "settings/mcp.json")),),
        project=(_servers(project(".kiro/settings/mcp.json")),),
    ),
    Agent(
        name="iflow",
        title="iFlow",
        programs=("iflow",),
        signs=in_home(".iflow"),
        user=(_servers(user(in_home(".iflow"), "settings.json")),),
        project=(_servers(project(".iflow/settings.json")),),
    ),
)
