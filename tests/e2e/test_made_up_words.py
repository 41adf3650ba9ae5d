"""A word that is invented from other words has no meaning: it finds neither of them."""

import json

import pytest

from tests.conftest import Person, RawMcp
from tests.logs import Claude, write

WORK = ("the harbour crane stalls", "We decided to grease the harbour crane, because it stalls.")
OTHER = ("where do vole records go", "I decided to put each vole record in a folder of its own, because it is tidy.")
INVENTED = ("foldervole", "volefolder", "harbourcrane", "craneharbour", "greasecrane", "recordvole")


@pytest.mark.parametrize("mode", ["vector", "text", "both"])
def test_an_invented_word_finds_nothing_through_its_parts(person: Person, mode: str) -> None:
    for number, (asked, said) in enumerate((WORK, OTHER)):
        log = Claude(f"{number:08x}-5e55-4a1c-8b0d-00000000000a", start=number * 60)
        write(person.claude_log(log.session), [log.prompt(asked), log.says(said)])
    person.run("sync")
    person.run("distil")
    with person.mcp() as server:
        assert remembered(server, "harbour crane", mode) == 1
        assert [remembered(server, word, mode) for word in INVENTED] == [0] * len(INVENTED)
        hits = [server.call("search_sessions", query=word)["data"]["result_count"] for word in INVENTED]
        assert hits == [0] * len(INVENTED)


def remembered(server: RawMcp, query: str, mode: str) -> int:
    arguments = {"query": query, "mode": mode, "response_format": "json"}
    answer = server.request("tools/call", {"name": "search", "arguments": arguments})
    return int(json.loads(answer["result"]["content"][0]["text"])["total"])
