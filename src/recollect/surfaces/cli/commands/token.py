"""recollect token"""

import http.client
import json
import os
from urllib.parse import urlsplit

import click

from recollect.errors import BadRequest, BadSettings
from recollect.loopback import is_foreign, is_loopback
from recollect.server_token import known_token, replace_token, server_token
from recollect.settings import TOKEN, state_folder
from recollect.surfaces.cli.realm_options import json_option

URL = "http://127.0.0.1:7377"
TIMEOUT_S = 10.0


@click.command("token")
@click.option("--new", is_flag=True, help="Replace the token. Servers use it after a restart.")
@click.option("--link", is_flag=True, help="Print a link that signs a browser in. It works once.")
@click.option("--url", default=URL, show_default=True, help="Server for --link.")
@json_option
def command(new: bool, link: bool, url: str, as_json: bool) -> None:
    """Print the access token of `recollect serve`.

    \b
    recollect token
    curl -H "Authorization: Bearer $(recollect token)" "localhost:7377/search?query=flaky+test"
    recollect token --link
    """
    if new and link:
        raise click.UsageError("Use either --new or --link, not both.")
    name, value = ("link", _new_link(url)) if link else ("token", _replace() if new else _token())
    click.echo(json.dumps({name: value}) if as_json else value)


def _token() -> str:
    return server_token(state_folder(os.environ), os.environ)


def _replace() -> str:
    if os.environ.get(TOKEN):
        raise BadSettings(f"{TOKEN} is set, so the token in the state folder is not used. Change {TOKEN} instead.")
    return replace_token(state_folder(os.environ))


def _new_link(url: str) -> str:
    """Ask a running server on this machine for a link."""
    address = urlsplit(url)
    if address.scheme != "http" or not is_loopback(address.hostname or "") or not _port(url):
        raise BadRequest(f"{url!r} is not the address of a server on this machine. Example: {URL}.")
    if is_foreign(_port(url)):
        raise BadRequest(f"{url} belongs to another user of this machine, so the token was not sent to it.")
    token = known_token(state_folder(os.environ), os.environ)
    connection = http.client.HTTPConnection(address.hostname or "", _port(url), timeout=TIMEOUT_S)
    try:
        connection.request("POST", "/login-links", headers={"authorization": f"Bearer {token}"})
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as reason:
        raise BadRequest(f"No server answers at {url}: {reason}. `recollect serve` starts one.") from reason
    finally:
        connection.close()
    if response.status == 401:
        raise BadRequest(f"{url} uses another token. Set RECOLLECT_HOME to the state folder of that server.")
    if response.status != 200:
        raise BadRequest(f"{url} does not create links (status {response.status}). It may run with --no-token.")
    return str(json.loads(content)["url"])


def _port(url: str) -> int:
    try:
        return urlsplit(url).port or 80
    except ValueError:
        return 0
