"""Observations as JSON, as reviews keep them: with everything that is needed to store them again."""

from typing import Any

import msgspec
from msgspec.structs import asdict

from recollect.store.memory import EVENT_BYTES, ObservationRow


def encode_observation(row: ObservationRow) -> str:
    fields: dict[str, Any] = asdict(row)
    fields |= {
        "id": row.id.hex(),
        "session": row.session.hex(),
        "evidence": b"".join(row.evidence).hex(),
    }
    return msgspec.json.encode(fields).decode()


def decode_observation(content: str) -> ObservationRow:
    fields = msgspec.json.decode(content)
    evidence = bytes.fromhex(fields["evidence"])
    fields |= {
        "id": bytes.fromhex(fields["id"]),
        "session": bytes.fromhex(fields["session"]),
        "evidence": [evidence[start : start + EVENT_BYTES] for start in range(0, len(evidence), EVENT_BYTES)],
    }
    return ObservationRow(**fields)
