"""A service that takes JSON at an address and gives JSON back.

What can be wrong with one is many things, and each is a sentence that says what to check. No sentence holds a key, a
password or a query of the address. Redirections are not followed: the key is for the service in the settings.
"""

import base64
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from recollect.errors import BadSettings, RecollectError

BLOCK = 1 << 16  # bytes read between two looks at the clock
MOST_ANSWER = 1 << 26  # bytes: far beyond any proper answer
MOST_SAID = 300  # characters of what the service says is wrong
LONGEST_WAIT_S = 3_600
LONGEST_PAUSE_S = 60  # that a busy service may ask for, if an answer may take that long; more is for the person to decide
BUSY = (429, 503)
EXAMPLE = "http://127.0.0.1:11434/v1"

Shape = TypeVar("Shape")


class Service:
    """A service of the settings. `section` is where its keys are; `fault` is the error that every trouble becomes."""

    def __init__(
        self,
        section: str,
        url: str,
        key_env: str,
        env: Mapping[str, str],
        timeout_s: float,
        fault: type[RecollectError],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if not 0 < timeout_s <= LONGEST_WAIT_S:
            raise BadSettings(f"{section}.timeout_s must be more than 0 and at most {LONGEST_WAIT_S} seconds.")
        address = _address(section, url)
        self.section, self.key_env, self.timeout_s = section, key_env, timeout_s
        self.shown = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path.rstrip('/')}"
        self._query = f"?{address.query}" if address.query else ""
        self._secrets, self._headers = _credentials(address, key_env, env)
        self._fault = fault
        self._pause = pause
        self._opener = build_opener(_Stay)

    def post(self, path: str, body: Any, answer: "msgspec.json.Decoder[Shape]") -> Shape:
        """What the service answers. One that is busy is asked once more, if it says when and that is soon."""
        content = msgspec.json.encode(body)
        try:
            return self._ask(path, content, answer)
        except HTTPError as error:
            wait_s = _retry_after(error) if error.code in BUSY else None
            if wait_s is None or wait_s > min(LONGEST_PAUSE_S, self.timeout_s):
                raise self._refused(error) from None
            error.close()
        self._pause(wait_s)
        try:
            return self._ask(path, content, answer)
        except HTTPError as error:
            raise self._refused(error) from None

    def _ask(self, path: str, content: bytes, answer: "msgspec.json.Decoder[Shape]") -> Shape:
        request = Request(f"{self.shown}{path}{self._query}", content, self._headers, method="POST")
        deadline = time.monotonic() + self.timeout_s
        try:
            with self._opener.open(request, timeout=self.timeout_s) as response:
                return self._decoded(self._read(response, deadline), response.headers.get_content_type(), answer)
        except HTTPError:
            raise
        except TimeoutError:
            raise self._too_slow() from None
        except URLError as error:
            raise self._too_slow() if isinstance(error.reason, TimeoutError) else self._not_reached(error.reason) from None
        except (OSError, HTTPException) as reason:
            raise self._not_reached(reason) from None

    def _read(self, response: Any, deadline: float) -> bytes:
        """The whole answer: a service that sends it byte by byte may take no longer than another."""
        content = bytearray()
        while block := response.read1(BLOCK):
            content += block
            if time.monotonic() > deadline:
                raise self._too_slow()
            if len(content) > MOST_ANSWER:
                raise self.odd(f"answered with more than {MOST_ANSWER} bytes")
        return bytes(content)

    def _decoded(self, content: bytes, kind: str, answer: "msgspec.json.Decoder[Shape]") -> Shape:
        try:
            return answer.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as reason:
            said = self._in_a_line(content)
            check = f"check that {self.section}.url ends as the service wants it, mostly in /v1"
            raise self.odd(f"answered with {kind} that is not the JSON of an answer ({reason}){said}: {check}") from None

    def odd(self, what: str, **details: Any) -> RecollectError:
        return self._fault(f"The service {self.shown} {what}.", **details)

    def _too_slow(self) -> RecollectError:
        return self.odd(f"did not answer within {self.timeout_s:g} s: check its load, or raise {self.section}.timeout_s")

    def _not_reached(self, reason: object) -> RecollectError:
        return self.odd(f"cannot be reached ({reason}): check that it runs, and {self.section}.url")

    def _refused(self, error: HTTPError) -> RecollectError:
        match error.code:
            case 401 | 403:
                check = f"check the key in the environment variable {self.key_env}"
            case 404:
                check = f"check {self.section}.url, which mostly ends in /v1, and {self.section}.name"
            case 429:
                check = "it wants fewer requests; wait, or check the quota"
            case code if 300 <= code < 400:
                check = f"it lives elsewhere; set {self.section}.url to that address"
            case code if code >= 500:
                check = "look into the log of the service, or try again later"
            case _:
                check = f"check {self.section}.name and what the service says"
        said = "" if error.code in (401, 403) else self._said(error)  # those quote the key
        error.close()
        return self.odd(f"refused with HTTP {error.code}{said}: {check}", status=error.code)

    def _said(self, error: HTTPError) -> str:
        try:
            return self._in_a_line(error.read(BLOCK))
        except (OSError, HTTPException):
            return ""

    def _in_a_line(self, content: bytes) -> str:
        """The beginning of the service's own words, in one line and without our secrets."""
        words = content[:BLOCK].decode("utf-8", "replace")
        for secret in self._secrets:
            words = words.replace(secret, "…")
        words = " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())
        return f" ({words[:MOST_SAID]})" if words else ""


class _Stay(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


def _address(section: str, url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        host = (address.hostname or "").encode("idna")  # as it will be looked up: no part empty or too long
        usable = address.scheme in ("http", "https") and host and address.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise BadSettings(f"{section}.url must be an http or https address, such as {EXAMPLE}.")
    return address


def _credentials(address: SplitResult, key_env: str, env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """What must not be shown, and the headers of a request. A password in the address is meant for it, so it goes first."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "recollect"}
    key = env.get(key_env, "").strip()
    password = address.password or ""
    secrets = [secret for secret in (key, password, unquote(password), address.query) if secret]
    if address.username is not None:
        pair = f"{unquote(address.username)}:{unquote(password)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif key:
        if not key.isascii() or not key.isprintable():
            raise BadSettings(f"The environment variable {key_env} holds characters that no key has.")
        headers["Authorization"] = f"Bearer {key}"
    return secrets, headers


def _retry_after(error: HTTPError) -> float | None:
    """Seconds, from a number or a date; None where the service names neither."""
    said = error.headers.get("Retry-After", "").strip()
    if said.isdecimal() and len(said) < 9:
        return float(said)
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
