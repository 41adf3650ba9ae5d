"""recollect note"""

from typing import Any

import click
import msgspec

from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.operations.ids import Noun, parse_id
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import TEXT, chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.cli.short_forms import place_of


@click.command("note")
@click.argument("typed_id", type=TEXT, metavar="ID")
@click.argument("words", type=TEXT, metavar="[TEXT]...", nargs=-1)
@click.option("--remove", is_flag=True, help="Remove the note.")
@json_option
@realm_options
def command(typed_id: str, words: tuple[str, ...], remove: bool, as_json: bool, **realm: Any) -> None:
    """Write a note on a session or an event, or read it.

    \b
    recollect note last "ask Ana before merging"
    recollect note 9ab2c3d4:3.5 this is where it went wrong
    recollect note 9ab2c3d4 --remove
    recollect note 9ab2c3d4                print the note
    """
    if words and remove:
        raise click.UsageError("Use either a text or --remove, not both.")
    is_read = not words and not remove
    opened = (realm_to_read if is_read else chosen_realm)(**realm)
    place = place_of(opened, typed_id, as_json=False)
    if parse_id(place, "id").noun is Noun.TURN:
        raise BadRequest("A turn has no note. Write it on the session or on an event.")
    if is_read:
        _print(opened, place, as_json=as_json)
        return
    noun, _, _ = place.partition(":")
    operation = "library_write_event_note" if noun == Noun.EVENT else "library_write_note"
    done = "Removed the note." if remove else "Noted."
    ask(operation, {"id": place, "note": " ".join(words)}, lambda answer: say(done), as_json=as_json, realm=opened)


def _print(realm: LiveRealm, place: str, *, as_json: bool) -> None:
    identity = parse_id(place, "id")
    assert identity.key is not None
    with realm.open_memory() as memory:
        note = memory.notes_of([identity.key]).get(identity.key)
    if as_json:
        print_json(msgspec.json.encode({"data": {identity.noun: place, "note": note}, "warnings": []}).decode())
    else:
        say(note or "There is no note.")
