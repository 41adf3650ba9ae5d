"""The server's token: how it is created and found, and the cookie that a browser gets instead."""

import http.client
import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import Person
from tests.http_server import HttpServer
from tests.rpc_server import RpcPort, RpcSocket

OTHER_USER = 65534
FIND = """
import sys
from recollect.client import Client
wire, host, port = sys.argv[1:]
with (Client.http(f"http://{host}:{port}") if wire == "http" else Client.connect(host, int(port))) as client:
    print(len(client.list_sessions()))
"""
LISTEN_AS_ANOTHER = f"""
import os, socket
os.setuid({OTHER_USER})
with socket.create_server(("127.0.0.1", 0)) as listening:
    print(listening.getsockname()[1], flush=True)
    connected, _ = listening.accept()
    connected.settimeout(5)
    try:
        print(connected.recv(65536), flush=True)
    except TimeoutError:
        print(b"", flush=True)
"""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("owner"))


@pytest.fixture(scope="module")
def server(owner: Person) -> Iterator[HttpServer]:
    with HttpServer(owner) as server:
        yield server


def fetch(
    address: str, headers: dict[str, str] | None = None, method: str = "GET", body: str | None = None
) -> http.client.HTTPResponse:
    """A response as a browser gets it, without following a redirect."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)
    connection.request(method, f"{where.path or '/'}?{where.query}", body, headers or {})
    response = connection.getresponse()
    response.content = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def cookie_of(response: http.client.HTTPResponse) -> str:
    return str(response.headers["set-cookie"]).partition(";")[0]


def token(person: Person, *options: str) -> str:
    return person.run("token", *options).stdout.strip()


# ---- where it is kept


def test_the_token_is_created_once_and_only_its_owner_can_read_it(person: Person) -> None:
    first = token(person)
    assert len(first) >= 32
    assert token(person) == first
    assert stat.S_IMODE((person.state / "token").stat().st_mode) == 0o600
    assert [path.name for path in person.state.iterdir() if path.name.startswith("token")] == ["token"]
    with HttpServer(person) as server:
        assert server.ask("GET", "/sessions", authorization=f"Bearer {first}")[0] == 200


def test_servers_that_start_at_once_agree_on_one_token(person: Person) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: token(person), range(8)))) == 1


def test_a_new_token_replaces_the_old_one_when_the_server_restarts(person: Person) -> None:
    old = token(person)
    new = token(person, "--new")
    assert new != old
    assert token(person) == new
    with HttpServer(person) as server:
        assert server.ask("GET", "/sessions", authorization=f"Bearer {old}")[0] == 401
        assert server.ask("GET", "/sessions", authorization=f"Bearer {new}")[0] == 200


def test_the_variable_overrides_the_token_file(person: Person) -> None:
    token(person)
    person.env["RECOLLECT_TOKEN"] = "sixteen-letters-at-least"
    assert token(person) == "sixteen-letters-at-least"
    done = person.run("token", "--new", check=False)
    assert done.returncode == 2 and "RECOLLECT_TOKEN is set" in done.stderr


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        ("x" * 40, 0o644, "can be read by others"),
        ("short", 0o600, "does not hold a token"),
        ("", 0o600, "does not hold a token"),
    ],
)
def test_an_unsafe_token_file_is_refused_with_advice(person: Person, content: str, mode: int, reason: str) -> None:
    path = person.state / "token"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    path.chmod(mode)
    for command in (("token",), ("serve", "--port", "0", "--no-sync"), ("rpc", "--port", "0")):
        done = person.run(*command, check=False)
        assert done.returncode == 2
        assert reason in done.stderr and "recollect token --new" in done.stderr
    assert len(token(person, "--new")) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_recollect_token_prints_json(person: Person) -> None:
    assert person.json("token") == {"token": token(person)}


# ---- the port of JSON-RPC


def test_the_rpc_port_requires_the_token_in_the_first_request(owner: Person, server: HttpServer) -> None:
    assert server.rpc_port is not None
    with RpcPort(owner) as port:
        for where in (server.rpc_port, port.port):
            with RpcSocket(where, None) as talk:
                for method, params in (
                    ("ping", {}),
                    ("session/list", {}),
                    ("initialize", {}),
                    ("initialize", {"token": "x" * 43}),
                ):
                    refusal = talk.error(method, **params)
                    assert refusal["code"] == -32600
                    assert "recollect token" in refusal["message"]
                assert talk.result("initialize", token=token(owner))["name"] == "recollect"
                assert talk.result("session/list") == {"sessions": []}


# ---- without one


def test_a_server_without_a_token_warns_and_serves_every_caller(person: Person) -> None:
    with HttpServer(person, "--no-token") as server:
        assert server.ask("GET", "/sessions")[0] == 200
        assert server.announcement["link"] is None
        with server.rpc() as talk:
            assert talk.result("session/list") == {"sessions": []}
        assert "all users of this machine can read your sessions" in server.stderr_text()
        assert "does not create links" in person.run("token", "--link", "--url", server.url, check=False).stderr
    assert not (person.state / "token").exists()


# ---- browsers


def test_the_printed_link_signs_a_browser_in_once(owner: Person) -> None:
    with HttpServer(owner) as server:
        link = server.announcement["link"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login\?code=[\w-]{40,}", link)
        assert token(owner) not in link
        assert fetch(link, method="HEAD").status == 200  # a program that previews links does not use them up
        opened = fetch(link)
        assert (opened.status, opened.headers["location"]) == (303, "/")
        attributes = str(opened.headers["set-cookie"]).lower()
        assert "httponly" in attributes and "samesite=lax" in attributes and "path=/" in attributes
        assert token(owner) not in attributes
        cookie = {"cookie": f"theme=dark; {cookie_of(opened)}"}
        for path in ("/docs", "/openapi.json", "/sessions"):
            assert fetch(server.url + path, cookie).status == 200
        again = fetch(link)
        assert (again.status, again.headers["set-cookie"]) == (403, None)
        assert b"This link was used before" in again.content  # type: ignore[attr-defined]


def test_a_cookie_survives_a_restart_and_ends_with_the_token(person: Person) -> None:
    with HttpServer(person) as server:
        port = urlsplit(server.url).port
        cookie = {"cookie": cookie_of(fetch(server.announcement["link"]))}
    with HttpServer(person, "--port", str(port)) as server:
        assert fetch(f"{server.url}/sessions", cookie).status == 200
    token(person, "--new")
    with HttpServer(person, "--port", str(port)) as server:
        assert fetch(f"{server.url}/sessions", cookie).status == 401


@pytest.mark.parametrize(
    "cookie", ["recollect-{port}=", "recollect-{port}={token}", "recollect-1={value}", "recollect-{port}={value}x", "other={value}", "recollect-{port}=\xff", '"; recollect-{port}'],
)  # fmt: skip
def test_no_other_cookie_is_accepted(owner: Person, server: HttpServer, cookie: str) -> None:
    name, _, value = cookie_of(fetch(token(owner, "--link", "--url", server.url))).partition("=")
    assert fetch(f"{server.url}/sessions", {"cookie": f"{name}={value}"}).status == 200
    header = cookie.format(port=urlsplit(server.url).port, token=server.token, value=value)
    assert fetch(f"{server.url}/sessions", {"cookie": header}).status == 401


def test_the_token_gets_another_link(owner: Person, server: HttpServer) -> None:
    link = token(owner, "--link", "--url", server.url)
    assert fetch(link).status == 303
    assert fetch(link).status == 403
    assert owner.json("token", "--link", "--url", server.url)["link"] != link
    assert fetch(f"{server.url}/login-links", method="POST").status == 401


def test_a_page_without_sign_in_says_how_to_sign_in(server: HttpServer) -> None:
    for path in ("/", "/docs", "/sessions"):
        page = fetch(server.url + path, {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert page.status == 401
        assert "text/html" in page.headers["content-type"]
        assert b"recollect token --link" in page.content  # type: ignore[attr-defined]
    assert fetch(f"{server.url}/docs", {"accept": "*/*"}).headers["content-type"] == "application/json"


def test_the_sign_in_form_accepts_the_token(server: HttpServer) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", "origin": server.url}
    signed_in = fetch(f"{server.url}/login", form, "POST", f"token={server.token}")
    assert signed_in.status == 303
    assert fetch(f"{server.url}/sessions", {"cookie": cookie_of(signed_in)}).status == 200
    for body in ("", "token=", "token=wrong", f"other={server.token}", "token=%ff%fe", "x" * 10_000):
        refused = fetch(f"{server.url}/login", form, "POST", body)
        assert (refused.status, refused.headers["set-cookie"]) == (403, None)
    assert fetch(f"{server.url}/login", form, "POST", "x" * 20_000).status == 413
    elsewhere = {**form, "origin": "http://evil.example"}
    assert fetch(f"{server.url}/login", elsewhere, "POST", f"token={server.token}").status == 403


@pytest.mark.parametrize("code", ["", "x", "%00", "../..", "a" * 10_000, "<script>"])
def test_an_invalid_link_does_not_sign_in(server: HttpServer, code: str) -> None:
    response = fetch(f"{server.url}/login?code={code}")
    assert (response.status, response.headers["set-cookie"]) == (403, None)
    assert b"<script" not in response.content  # type: ignore[attr-defined]


# ---- programs on this machine


@pytest.mark.parametrize("wire", ["http", "tcp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_python_client_finds_the_token_by_itself(owner: Person, server: HttpServer, wire: str, host: str) -> None:
    port = urlsplit(server.url).port if wire == "http" else server.rpc_port
    command = [sys.executable, "-c", FIND, wire, host, str(port)]
    done = subprocess.run(command, env=owner.env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.parametrize("wire", ["http", "tcp"])
def test_the_python_client_without_the_token_is_refused(server: HttpServer, person: Person, wire: str) -> None:
    port = urlsplit(server.url).port if wire == "http" else server.rpc_port
    command = [sys.executable, "-c", FIND, wire, "127.0.0.1", str(port)]
    done = subprocess.run(command, env=person.env, capture_output=True, text=True, check=False, timeout=60)
    assert "recollect token" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.getuid() != 0, reason="needs root on Linux, to act as another user"
)
@pytest.mark.parametrize("wire", ["http", "tcp", "link"])
def test_the_token_is_never_sent_to_another_users_program(owner: Person, server: HttpServer, wire: str) -> None:
    command = [sys.executable, "-c", LISTEN_AS_ANOTHER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        port = other.stdout.readline().strip()
        if wire == "link":
            done = owner.run("token", "--link", "--url", f"http://127.0.0.1:{port}", check=False)
        else:
            find = [sys.executable, "-c", FIND, wire, "127.0.0.1", port]
            done = subprocess.run(find, env=owner.env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode != 0
        assert "belongs to another user of this machine" in done.stderr
        with suppress(OSError), socket.create_connection(("127.0.0.1", int(port))):
            pass  # ends a waiting accept if no client connected
        assert server.token is not None and server.token not in other.stdout.read()


def test_a_link_is_only_requested_from_this_machine(person: Person) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url, reason in (
        (f"http://127.0.0.1:{port}", "No server answers"),
        ("http://recollect.example:7377", "is not the address of a server on this machine"),
        ("https://127.0.0.1:7377", "is not the address"),
        ("http://127.0.0.1:notaport", "is not the address"),
        ("nonsense", "is not the address"),
    ):
        done = person.run("token", "--link", "--url", url, check=False)
        assert done.returncode == 2
        assert reason in done.stderr


def test_the_server_prints_the_link_and_never_the_token(owner: Person) -> None:
    command = [sys.executable, "-m", "recollect", "serve", "--port", "0", "--no-sync"]
    with subprocess.Popen(command, env=owner.env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(5)]
        process.terminate()
    assert "/login?code=" in printed[1]
    assert "recollect token" in printed[4]
    assert token(owner) not in "".join(printed)


def test_the_token_is_in_no_answer_and_no_log(owner: Person, server: HttpServer) -> None:
    assert server.token is not None
    for path in ("/health", "/config", "/realms", "/openapi.json", "/login"):
        assert server.token not in json.dumps(fetch(server.url + path, server.bearer).content.decode())  # type: ignore[attr-defined]
    assert server.token not in server.stderr_text()
    for file in Path(owner.state).rglob("*"):
        assert file.name == "token" or not file.is_file() or server.token.encode() not in file.read_bytes()
