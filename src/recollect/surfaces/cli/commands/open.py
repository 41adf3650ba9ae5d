"""recollect open"""

from typing import Any

import click

from recollect.surfaces.cli.output import answer_of, ask, library_answer, print_warnings
from recollect.surfaces.cli.pager import paged, pager_option
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render_open import draw_open
from recollect.surfaces.cli.short_forms import place_of, short_forms


@click.command("open")
@click.argument("typed_id", type=TEXT, metavar="ID")
@pager_option
@json_option
@realm_options
def command(typed_id: str, has_pager: bool, as_json: bool, **realm: Any) -> None:
    """Show a session, a turn or an event.

    \b
    recollect open last             the newest session
    recollect open 9ab2c3d4         a session, by the ID that `recollect list` shows
    recollect open 9ab2c3d4:3       its third turn
    recollect open 9ab2c3d4:3.5     the fifth event of that turn, in full

    An ID can also be the agent's own, a UUID, or the first 4 characters or more of any ID.
    """
    opened = realm_to_read(**realm)
    place = place_of(opened, typed_id, as_json=as_json)
    if as_json:
        ask("open", {"id": place}, lambda answer: None, as_json=True, realm=opened, typed_id=typed_id)
        return
    answer = answer_of(opened, "open", {"id": place})
    print_warnings(answer)
    data = answer["data"]
    session = data["session"]["id"] if "session" in data else place
    library = library_answer(opened, "session", {"id": session})["data"]
    with short_forms(opened) as shorten, paged(has_pager=has_pager) as out:
        draw_open(out, data, library, shorten)
