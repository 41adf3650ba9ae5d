"""The official test suites: the conformance tests of the Model Context Protocol, and its inspector.

Some checks need tools of a special test server, or features that we do not offer. They are listed below with the reason.
Every other check must pass, and a listed one must fail: remove it from the list when it passes.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.node_packages import installed, newer_node, script
from tests.http_server import HttpServer
from tests.tools import TOOLS

REVISIONS = ("2025-11-25", "2026-07-28")
DATED = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
Failure = tuple[str, str]  # a scenario and one of its checks
Suites = tuple[str, Path]  # a node, and the folder with the packages


def same_named(*scenarios: str) -> set[Failure]:
    """Scenarios with one check of the same name."""
    return {(scenario, scenario) for scenario in scenarios}


# Tools and prompts of a server for the suite: they answer with an image, send the client a request, …
FIXTURES = {
    *same_named("tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource"),
    *same_named("tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "tools-call-with-logging"),
    *same_named("tools-call-sampling", "tools-call-elicitation"),
    *same_named("prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
    ("elicitation-sep1034-defaults", "elicitation-sep1034-general"),
    ("elicitation-sep1330-enums", "elicitation-sep1330-general"),
    ("json-schema-2020-12", "json-schema-2020-12-tool-found"),
    ("server-stateless", "sep-2575-server-rejects-undeclared-capability"),
    ("server-stateless", "sep-2575-missing-capability-http-400"),
    ("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"),
    ("server-stateless", "sep-2575-server-no-log-without-loglevel"),
    *(("http-custom-header-server-validation", f"sep-2243-server-{name}") for name in (
        "no-xmcp-tool", "decode-base64", "validate-param-match", "reject-invalid-param-chars", "reject-param-mismatch")),
    *((f"input-required-result-{scenario}", f"sep-2322-{check}") for scenario, check in (
        ("basic-elicitation", "elicitation-incomplete"), ("basic-list-roots", "list-roots-incomplete"),
        ("basic-sampling", "sampling-incomplete"), ("capability-check", "respect-client-capabilities"),
        ("ignore-extra-params", "ignore-unexpected-params"), ("missing-input-response", "missing-response-rerequests"),
        ("multi-round", "multi-round-r1"), ("multiple-input-requests", "multiple-inputs-incomplete"),
        ("non-tool-request", "non-tool-incomplete"), ("request-state", "request-state-incomplete"),
        ("result-type", "result-type-included"), ("tampered-state", "reject-tampered-state"))),
}  # fmt: skip

# Tools find and open sessions: there are no resources, no completion of arguments, and no log for clients.
NOT_OFFERED = {
    *same_named("resources-list", "resources-read-text", "resources-read-binary", "resources-templates-read"),
    *same_named("resources-subscribe", "resources-unsubscribe", "completion-complete", "logging-set-level"),
    ("caching", "sep-2549-resources-list-caching-hints"),
    ("caching", "sep-2549-resources-templates-list-caching-hints"),
    ("sep-2164-resource-not-found", "sep-2164-error-code"),
    ("sep-2164-resource-not-found", "sep-2164-data-uri"),
}
EXTENSIONS = ("tasks-",)  # optional for a server, and not counted by the suite


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Suites:
    folder = installed("conformance", tmp_path_factory.getbasetemp())
    return newer_node(folder), folder


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("person"))


@pytest.fixture(scope="module")
def server(person: Person) -> Iterator[HttpServer]:
    with HttpServer(person, "--no-token") as server:  # the suite has no option for a header
        yield server


# ---- conformance


@pytest.fixture(scope="module")
def checks(suites: Suites, server: HttpServer, tmp_path_factory: pytest.TempPathFactory) -> dict[Failure, str]:
    """The result of every check of all revisions; the worst result of a check that ran more than once."""
    node, folder = suites
    found: dict[Failure, str] = {}
    for revision in REVISIONS:
        out = tmp_path_factory.mktemp(revision)
        command = [node, script(folder, "@modelcontextprotocol/conformance", "conformance"), "server"]
        command += ["--url", f"{server.url}/mcp", "--requirements", revision, "--output-dir", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert "=== SUMMARY ===" in done.stdout, done.stdout + done.stderr
        for path in out.glob("server-*/checks.json"):
            scenario = DATED.sub("", path.parent.name).removeprefix("server-")
            for check in json.loads(path.read_bytes()):
                if check["status"] in ("FAILURE", "WARNING") or (scenario, check["id"]) not in found:
                    found[scenario, check["id"]] = check["status"]
    return {key: status for key, status in found.items() if not key[0].startswith(EXTENSIONS)}


def test_every_applicable_conformance_check_passes(checks: dict[Failure, str]) -> None:
    failed = {key for key, status in checks.items() if status in ("FAILURE", "WARNING")}
    assert failed - FIXTURES - NOT_OFFERED == set()


def test_no_passing_check_is_in_the_list_of_exceptions(checks: dict[Failure, str]) -> None:
    passed = {key for key, status in checks.items() if status not in ("FAILURE", "WARNING")}
    assert (FIXTURES | NOT_OFFERED) & passed == set()
    assert checks.keys() >= (FIXTURES | NOT_OFFERED)


@pytest.mark.parametrize(
    "scenario",
    ["server-initialize", "server-session-lifecycle", "ping", "tools-list", "prompts-list", "server-stateless", "caching",
     "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams"],
)  # fmt: skip
def test_the_important_checks_were_run(checks: dict[Failure, str], scenario: str) -> None:
    assert [status for (name, _), status in checks.items() if name == scenario and status == "SUCCESS"]


# ---- the inspector


@pytest.fixture(scope="module")
def server_with_token(person: Person) -> Iterator[HttpServer]:
    with HttpServer(person) as server:
        yield server


@pytest.fixture(scope="module", params=["stdio", "http"])
def inspect(
    request: pytest.FixtureRequest, suites: Suites, person: Person, server_with_token: HttpServer, tmp_path_factory: Any
) -> Any:
    """Run the inspector's command line. Returns what it prints."""
    node, folder = suites
    home = {"RECOLLECT_HOME": str(person.state), "HOME": str(person.home)}
    started = {"type": "stdio", "command": sys.executable, "args": ["-m", "recollect", "mcp", "--no-sync"], "env": home}
    served = {"type": "streamable-http", "url": f"{server_with_token.url}/mcp", "headers": server_with_token.bearer}
    config = tmp_path_factory.mktemp("inspector") / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"stdio": started, "http": served}}))
    command = [node, script(folder, "@modelcontextprotocol/inspector", "mcp-inspector"), "--cli"]
    command += ["--config", str(config), "--server", request.param]

    def run(*words: str) -> Any:
        done = subprocess.run([*command, *words], env=person.env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    return run


def test_the_inspector_lists_the_tools_without_errors(inspect: Any) -> None:
    listed = inspect("--method", "tools/list", "--strict")
    assert [tool["name"] for tool in listed["tools"]] == [*TOOLS]


def test_the_inspector_calls_tools(inspect: Any) -> None:
    created = inspect("--method", "tools/call", "--tool-name", "meerkat_create_session", "--tool-arg", "prompt=hello there")
    session = created["structuredContent"]["session_id"]
    read = inspect("--method", "tools/call", "--tool-name", "meerkat_history", "--tool-arg", f"session_id={session}")
    assert read["structuredContent"]["messages"][0]["content"] == "hello there"


def test_the_inspector_shows_prompts(inspect: Any) -> None:
    assert inspect("--method", "prompts/list")["prompts"]
