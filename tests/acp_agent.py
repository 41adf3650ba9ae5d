"""An agent that speaks the Agent Client Protocol with its official SDK and runs the last line of the prompt as a command.

An argument changes its behaviour: `forgetful` cannot load sessions, `locked` requires a login first,
`late` and `torn` replay all or part of a loaded session only in its next turn, and `silent` does not replay it.
"""

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any, cast

from acp import (
    Agent,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    image_block,
    plan_entry,
    resource_link_block,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    tool_terminal_ref,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.helpers import update_available_commands, update_current_mode
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    PermissionOption,
    PermissionOptionKind,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

KNOWN = "session-7"  # the one session that it can load
NEW = "session-8"
PNG = "iVBORw0KGgo="


class Scripted:
    def __init__(self, manner: str) -> None:
        self.manner = manner
        self.cancelled = asyncio.Event()
        self.pending_replay: list[Any] = []

    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        capabilities = AgentCapabilities(load_session=self.manner != "forgetful")
        return InitializeResponse(protocol_version=protocol_version, agent_capabilities=capabilities)

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        if self.manner == "locked":
            raise RequestError.auth_required()
        return NewSessionResponse(session_id=NEW)

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        if session_id != KNOWN:
            raise RequestError.resource_not_found(session_id)
        self.session = session_id
        replay = [
            update_user_message_text("an old question"),
            start_tool_call("other", "An old call", raw_input={"old": True}),
            update_agent_message_text("an old "),
            update_agent_message_text("answer"),
            start_tool_call("old", "An old call", raw_input={"old": True}),
        ]
        sent_now = {"late": 0, "torn": 3, "silent": 0}.get(self.manner, len(replay))
        await self.send_updates(*replay[:sent_now])
        self.pending_replay = [] if self.manner == "silent" else replay[sent_now:]
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        self.session = session_id
        self.text = "".join(block.text for block in prompt)
        await self.send_updates(update_available_commands([]), *self.pending_replay)
        word, *arguments = self.text.splitlines()[-1].split()
        return await getattr(self, f"do_{word}")(*arguments) or PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.cancelled.set()

    async def send_updates(self, *updates: Any) -> None:
        for update in updates:
            await self.client.session_update(session_id=self.session, update=update)

    async def say(self, text: str) -> None:
        await self.send_updates(update_agent_message_text(text))

    async def do_repeat(self) -> None:
        await self.say(self.text)

    async def do_say(self, *words: str) -> None:
        for number, word in enumerate(words):
            await self.say(f" {word}" if number else word)

    async def do_tour(self) -> PromptResponse:
        """Send every kind of update that a turn may have."""
        await self.send_updates(
            update_available_commands([]),
            update_agent_thought_text("hm"),
            update_agent_message_text("one "),
            update_agent_message_text("two"),
            update_plan([plan_entry("think")]),
            start_tool_call("a", "Read x.py", kind="read", status="pending", raw_input={}),
            update_tool_call("a", raw_input={"path": "x.py"}),
            update_tool_call("a", status="in_progress", content=[tool_content(text_block("half"))]),
            update_tool_call("a", status="completed", content=[tool_content(text_block("all")), tool_content(self.image())]),
            update_tool_call("a", status="completed"),
            update_current_mode("code"),
            start_tool_call("b", "Edit x.py", status="in_progress"),
            update_tool_call(
                "b", status="completed", content=[tool_diff_content("/x.py", "top\nnew\nend\n", "top\nold\nend\n")]
            ),
            update_tool_call(
                "c",
                title="Run",
                status="failed",
                content=[tool_terminal_ref("t")],
                raw_output={"exit_code": 1, "output": "no"},
            ),
            start_tool_call("d", "Wait"),
            update_agent_message(self.image()),
            update_agent_message(resource_link_block("x", "file:///x")),
            UsageUpdate(session_update="usage_update", used=1, size=2),
        )
        usage = Usage(total_tokens=36, input_tokens=10, output_tokens=5, cached_read_tokens=20, thought_tokens=1)
        return PromptResponse(stop_reason="max_tokens", usage=usage)

    async def do_terminal(self) -> None:
        """Run commands in its own terminals and send their output in `_meta`, as codex-acp does."""
        for number, chunks, code in (("t1", ("hel", "lo\n"), 3), ("t2", (), 0)):
            terminal = {"terminal_id": number}
            start = start_tool_call(number, "sh", kind="execute", status="in_progress", content=[tool_terminal_ref(number)])
            start.field_meta = {"terminal_info": {**terminal, "cwd": "/"}}
            updates = [update_tool_call(number) for _ in chunks]
            for update, data in zip(updates, chunks, strict=True):
                update.field_meta = {"terminal_output_delta": {**terminal, "data": data}}
            end = update_tool_call(number, status="failed" if code else "completed")
            end.field_meta = {"terminal_exit": {**terminal, "exit_code": code, "signal": None}}
            await self.send_updates(start, *updates, end)
        await self.say("ran")

    def image(self) -> Any:
        return image_block(PNG, "image/png")

    async def do_permit(self, *requests: str) -> None:
        """Ask for permission, each time with these kinds of options, and repeat the answer."""
        call = ToolCallUpdate(tool_call_id="p", title="Delete all", raw_input={"path": "/"})
        for kinds in requests:
            await self.say(await self.permission(call, *kinds.split(",")))

    async def do_propose(self) -> None:
        """Ask for permission with a diff of the edit, as Gemini CLI does, and report only in text."""
        proposal: list[Any] = [tool_diff_content("/x.py", "new\n", "old\n")]
        call = ToolCallUpdate(tool_call_id="p", title="Edit x.py", status="pending", content=proposal)
        await self.say(await self.permission(call, "allow_once", "reject_once"))

    async def permission(self, call: ToolCallUpdate, *kinds: str) -> str:
        options = [
            PermissionOption(option_id=f"the {kind}", name=kind, kind=cast(PermissionOptionKind, kind)) for kind in kinds
        ]
        answer = await self.client.request_permission(session_id=self.session, tool_call=call, options=options)
        return answer.outcome.option_id if isinstance(answer.outcome, AllowedOutcome) else answer.outcome.outcome

    async def do_reach(self) -> None:
        """Call methods that a client need not support."""
        for attempt in (
            self.client.read_text_file(session_id=self.session, path="/etc/passwd"),
            self.client.create_terminal(session_id=self.session, command="ls"),
            self.client.ext_method("other", {}),
        ):
            try:
                await attempt
            except RequestError as error:
                await self.say(f"{error.code} ")

    async def do_fail(self) -> None:
        print("it is the moon", file=sys.stderr, flush=True)
        raise RequestError(-32001, "the tide is out", {"retry": True})

    async def do_die(self) -> None:
        await self.say("goodbye")
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)

    async def do_hang(self) -> PromptResponse:
        """Work until cancelled, ask once more for permission, and end as the protocol requires."""
        await self.say("working")
        await self.cancelled.wait()
        call = ToolCallUpdate(tool_call_id="p", title="Go on")
        await self.say(await self.permission(call, "allow_once", "reject_once"))
        return PromptResponse(stop_reason="cancelled")

    async def do_ignore(self) -> None:
        """Ignore SIGTERM, and start a child in another session that a hangup of the terminal does not end."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        await self.say(str(child.pid))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run_agent(cast(Agent, Scripted(*sys.argv[1:] or [""]))))  # the SDK answers missing methods as unknown
