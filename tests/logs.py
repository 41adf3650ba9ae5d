"""Small logs in the real formats, which tests write by hand: one call per line."""

import json
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def append(path: Path, *records: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as log:
        log.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


class Claude:
    """Writes the lines of one Claude Code session; every line is a second later than the one before."""

    def __init__(
        self, session: str = "11111111-1111-4111-8111-111111111111", cwd: str = "/work/app", start: int = 0
    ) -> None:
        self.session, self.cwd, self.clock = session, cwd, start
        self.last: str | None = None

    def _tree(self, kind: str, **more: Any) -> dict[str, Any]:
        self.clock += 1
        identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session}/{self.clock}"))
        stamp = f"2026-02-01T{self.clock // 3600:02d}:{self.clock // 60 % 60:02d}:{self.clock % 60:02d}.000Z"
        record = {
            "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.200", "gitBranch": "main", "type": kind, "uuid": identity,
            "timestamp": stamp, **more,
        }  # fmt: skip
        self.last = identity
        return record

    def prompt(self, text: str | list[Any], **more: Any) -> dict[str, Any]:
        return self._tree("user", message={"role": "user", "content": text}, **more)

    def says(
        self, text: str, stop: str | None = "end_turn", model: str = "claude-sonnet-4-5", **more: Any
    ) -> dict[str, Any]:
        return self._block({"type": "text", "text": text}, stop, model, **more)

    def thinks(self, text: str, model: str = "claude-sonnet-4-5") -> dict[str, Any]:
        return self._block({"type": "thinking", "thinking": text, "signature": "x"}, None, model)

    def calls(self, tool: str, call: str, model: str = "claude-sonnet-4-5", **arguments: Any) -> dict[str, Any]:
        return self._block({"type": "tool_use", "id": call, "name": tool, "input": arguments}, "tool_use", model)

    def _block(self, block: dict[str, Any], stop: str | None, model: str, **more: Any) -> dict[str, Any]:
        usage = {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": f"msg_{self.session[:4]}_{self.clock}", "type": "message", "role": "assistant", "model": model,
            "content": [block], "stop_reason": stop, "usage": usage,
        }  # fmt: skip
        return self._tree("assistant", message=message, **more)

    def result(self, call: str, text: Any, failed: bool = False) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": failed}
        return self._tree("user", message={"role": "user", "content": [block]}, toolUseResult={"stdout": text})

    def interrupted(self) -> dict[str, Any]:
        return self.prompt([{"type": "text", "text": "[Request interrupted by user]"}])

    def system(self, subtype: str, **more: Any) -> dict[str, Any]:
        return self._tree("system", subtype=subtype, **more)
