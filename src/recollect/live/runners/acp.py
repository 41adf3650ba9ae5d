"""`acp`: any agent that speaks the Agent Client Protocol, started as a child process for one turn.

Evidence: protocol version 1, agent-client-protocol 0.12.
No person is asked for permission. The option `permissions` answers every such request with "allow" or "reject" (default).
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

FORCE_S = 1.5  # seconds after which a cancelled agent is killed, even if its outputs are no longer read


def run(assignment: Assignment, start_s: float = AGENT_START_S) -> Generator[Output, None, None]:
    """The agent's outputs as they come. The agent proceeds only while they are read."""
    policy = assignment.options.get("permissions", REJECT)
    if policy not in POLICIES:
        raise BadRequest(f"permissions must be one of {', '.join(POLICIES)}", field="permissions")
    try:
        from recollect.live.runners.acp_turn import AcpTurn  # an optional dependency; 450 ms of CPU to import
    except ModuleNotFoundError as reason:
        raise ProviderFault(
            'This runner needs another package: pip install "recollect-agents[acp]"', missing=reason.name
        ) from reason
    if assignment.cancel.is_set():
        return
    with running_process(assignment) as process:
        yield from _outputs(assignment, process, AcpTurn(assignment, process, policy, start_s))


def _outputs(assignment: Assignment, process: "subprocess.Popen[bytes]", turn: "AcpTurn") -> Iterator[Output]:
    """Run the event loop only while no output is queued: an agent that floods us waits for the reader."""
    force = threading.Timer(FORCE_S, stop, [process])
    force.daemon = True
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        loop = runner.get_loop()

        def cancel() -> None:
            """Runs in the cancelling thread; does not wait, and works even if the outputs are no longer read."""
            force.start()
            with suppress(RuntimeError):  # the loop is closed: the turn has ended
                loop.call_soon_threadsafe(turn.cancelled.set)

        task = loop.create_task(turn.run())
        task.add_done_callback(lambda _: turn.outputs.put_nowait(None))
        try:
            with assignment.cancel.on_cancel(cancel):
                while (output := _next(turn, loop)) is not None:
                    yield output
            task.result()
        except AgentFault:
            if not assignment.cancel.is_set():
                raise
        finally:
            force.cancel()


def _next(turn: "AcpTurn", loop: asyncio.AbstractEventLoop) -> Output | None:
    return loop.run_until_complete(turn.outputs.get()) if turn.outputs.empty() else turn.outputs.get_nowait()
