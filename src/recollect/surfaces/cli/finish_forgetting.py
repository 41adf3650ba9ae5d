"""Finishes what a killed process had begun to forget, before a command reads logs."""

from recollect.errors import RecollectError
from recollect.live import LiveRealm
from recollect.store.forgetting import is_forgetting_unfinished
from recollect.surfaces.cli.render import say


def finish_or_warn(realm: LiveRealm) -> None:
    """Finish forgetting, or print why not. Logs can be read either way."""
    if not is_forgetting_unfinished(realm.folder):
        return
    from recollect.realms.forget import finish_forgetting  # takes 5 ms, and is seldom needed

    try:
        finish_forgetting(realm)
    except RecollectError as fault:
        say(f"! {fault}", err=True)
