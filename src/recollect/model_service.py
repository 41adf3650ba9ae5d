"""A client for a model service over HTTP: it posts JSON and decodes the JSON of the response.

Every failure is one sentence that says what to check. No sentence contains a key, a password or the query of the URL.
Redirects are not followed: the key is meant for the service in the settings only.
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

BLOCK_SIZE = 1 << 16  # bytes read between two checks of the deadline
MAX_RESPONSE_BYTES = 1 << 26  # far more than any valid response
MAX_QUOTE = 300  # characters of the service's own error message that are shown
MAX_TIMEOUT_S = 3_600
MAX_PAUSE_S = 60  # before a retry, as a busy service requests it; whether to wait longer is the person's decision
BUSY = (429, 503)  # HTTP statuses
EXAMPLE_URL = "http://127.0.0.1:11434/v1"

ResponseType = TypeVar("ResponseType")


class ModelService:
    """A service from the settings. `section` is the settings section; every failure is raised as `error_type`."""

    def __init__(
        self,
        section: str,
        url: str,
        key_env: str,
        env: Mapping[str, str],
        timeout_s: float,
        error_type: type[RecollectError],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        if not 0 < timeout_s <= MAX_TIMEOUT_S:
            raise BadSettings(f"{section}.timeout_s must be more than 0 and at most {MAX_TIMEOUT_S} seconds.")
        address = _parse_address(section, url)
        self.section, self.key_env, self.timeout_s = section, key_env, timeout_s
        self.public_url = f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path.rstrip('/')}"
        self._query = f"?{address.query}" if address.query else ""
        self._secrets, self._headers = _read_credentials(address, key_env, env)
        self._error_type = error_type
        self._pause = pause
        self._opener = build_opener(_RedirectRefuser)

    def post(self, path: str, body: Any, decoder: "msgspec.json.Decoder[ResponseType]") -> ResponseType:
        """The decoded response. A busy service gets one retry, if it requests a pause that is short enough."""
        content = msgspec.json.encode(body)
        try:
            return self._post_once(path, content, decoder)
        except HTTPError as error:
            wait_s = _retry_after_s(error) if error.code in BUSY else None
            if wait_s is None or wait_s > min(MAX_PAUSE_S, self.timeout_s):
                raise self._refusal(error) from None
            error.close()
        self._pause(wait_s)
        try:
            return self._post_once(path, content, decoder)
        except HTTPError as error:
            raise self._refusal(error) from None

    def _post_once(self, path: str, content: bytes, decoder: "msgspec.json.Decoder[ResponseType]") -> ResponseType:
        request = Request(f"{self.public_url}{path}{self._query}", content, self._headers, method="POST")
        deadline = time.monotonic() + self.timeout_s
        try:
            with self._opener.open(request, timeout=self.timeout_s) as response:
                return self._decode(self._read(response, deadline), response.headers.get_content_type(), decoder)
        except HTTPError:
            raise
        except TimeoutError:
            raise self._timeout() from None
        except URLError as error:
            raise self._timeout() if isinstance(error.reason, TimeoutError) else self._unreachable(error.reason) from None
        except (OSError, HTTPException) as reason:
            raise self._unreachable(reason) from None

    def _read(self, response: Any, deadline: float) -> bytes:
        """The complete response. The deadline also applies to a response that arrives byte by byte."""
        content = bytearray()
        while block := response.read1(BLOCK_SIZE):
            content += block
            if time.monotonic() > deadline:
                raise self._timeout()
            if len(content) > MAX_RESPONSE_BYTES:
                raise self.error(f"answered with more than {MAX_RESPONSE_BYTES} bytes")
        return bytes(content)

    def _decode(self, content: bytes, content_type: str, decoder: "msgspec.json.Decoder[ResponseType]") -> ResponseType:
        try:
            return decoder.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as reason:
            quote = self._quote(content)
            check = f"check that {self.section}.url ends as the service expects, usually in /v1"
            raise self.error(
                f"answered with {content_type} instead of the expected JSON ({reason}){quote}: {check}"
            ) from None

    # ---- failures

    def error(self, problem: str, **details: Any) -> RecollectError:
        """An error whose sentence begins with the service's URL."""
        return self._error_type(f"The service {self.public_url} {problem}.", **details)

    def _timeout(self) -> RecollectError:
        return self.error(f"did not answer within {self.timeout_s:g} s: check its load, or raise {self.section}.timeout_s")

    def _unreachable(self, reason: object) -> RecollectError:
        return self.error(f"cannot be reached ({reason}): check that it runs, and {self.section}.url")

    def _refusal(self, error: HTTPError) -> RecollectError:
        match error.code:
            case 401 | 403:
                check = f"check the key in the environment variable {self.key_env}"
            case 404:
                check = f"check {self.section}.url, which usually ends in /v1, and {self.section}.name"
            case 429:
                check = "too many requests; wait, or check the quota"
            case code if 300 <= code < 400:
                check = f"it redirects; set {self.section}.url to the new address"
            case code if code >= 500:
                check = "look into the log of the service, or try again later"
            case _:
                check = f"check {self.section}.name and the message of the service"
        quote = "" if error.code in (401, 403) else self._quote_error(error)  # these responses repeat the key
        error.close()
        return self.error(f"refused with HTTP {error.code}{quote}: {check}", status=error.code)

    def _quote_error(self, error: HTTPError) -> str:
        try:
            return self._quote(error.read(BLOCK_SIZE))
        except (OSError, HTTPException):
            return ""

    def _quote(self, content: bytes) -> str:
        """The beginning of the service's own message in parentheses, on one line and without the key or password."""
        text = content[:BLOCK_SIZE].decode("utf-8", "replace")
        for secret in self._secrets:
            text = text.replace(secret, "…")
        text = " ".join("".join(character if character.isprintable() else " " for character in text).split())
        return f" ({text[:MAX_QUOTE]})" if text else ""


class _RedirectRefuser(HTTPRedirectHandler):
    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


def _parse_address(section: str, url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        host = (address.hostname or "").encode("idna")  # refuses a host with an empty or a too long part
        is_usable = address.scheme in ("http", "https") and host and address.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or not url.isascii() or not url.isprintable() or " " in url:
        raise BadSettings(f"{section}.url must be an http or https address, such as {EXAMPLE_URL}.")
    return address


def _read_credentials(address: SplitResult, key_env: str, env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The texts that must not be shown, and the headers of a request. A user name in the URL replaces the key."""
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "recollect"}
    key = env.get(key_env, "").strip()
    password = address.password or ""
    secrets = [secret for secret in (key, password, unquote(password), address.query) if secret]
    if address.username is not None:
        pair = f"{unquote(address.username)}:{unquote(password)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif key:
        if not key.isascii() or not key.isprintable():
            raise BadSettings(f"The environment variable {key_env} contains characters that a key cannot have.")
        headers["Authorization"] = f"Bearer {key}"
    return secrets, headers


def _retry_after_s(error: HTTPError) -> float | None:
    """The seconds of `Retry-After`, from a number or a date; None without either."""
    value = error.headers.get("Retry-After", "").strip()
    if value.isdecimal() and len(value) < 9:
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
