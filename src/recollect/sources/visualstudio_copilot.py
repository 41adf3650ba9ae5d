"""Copilot in Visual Studio writes its telemetry to %TEMP%\\VSGitHubCopilotLogs\\traces, one file per start of the program.

Evidence: 4 redacted captures of 18.6; what a `chat` span holds, by readers of other people's.
The files are OTLP JSON, one span per line, by the semantic conventions for generative AI: `invoke_agent` is a request of
the person, `chat` a call of the model, `execute_tool` the run of a tool. Every span names its conversation; a trace is no
conversation, but the run of the program. A conversation goes on in the file of the next run, so all files are read together.
The captures hold no words of the person or the model: what such a request leaves is its end and what its tools did.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Document, Source
from recollect.sources.otel.genai_sessions import read
from recollect.sources.otel.otlp import Folder

SERVICE = b'"vs-copilot"'
NAME = "_VSGitHubCopilot_traces"


def homes(env: Mapping[str, str]) -> list[Path]:
    local = Path(env["LOCALAPPDATA"]) if env.get("LOCALAPPDATA") else user_home(env) / "AppData/Local"
    temporary = [Path(env[name]) for name in ("TEMP", "TMP") if env.get(name)]
    return [place / "VSGitHubCopilotLogs/traces" for place in (local / "Temp", *temporary)]


def is_visual_studio(path: Path, start: bytes) -> bool:
    return SERVICE in start or NAME in path.name


FILES = Folder(is_visual_studio)
SOURCE = Source(
    name="visualstudio-copilot",
    title="Visual Studio Copilot",
    formats=(
        Document(
            homes=homes,
            endings=(".jsonl",),
            is_log=FILES.is_log,
            recognises=FILES.recognises,
            load=FILES.requests,
            read=read,
            sidecars=FILES.others,
            owner=FILES.first,
        ),
    ),
)
