"""recollect config"""

from typing import Any

import click
import msgspec

from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import TEXT, invalid_json, json_option, realm_options
from recollect.surfaces.cli.render import say


@click.group("config")
def command() -> None:
    """Read and change a realm's config.

    Every write increases the config's generation by 1.

    \b
    recollect config get
    recollect config patch '{"deadline_ms": 2000}'
    recollect config set '{}' --expected-generation 3
    """


def _generation_option(function: Any) -> Any:
    text = "Write only if the config still has this generation."
    return click.option("--expected-generation", type=int, metavar="N", help=text)(function)


@command.command("get")
@json_option
@realm_options
def get(as_json: bool, **realm: Any) -> None:
    """Show the config and its generation.

    \b
    recollect config get --json
    """
    ask("meerkat_config", {"action": "get"}, _draw, as_json=as_json, realm=realm)


@command.command("set")
@click.argument("config", type=TEXT, metavar="JSON")
@_generation_option
@json_option
@realm_options
def replace(config: str, expected_generation: int | None, as_json: bool, **realm: Any) -> None:
    """Replace the whole config.

    \b
    recollect config set '{"deadline_ms": 2000}'
    """
    arguments = {"action": "set", "config": _decode(config), "expected_generation": expected_generation}
    ask("meerkat_config", arguments, _draw, as_json=as_json, realm=realm)


@command.command("patch")
@click.argument("changes", type=TEXT, metavar="JSON")
@_generation_option
@json_option
@realm_options
def patch(changes: str, expected_generation: int | None, as_json: bool, **realm: Any) -> None:
    """Merge changes into the config (RFC 7396).

    null removes a key; objects are merged.

    \b
    recollect config patch '{"deadline_ms": null}'
    """
    arguments = {"action": "patch", "patch": _decode(changes), "expected_generation": expected_generation}
    ask("meerkat_config", arguments, _draw, as_json=as_json, realm=realm)


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as reason:
        raise click.UsageError(f"{invalid_json(reason)}. Example: '{{\"deadline_ms\": 2000}}'.") from reason


def _draw(answer: dict[str, Any]) -> None:
    say(msgspec.json.format(msgspec.json.encode(answer["config"])).decode())
    say(f"generation {answer['generation']} of realm {answer['realm_id']}", err=True)
