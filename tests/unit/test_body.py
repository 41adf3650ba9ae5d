"""The content of events, packed and unpacked."""

import threading
from concurrent.futures import ThreadPoolExecutor

from recollect.model import Event, Kind
from recollect.store.sqlite.body import decode_body, encode_body, preview

THREADS = 8


def an_event(text: str) -> Event:
    return Event(id=b"", turn=1, seq=0, kind=Kind.USER_INPUT, at=0, line=1, text=text)


def test_threads_never_read_each_others_content() -> None:
    """A server answers several callers at once; a decompressor is not thread-safe."""
    texts = [f"{number} " * 20_000 for number in range(THREADS)]
    bodies = [encode_body(an_event(text)) for text in texts]
    together = threading.Barrier(THREADS)

    def read(number: int) -> bool:
        together.wait()
        whole = all(decode_body(bodies[number]) == texts[number] for _ in range(200))
        return whole and all(preview(bodies[number], 10)[0] == texts[number][:10] for _ in range(200))

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(read, range(THREADS)))
