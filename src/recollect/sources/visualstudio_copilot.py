"""Copilot in Visual Studio writes its telemetry to %TEMP%\\VSGitHubCopilotLogs\\traces, one file per start of the program.

Evidence: 4 redacted captures of 18.6; other people's readers document the content of a `chat` span.
The files are OTLP JSON, one span per line, with the semantic conventions for generative AI: `invoke_agent` is a request of
the person, `chat` a model call, `execute_tool` a tool run. Every span names its conversation; a trace is one run of the
program. A conversation may continue in the next run's file, so all files are read together. The captures have no text of
the person or the model: of such a request, only the end and the tool results can be read.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Document, Source
from recollect.sources.otel.otlp import Folder
from recollect.sources.otel.sessions import read

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
