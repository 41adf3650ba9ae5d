"""Many readers of one session's events, in their own process: measures the delay of every event to each of them.

    python bench/readers.py HOST:PORT SESSION READERS

Prints `ready` when all readers are connected. Prints one line of JSON when all have received the end of the turn. The agent
must print the time (`time.time_ns`), one per line.
"""

import asyncio
import json
import sys
import time

ENDS = ("turn_completed", "turn_failed", "turn_interrupted")


async def read(address: str, session: str, connected: "asyncio.Semaphore", lags_ms: list[float], missed: list[int]) -> None:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 24)
    writer.write(f"GET /sessions/{session}/events HTTP/1.1\r\nhost: {address}\r\n\r\n".encode())
    await reader.readuntil(b"\r\n\r\n")
    connected.release()
    async for line in reader:
        if not line.startswith(b"data: "):
            continue
        event, now = json.loads(line[6:]), time.time_ns()
        if event["type"] == "text_delta":
            lags_ms.append((now - int(event["delta"].split()[-1])) / 1e6)
        elif event["type"] == "stream_truncated":
            missed.append(event["dropped"])
        elif event["type"] in ENDS:
            break
    writer.close()


async def main() -> None:
    address, session, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    connected = asyncio.Semaphore(0)
    lags_ms: list[float] = []
    missed: list[int] = []
    readers = [asyncio.create_task(read(address, session, connected, lags_ms, missed)) for _ in range(count)]
    for _ in range(count):
        await connected.acquire()
    print("ready", flush=True)
    await asyncio.gather(*readers)
    print(json.dumps({"lags_ms": lags_ms, "missed": sum(missed)}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
