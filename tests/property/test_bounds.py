"""A field of any length takes time and memory in proportion, and the other logs are still read."""

import json
import subprocess
import sys

import pytest

from tests.conftest import Person
from tests.logs import Claude, write

pytestmark = pytest.mark.process

LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))  # bytes: walking all parents of the folder took 6 GB
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))  # seconds: it took 28; a sync of two small logs takes one
sys.argv = ["recollect", *sys.argv[1:]]
runpy.run_module("recollect", run_name="__main__")
"""


def run_with_limits(person: Person, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a limit on memory and processor time."""
    command = [sys.executable, "-c", LIMITED, *arguments]
    return subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("part", ["/a", "/aaaaaaaaaaaaaaa", "/..", "/.", "\\a"])
def test_a_working_folder_of_any_length_does_not_lose_another_log(person: Person, part: str) -> None:
    long = Claude(cwd="/work" + part * (80_000 // len(part)))
    write(person.claude_log(long.session), [long.prompt("in a folder that cannot be")])
    other = Claude("22222222-2222-4222-8222-222222222222")
    write(person.claude_log(other.session), [other.prompt("in an ordinary folder")])
    done = run_with_limits(person, "sync", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["events"] == 2


def nested_spans(depth: int) -> dict[str, object]:
    """A trace of agents that each run inside the previous one."""
    kind = {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}
    spans = [
        {
            "traceId": "a" * 32, "spanId": f"{number + 1:016x}", "parentSpanId": f"{number:016x}" if number else "",
            "name": "invoke_agent", "startTimeUnixNano": str(10**18 + number), "endTimeUnixNano": str(10**18 + 10**9),
            "attributes": [kind],
        }
        for number in range(depth)
    ]  # fmt: skip
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": spans}]}]}


def test_deeply_nested_spans_take_time_in_proportion(person: Person) -> None:
    log = person.home / "trace.jsonl"
    log.write_text(json.dumps(nested_spans(8_000)) + "\n")
    done = run_with_limits(person, "sync", "--json", str(log))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recognised"] == {str(log): "otel"}
