"""OpenTelemetry: sessions of any instrumented agent whose telemetry is written to files.

Evidence: the semantic conventions for generative AI (to 1.36, and the current ones), those of OpenLLMetry and
OpenInference, and published samples; no real recording of our own.
Files are OTLP JSON, one request per file or, in a growing log, per line. Files of one folder are read together, since a
conversation may continue in the next file. They have no usual place, and are read only when their path is given.
A session is a conversation (`gen_ai.conversation.id`), else a session (`session.id`), else a trace. An agent that a tool
started has its own session. Messages have no ids: each is identified by its content and the number of its earlier
occurrences. Contents are recorded only if the agent is configured to; else there are calls, tools and tokens.
"""

from pathlib import Path

from recollect.sources.formats.source import Document, Source
from recollect.sources.otel.otlp import ENDINGS, Folder
from recollect.sources.otel.sessions import read
from recollect.sources.visualstudio_copilot import is_visual_studio


def is_ours(path: Path, start: bytes) -> bool:
    return not is_visual_studio(path, start)


FILES = Folder(is_ours)
SOURCE = Source(
    name="otel",
    title="OpenTelemetry GenAI",
    formats=(
        Document(
            endings=ENDINGS,
            is_log=FILES.is_log,
            recognises=FILES.recognises,
            load=FILES.requests,
            read=read,
            sidecars=FILES.others,
            owner=FILES.first,
        ),
    ),
)
