"""`acp`: any agent that speaks the Agent Client Protocol, started as a child process for the length of a turn.

Evidence: protocol version 1, agent-client-protocol 0.12.
What an agent may do is not asked of anybody: the option `permissions` says "allow" or "reject" once for all, and without it
nothing is done that needs permission.
"""

import asyncio
import subprocess
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.errors import AgentFault, BadRequest, ProviderFault
from recollect.live.runners.process import running_process, stop
from recollect.live.runners.runner import Assignment, Output
from recollect.model import AGENT_START_S
from recollect.realms.runner_config import POLICIES, REJECT

if TYPE_CHECKING:
    from recollect.live.runners.acp_turn import AcpTurn

FORCE_S = 1.5  # seconds after which a cancelled turn is ended by force, also where nobody takes its outputs any more


def run(given: Assignment, start_s: float = AGENT_START_S) -> Generator[Output, None, None]:
    """What the agent says and does, as it comes. It works on only while its outputs are taken."""
    policy = given.options.get("permissions", REJECT)
    if policy not in POLICIES:
        raise BadRequest(f"permissions must be one of {', '.join(POLICIES)}", field="permissions")
    try:
        from recollect.live.runners.acp_turn import AcpTurn  # an extra that takes half a second to import
    except ModuleNotFoundError as reason:
        raise ProviderFault('This runner needs more: pip install "recollect-agents[acp]"', missing=reason.name) from reason
    if given.cancel.is_set():
        return
    with running_process(given) as process:
        yield from _outputs(given, process, AcpTurn(given, process, policy, start_s))


def _outputs(given: Assignment, process: "subprocess.Popen[bytes]", talk: "AcpTurn") -> Iterator[Output]:
    """The loop runs only while there is nothing to pass on, so an agent that floods waits for whoever takes it."""
    force = threading.Timer(FORCE_S, stop, [process])
    force.daemon = True
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        loop = runner.get_loop()

        def cancel() -> None:
            """In the thread of whoever cancels: it does not wait, and works also while nobody takes our outputs."""
            force.start()
            with suppress(RuntimeError):  # the loop is closed: the turn is over
                loop.call_soon_threadsafe(talk.cancelled.set)

        turn = loop.create_task(talk.run())
        turn.add_done_callback(lambda _: talk.outputs.put_nowait(None))
        try:
            with given.cancel.on_cancel(cancel):
                while (output := _next(talk, loop)) is not None:
                    yield output
            turn.result()
        except AgentFault:
            if not given.cancel.is_set():
                raise
        finally:
            force.cancel()


def _next(talk: "AcpTurn", loop: asyncio.AbstractEventLoop) -> Output | None:
    return loop.run_until_complete(talk.outputs.get()) if talk.outputs.empty() else talk.outputs.get_nowait()
