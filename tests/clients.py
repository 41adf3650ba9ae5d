"""Both clients over every wire behind one async interface; the blocking client runs in a thread."""

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
NOT_AWAITED = {"session", "stream"}  # methods that even `AsyncClient` does not await
ITERATORS = {"messages", "events"}


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(THREADS, lambda: function(*args, **kwargs))


class AsyncWrapper:
    """A blocking `Client`, or an object from it, with the interface of the async one."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.inner, name)
        if not callable(member):
            return member
        if name in NOT_AWAITED:
            return lambda *args, **kwargs: AsyncWrapper(member(*args, **kwargs))
        if name in ITERATORS:
            return lambda *args, **kwargs: iterate(member(*args, **kwargs))
        return lambda *args, **kwargs: self._call(member, *args, **kwargs)

    async def _call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        result = await in_thread(function, *(unwrap(value) for value in args), **kwargs)
        return AsyncWrapper(result) if isinstance(result, Session | Journey | TurnStream) else result

    def __aiter__(self) -> AsyncIterator[Any]:
        return iterate(self.inner)


def unwrap(value: Any) -> Any:
    return value.inner if isinstance(value, AsyncWrapper) else value


async def iterate(iterator: Iterator[Any]) -> AsyncIterator[Any]:
    """The items of a blocking iterator; like any iterator, it is not closed when the caller stops early."""
    while (item := await in_thread(next, iterator, None)) is not None:
        yield item


class RunningServer:
    """A server that is already running, and its addresses."""

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
        open_wire: Callable[[], Any] = {
            "child": lambda: kind.spawn(self.realm, env=self.person.env),
            "tcp": lambda: kind.connect(self.host, self.port, self.token),
            "http": lambda: kind.http(self.url, self.token),
        }[wire]
        client = await open_wire() if manner == "async" else AsyncWrapper(await in_thread(open_wire))
        try:
            yield client
        finally:
            await client.close()


@contextmanager
def running_server(
    person: Person, *options: str, token: str | None = None
) -> Iterator[tuple[RunningServer, "subprocess.Popen[str]"]]:
    """`recollect serve`, once it listens; it is killed afterwards."""
    command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--no-sync", "--json", *options]
    env = {**person.env, **({"RECOLLECT_TOKEN": token} if token is not None else {})}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield RunningServer(person, json.loads(process.stdout.readline()), token), process
        finally:
            process.kill()
