"""The programs of agents that can go on with a session: one row per agent.

Evidence: `--help` of claude 2.1, codex 0.169, gemini 0.61, opencode 1.18, copilot 1.0, qwen 0.15, pi 1.5, cline 3.0, grok
1.0, kimi 2.1, vibe 3.0, gptme 0.35, hermes 0.19 and openhands 1.16; tests/agents runs the first four. For the others,
published documentation and code that runs them.
An agent that is not in the table runs in an editor, on a server or only once, or no command is known that opens a session.
"""

import re
from pathlib import PurePath

from msgspec import Struct

ID = "{id}"  # in a command: the agent's own id of the session
PLAIN_ID = re.compile(r"[A-Za-z0-9][\w.:@+-]*")  # it can neither be an option nor name a sub-agent
UUID_ID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
VERSION = re.compile(r"(?<=.)@[\w.^~-]+$")  # of a package: `codex-acp@2.6.0`
PROGRAM_WORDS = 4  # words of a command that may name the agent's program: `npx -y @google/gemini-cli`
ENDINGS = (".js", ".mjs", ".cjs", ".py", ".exe", ".cmd")


class AgentProgram(Struct, frozen=True, kw_only=True):
    """How an agent goes on with a session in its own program, and how it is started as a runner."""

    resume: tuple[str, ...] = ()
    ids: re.Pattern[str] = PLAIN_ID  # native ids that the command takes
    editor_logs: str = ""  # in the path of logs that the agent's editor wrote: the command cannot open these sessions
    hint: str = ""  # what else the person should know
    acp: tuple[tuple[str, ...], ...] = ()  # commands that speak the Agent Client Protocol, the best one first
    packages: tuple[str, ...] = ()  # names of packages that start these programs

    def resumes(self, native_id: str, path: str) -> bool:
        """Whether the command can open the session with this id and this log."""
        is_editors = bool(self.editor_logs) and self.editor_logs in path
        return bool(self.resume) and not is_editors and self.ids.fullmatch(native_id) is not None


def _words(*commands: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(command.split()) for command in commands)


def _agent(resume: str = "", acp: tuple[str, ...] = (), **more: object) -> AgentProgram:
    return AgentProgram(resume=tuple(resume.split()), acp=_words(*acp), **more)  # type: ignore[arg-type]


AGENTS: dict[str, AgentProgram] = {
    "aider": _agent(
        "aider --restore-chat-history",
        ids=re.compile(".*", re.DOTALL),
        hint="Aider has no ids: it restores the whole history of the folder.",
    ),
    "amp": _agent("amp threads continue {id}", ("amp-acp",)),
    "antigravity": _agent("agy --conversation {id}", editor_logs="/antigravity/"),
    "claude-code": _agent("claude -r {id}", ("claude-agent-acp", "claude-code-acp")),
    "cline": _agent("cline --id {id}", ("cline --acp",), ids=re.compile(r"\d+_\w+")),
    "codex": _agent("codex resume {id}", ("codex-acp",)),
    "copilot-cli": _agent("copilot --resume={id}", ("copilot --acp",)),
    "crush": _agent("crush --session {id}", ids=re.compile(r"[0-9a-f-]{8,36}")),
    "cursor": _agent("cursor-agent --resume={id}", ("cursor-agent acp",), editor_logs="/globalStorage/"),
    "droid": _agent("droid --resume {id}", ("droid exec --output-format acp",)),
    "gemini-cli": _agent("gemini --resume {id}", ("gemini --acp",), packages=("gemini-cli",)),
    "goose": _agent("goose session --resume --session-id {id}", ("goose acp",)),
    "gptme": _agent("gptme --name {id}", ("gptme-acp",)),
    "grok": _agent("grok --resume {id}", ("grok agent stdio",)),
    "hermes": _agent("hermes --resume {id}", ("hermes acp", "hermes-acp"), ids=re.compile(r"\d{8}_\d{6}_\w+")),
    "iflow": _agent("iflow --resume={id}", ("iflow --experimental-acp",), packages=("iflow-cli",)),
    "kilo-code": _agent(acp=("kilo acp",)),  # its logs are of the editor, and `kilo --session` has other sessions
    "kimi": _agent("kimi --session {id}", ("kimi acp",), packages=("kimi-code", "kimi-cli")),
    "kiro": _agent("kiro-cli chat --resume-id {id}", ("kiro-cli acp",), editor_logs="/kiro.kiroagent/"),
    "omnigent": _agent("omnigent resume {id}", ids=re.compile(r"conv_\w+")),
    "omp": _agent("omp --resume {id}"),
    "opencode": _agent("opencode -s {id}", ("opencode acp",), packages=("opencode-ai",)),
    "openhands": _agent("openhands --resume {id}", ("openhands acp",), ids=UUID_ID),
    "pi": _agent("pi --session {id}", ("pi-acp",)),
    "prime": _agent("prime-agent --resume {id}"),
    "qwen-code": _agent("qwen --resume {id}", ("qwen --acp",), packages=("qwen-code",)),
    "qwenpaw": _agent(acp=("qwenpaw acp",)),
    "traex": _agent("traex resume {id}"),
    "vibe": _agent("vibe --resume {id}", ("vibe-acp",)),
}
"""The agents by the names of their sources."""


def agent_of_command(command: list[str]) -> str | None:
    """The agent that a command starts, by the name of its program, its script or its package."""
    names = {_program_name(word) for word in command[:PROGRAM_WORDS]}
    for agent, program in AGENTS.items():
        known = {words[0] for words in program.acp} | {*program.packages, *program.resume[:1]}
        if names & known:
            return agent
    return None


def agents_named(name: str) -> list[str]:
    """The agents with this name: that of the source, or of one of its programs."""
    return [
        agent
        for agent, program in AGENTS.items()
        if name == agent or name in {words[0] for words in (*program.acp, program.resume) if words}
    ]


def _program_name(word: str) -> str:
    """The name of a program without its folder, its ending and its version."""
    name = VERSION.sub("", PurePath(word).name if "/" in word else word)
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), name)
