"""An agent over the Agent Client Protocol that also writes its own log, in Claude Code's format, under $HOME.

It calls one tool in each turn, has a sub-agent in its first turn, and can load its sessions again. The prompt `crash` kills
its parent process, after the answer was logged. With the argument `forgetful` it cannot load sessions; `early` syncs its log
before it answers.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp import (
    Agent,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import AgentCapabilities

PROJECTS = Path(os.environ["HOME"], ".claude", "projects", "-work-app")
USAGE = {"input_tokens": 1_000, "output_tokens": 77, "cache_read_input_tokens": 5_000, "cache_creation_input_tokens": 0}


class LoggingAgent:
    def __init__(self, manner: str) -> None:
        self.manner = manner

    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        capabilities = AgentCapabilities(load_session=self.manner != "forgetful")
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=capabilities)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id=str(uuid.uuid4()))

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        for line in log_of(session_id).read_text().splitlines():
            message = json.loads(line)["message"]
            if isinstance(message["content"], str):
                await self.send_updates(session_id, update_user_message_text(message["content"]))
            elif message["content"][0]["type"] == "text":
                await self.send_updates(session_id, update_agent_message_text(message["content"][0]["text"]))
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        text = "".join(block.text for block in prompt)
        question = text.splitlines()[-1]
        call, answer = f"toolu_{uuid.uuid4().hex}", f"Answer: {question} lies behind the weir."
        if not log_of(session_id).exists():
            log_sub_agent(session_id)
        log(session_id, "user", content=text)
        log(session_id, "assistant", [{"type": "tool_use", "id": call, "name": "Read", "input": {"path": "weir.md"}}])
        log(session_id, "user", [{"type": "tool_result", "tool_use_id": call, "content": f"notes on {question}"}])
        log(session_id, "assistant", [{"type": "text", "text": answer}], stop_reason="end_turn")
        if question == "crash":
            os.kill(os.getppid(), signal.SIGKILL)
        if self.manner == "early":
            subprocess.run(
                [sys.executable, "-m", "recollect", "sync"], stdin=subprocess.DEVNULL, capture_output=True, check=True
            )
        result = [tool_content(text_block(f"notes on {question}"))]
        await self.send_updates(
            session_id,
            start_tool_call(call, "Read weir.md", kind="read", raw_input={"path": "weir.md"}),
            update_tool_call(call, status="completed", content=result),
            update_agent_message_text(answer),
        )
        return PromptResponse(stop_reason="end_turn")

    async def send_updates(self, session: str, *updates: Any) -> None:
        for update in updates:
            await self.client.session_update(session_id=session, update=update)


def log_of(session: str) -> Path:
    return PROJECTS / f"{session}.jsonl"


def log(session: str, role: str, content: Any, path: Path | None = None, **more: Any) -> None:
    """Write one line as Claude Code does."""
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "model": "claude-sonnet-4-5", "usage": USAGE, **more}
        more = {}
    line = {
        "parentUuid": None, "isSidechain": "agentId" in more, "userType": "external", "cwd": str(Path.cwd()),
        "sessionId": session, "version": "2.1.200", "type": role, "message": message, "uuid": str(uuid.uuid4()),
        "timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z", **more,
    }  # fmt: skip
    path = path or log_of(session)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def log_sub_agent(session: str) -> None:
    path = PROJECTS / session / "subagents" / "agent-a7c01d2e3f4a5b6c7.jsonl"
    more = {"agentId": "a7c01d2e3f4a5b6c7", "isSidechain": True}
    log(session, "user", "Count the otters.", path, **more)
    log(session, "assistant", [{"type": "text", "text": "There are eleven otters."}], path)


if __name__ == "__main__":
    asyncio.run(run_agent(cast(Agent, LoggingAgent(*sys.argv[1:] or [""]))))  # the SDK answers missing methods as unknown
