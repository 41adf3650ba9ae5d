"""Both clients, over every wire, behind one way of speaking to them: cases are coroutines, and what waits does so in a thread."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from recollect.client import AsyncClient, Client, Journey, Session, TurnStream
from tests.conftest import Person

WIRES = ("child", "tcp", "http")
MANNERS = ("sync", "async")
Case = Callable[[Any], Awaitable[None]]
THREADS = ThreadPoolExecutor(64, "case")
AT_ONCE = {"session", "stream"}  # what even `AsyncClient` does without being awaited
ONE_BY_ONE = {"messages", "events"}


async def in_thread(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(THREADS, lambda: function(*given, **named))


class Waiting:
    """A `Client`, or what comes of it, as if it were the one that is awaited."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if not callable(found):
            return found
        if name in AT_ONCE:
            return lambda *given, **named: Waiting(found(*given, **named))
        if name in ONE_BY_ONE:
            return lambda *given, **named: each(found(*given, **named))
        return lambda *given, **named: self._called(found, *given, **named)

    async def _called(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        result = await in_thread(function, *(plain(one) for one in given), **named)
        return Waiting(result) if isinstance(result, Session | Journey | TurnStream) else result

    def __aiter__(self) -> AsyncIterator[Any]:
        return each(self.inner)


def plain(value: Any) -> Any:
    return value.inner if isinstance(value, Waiting) else value


async def each(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    """Not closed when it is left early, like any iterator."""
    while (one := await in_thread(next, iterator, None)) is not None:
        yield one


class RunningServer:
    """A server that runs already, and where to find it."""

    def __init__(self, person: Person, announcement: dict[str, Any], token: str | None) -> None:
        self.person = person
        self.realm = announcement["realm_id"]
        self.url = announcement["url"]
        self.host, _, port = announcement["rpc"].rpartition(":")
        self.port = int(port)
        self.token: str | None = token or (person.state / "token").read_text().strip()

    @asynccontextmanager
    async def open_client(self, wire: str, manner: str) -> AsyncIterator[Any]:
        kind: Any = AsyncClient if manner == "async" else Client
        opening: Callable[[], Any] = {
            "child": lambda: kind.spawn(self.realm, env=self.person.env),
            "tcp": lambda: kind.connect(self.host, self.port, self.token),
            "http": lambda: kind.http(self.url, self.token),
        }[wire]
        client = await opening() if manner == "async" else Waiting(await in_thread(opening))
        try:
            yield client
        finally:
            await client.close()


@contextmanager
def running_server(
    person: Person, *options: str, token: str | None = None
) -> Iterator[tuple[RunningServer, "subprocess.Popen[str]"]]:
    """`recollect serve`, from the moment it listens; it is dead afterwards."""
    command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--no-sync", "--json", *options]
    env = {**person.env, **({"RECOLLECT_TOKEN": token} if token is not None else {})}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield RunningServer(person, json.loads(process.stdout.readline()), token), process
        finally:
            process.kill()
