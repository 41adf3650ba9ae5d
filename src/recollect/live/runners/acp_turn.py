"""The client side of the Agent Client Protocol, for one turn: initialize, open a session, prompt, receive updates."""

import asyncio
import subprocess
from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

import msgspec
from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.connection import Connection
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from acp.schema import (
    AllowedOutcome,
    CancelNotification,
    DeniedOutcome,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    PermissionOption,
    PromptRequest,
    PromptResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from acp.utils import notify_model, request_model_from_dict
from pydantic import BaseModel, ValidationError

from recollect import __version__
from recollect.errors import AgentFault, ProviderFault, RecollectError, SessionNotLoaded
from recollect.live.runners.acp_replay import ReplayFilter
from recollect.live.runners.acp_transport import CLOSED_INPUT, CLOSED_OUTPUT, AcpTransport
from recollect.live.runners.acp_updates import UpdateTranslator, to_usage
from recollect.live.runners.context import injected_context, prompt_with_context
from recollect.live.runners.process import describe_exit, failure_message
from recollect.live.runners.runner import ACP_SESSION, Assignment, Output, RunnerState, TokenUsage, TurnEnded
from recollect.model import replace_surrogates
from recollect.realms.runner_config import ALLOW, REJECT

CANCEL_S = 1.0  # seconds that an agent has to end a cancelled turn, before it is killed
MAX_REASON = 500  # characters of an agent's error message
AUTH_REQUIRED = -32000  # the protocol's code for "authentication required"
OPTION_KINDS = {ALLOW: ("allow_once", "allow_always"), REJECT: ("reject_once", "reject_always")}

Answer = TypeVar("Answer", bound=BaseModel)


class RequestRejected(AgentFault):
    """The agent answered with an error."""


class UpdateParams(msgspec.Struct, rename="camel"):
    """The parameters of `session/update`; the update names its own kind."""

    session_id: str
    update: dict[str, Any]


class AcpTurn:
    """One turn with an agent. `outputs` has its outputs in order, and None at the end."""

    def __init__(self, assignment: Assignment, process: "subprocess.Popen[bytes]", policy: str, start_s: float) -> None:
        self.outputs: asyncio.Queue[Output | None] = asyncio.Queue()
        self.cancelled = asyncio.Event()
        self._assignment, self._policy, self._start_s = assignment, policy, start_s
        self._program = repr(assignment.command[0])
        self._transport = AcpTransport(process)
        self._updates = UpdateTranslator()
        self._replay = ReplayFilter()
        self._session = ""  # set when the turn begins: earlier updates are a replay of earlier turns

    async def run(self) -> None:
        await self._transport.open()
        self._agent = Connection(self._handle_request, self._transport)
        turn, cancelled = asyncio.create_task(self._run_turn()), asyncio.create_task(self.cancelled.wait())
        try:
            await asyncio.wait({turn, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done() and self._session:
                await self._cancel_turn(turn)
            if turn.done():
                turn.result()
                await self._transport.close_input()
        finally:
            turn.cancel()
            cancelled.cancel()
            await self._agent.close()

    async def _cancel_turn(self, turn: "asyncio.Task[None]") -> None:
        notice = asyncio.create_task(self._send_cancel())
        await asyncio.wait({turn}, timeout=CANCEL_S)
        notice.cancel()

    async def _send_cancel(self) -> None:
        try:
            await notify_model(self._agent, AGENT_METHODS["session_cancel"], CancelNotification(session_id=self._session))
        except ConnectionError:  # it has exited already
            return

    async def _run_turn(self) -> None:
        try:
            async with asyncio.timeout(self._start_s):
                session, prompt = await self._open_session()
        except TimeoutError as reason:
            message = f"{self._program} did not get ready for a prompt within {self._start_s:g} s."
            raise AgentFault(message, **self._transport.details()) from reason
        self._put(RunnerState({ACP_SESSION: session}))
        self._session = session
        request = PromptRequest(session_id=session, prompt=[text_block(prompt)])
        try:
            answer = await self._send_request("session_prompt", request, PromptResponse)
        finally:
            self._put_updates(self._replay.flush())
            self._put(*self._updates.end())
        if answer.usage is not None:
            self._put(TokenUsage(to_usage(answer.usage)))
        self._put(TurnEnded(answer.stop_reason))

    async def _open_session(self) -> tuple[str, str]:
        """The agent's session, and the prompt, with the history if the agent does not have it."""
        client = Implementation(name="recollect", version=__version__)
        request = InitializeRequest(protocol_version=PROTOCOL_VERSION, client_info=client)
        agent = await self._send_request("initialize", request, InitializeResponse)
        if agent.protocol_version != PROTOCOL_VERSION:
            theirs = f"{self._program} speaks version {agent.protocol_version} of the Agent Client Protocol"
            raise ProviderFault(f"{theirs}, and Recollect version {PROTOCOL_VERSION}.", version=agent.protocol_version)
        last = self._assignment.state.get(ACP_SESSION)
        if last and agent.agent_capabilities and agent.agent_capabilities.load_session and await self._load_session(last):
            return last, replace_surrogates(self._assignment.prompt)
        if self._assignment.must_load:
            raise SessionNotLoaded(f"{self._program} cannot load its session {last!r}.", is_not_loaded=True)
        new = NewSessionRequest(cwd=self._folder(), mcp_servers=[])
        session = (await self._send_request("session_new", new, NewSessionResponse)).session_id
        self._put(*injected_context(self._assignment))
        return session, replace_surrogates(prompt_with_context(self._assignment))

    async def _load_session(self, session: str) -> bool:
        """Load the session; False if the agent answers with an error, because it no longer has it."""
        try:
            load = LoadSessionRequest(cwd=self._folder(), session_id=session, mcp_servers=[])
            await self._send_request("session_load", load, LoadSessionResponse)
        except RequestRejected:
            return False
        messages = chain(self._assignment.history(), self._assignment.earlier(session))
        self._replay.begin_turn(messages, replace_surrogates(self._assignment.prompt))
        return True

    def _folder(self) -> str:
        return str(self._assignment.folder.absolute())

    async def _send_request(self, name: str, request: BaseModel, answer_type: type[Answer]) -> Answer:
        method = AGENT_METHODS[name]
        try:
            return await request_model_from_dict(self._agent, method, request, answer_type)
        except RequestError as reason:
            raise self._rejection(method, reason) from reason
        except ValidationError as reason:
            message = f"{self._program} answered {method} with something that the protocol does not allow."
            raise AgentFault(message, **self._transport.details()) from reason
        except ConnectionError as reason:
            raise await self._connection_lost() from reason

    def _rejection(self, method: str, reason: RequestError) -> RecollectError:
        details = {"code": reason.code, "reason": str(reason)[:MAX_REASON], "data": reason.data, **self._transport.details()}
        if reason.code == AUTH_REQUIRED:
            return ProviderFault(f"{self._program} is not logged in: log in with its own program first.", **details)
        return RequestRejected(f"{self._program} answered {method} with an error: {str(reason)[:MAX_REASON]}", **details)

    async def _connection_lost(self) -> AgentFault:
        """Why the connection was lost: how the agent exited, else what it did to the connection."""
        action = self._transport.failure
        has_closed = action in (CLOSED_INPUT, CLOSED_OUTPUT)
        details = await self._transport.wait_for_details() if has_closed else self._transport.details()
        code, stderr = details.get("exit_code"), details["stderr"]
        if code is not None and has_closed:
            moment = "in the middle of a turn" if self._session else "before it was ready for a prompt"
            action = describe_exit(code) + (f" {moment}" if code >= 0 else "")
            stderr = stderr or details.get("line", "")
        return AgentFault(failure_message(self._assignment.command[0], action, stderr), **details)

    async def _handle_request(self, method: str, params: Any, is_notification: bool) -> BaseModel | None:
        """Handle a request of the agent. It may only ask for permission: we offer neither files nor terminals."""
        if method == CLIENT_METHODS["session_update"]:
            self._on_update(params)
        elif method == CLIENT_METHODS["session_request_permission"] and not is_notification:
            return self._answer_permission(RequestPermissionRequest.model_validate(params))
        elif not is_notification:
            raise RequestError.method_not_found(method)
        return None

    def _on_update(self, params: Any) -> None:
        try:
            notice = msgspec.convert(params, UpdateParams)
            if notice.session_id == self._session:
                self._put_updates(self._replay.admit(notice.update))
            elif not self._session:
                self._replay.record_replayed(notice.update)
        except msgspec.ValidationError as reason:
            self._fail(reason)

    def _fail(self, reason: Exception) -> None:
        self._transport.shown_line = str(reason)[:MAX_REASON]
        self._transport.fail("sent an update that the protocol does not allow")

    def _answer_permission(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        is_cancelled = self._assignment.cancel.is_set()
        chosen = None if is_cancelled else _choose_option(request.options, self._policy)
        if request.session_id == self._session:
            self._put_updates(self._replay.flush())
            self._put(*self._updates.call(request.tool_call))
            if not is_cancelled and (chosen is None or self._policy == REJECT):
                self._put(*self._updates.reject(request.tool_call.tool_call_id))
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(option_id=chosen, outcome="selected"))

    def _put_updates(self, updates: Iterable[dict[str, Any]]) -> None:
        try:
            for update in updates:
                self._put(*self._updates.translate(update))
        except ValidationError as reason:
            self._fail(reason)

    def _put(self, *outputs: Output) -> None:
        for output in outputs:
            self.outputs.put_nowait(output)


def _choose_option(options: list[PermissionOption], policy: str) -> str | None:
    """The first option that matches the policy; None if there is none."""
    return next((option.option_id for kind in OPTION_KINDS[policy] for option in options if option.kind == kind), None)
