"""Reads lists of the library page by page, so that a person never copies a cursor."""

from collections.abc import Iterator
from typing import Any

from recollect.live import LiveRealm
from recollect.surfaces.cli.output import library_answer, print_warnings

PAGE = 200  # items of a page: the most that every list of the library gives


def library_pages(
    realm: LiveRealm, name: str, arguments: dict[str, Any], items: str, count: int | None, *, as_json: bool = False
) -> Iterator[Any]:
    """The answers of `library/NAME`, until they have `count` items (None: all). `items` is the list in `data`."""
    left = count
    while True:
        page = {**arguments, "limit": PAGE if left is None else min(left, PAGE)}
        answer = library_answer(realm, name, page, as_json=as_json)
        if "cursor" not in arguments and not as_json:
            print_warnings(answer)
        yield answer
        cursor = answer["page"]["next"]
        left = None if left is None else left - len(answer["data"][items])
        if cursor is None or left == 0:
            return
        arguments = {**arguments, "cursor": cursor}
