"""Own traffic: searches must find the work, not earlier searches. Calls of other servers are not own traffic."""

import json
from typing import Any

from tests.conftest import Person
from tests.contract.history_archive import Codex
from tests.logs import Claude, write


def test_a_call_of_our_plugin_is_own_traffic_and_of_another_server_is_not(person: Person) -> None:
    log = Claude()
    write(
        person.claude_log(log.session),
        [
            log.prompt("Look it up"),
            log.calls("mcp__plugin_recollect_recollect__open", "c1", id="event:barnacle"),
            log.result("c1", "our barnacle"),
            log.calls("mcp__othermem__search_sessions", "c2", query="limpet barnacle"),
            log.result("c2", "their barnacle"),
            log.says("Done."),
        ],
    )
    person.run("sync")
    assert found(person, "barnacle") == {"their barnacle", 'mcp__othermem__search_sessions(query="limpet barnacle")'}


def test_the_server_name_in_codex_decides_what_is_own_traffic(person: Person) -> None:
    log = Codex(1)
    write(
        person.codex_log(log.session),
        [
            log.begins(),
            *log.prompt("Look it up"),
            log.calls("search", "c1", namespace="mcp__recollect", query="barnacle"),
            log.result("c1", "our barnacle"),
            log.calls("search_sessions", "c2", namespace="mcp__othermem", query="limpet barnacle"),
            log.result("c2", "their barnacle"),
            *log.says("Done."),
            log.completes(),
        ],
    )
    person.run("sync")
    assert found(person, "barnacle") == {"their barnacle", 'mcp__othermem__search_sessions(query="limpet barnacle")'}


def test_gemini_names_the_server_in_the_display_name(person: Person) -> None:
    """Gemini CLI calls a tool by its bare name, unless two servers have a tool of that name."""
    calls = [
        called("search", "search (recollect MCP Server)", "our barnacle"),
        called("mcp_recollect_read", "read (recollect MCP Server)", "our second barnacle"),
        called("search", "search (othermem MCP Server)", "their barnacle"),
        called("search_sessions", "search_sessions (othermem MCP Server)", "their second barnacle"),
        called("run_shell_command", "Shell", "a shell's barnacle"),
    ]
    messages = [
        {"id": "u1", "timestamp": "2026-01-10T20:00:00.000Z", "type": "user", "content": "Look it up"},
        {"id": "g1", "timestamp": "2026-01-10T20:00:05.000Z", "type": "gemini", "content": "Done.", "toolCalls": calls},
    ]
    document = {"sessionId": "5e55", "startTime": "2026-01-10T20:00:00.000Z", "messages": messages}
    path = person.home / ".gemini" / "tmp" / "harbour" / "chats" / "session-2026-01-10T20-00-5e55.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document), "utf-8")
    person.run("sync")
    assert found(person, "barnacle") == {"their barnacle", "their second barnacle", "a shell's barnacle"}


def called(tool: str, shown: str, output: str) -> dict[str, Any]:
    response = {"functionResponse": {"id": output, "name": tool, "response": {"output": output}}}
    return {"id": output, "name": tool, "displayName": shown, "args": {}, "status": "success", "result": [response]}


def found(person: Person, query: str) -> set[str]:
    """The texts of all hits of `recollect search`, calls and their answers included."""
    hits = person.json("search", query, "--type", "tool_call", "--type", "tool_response")["data"]["results"]
    return {hit["snippet"]["text"] for hit in hits}
