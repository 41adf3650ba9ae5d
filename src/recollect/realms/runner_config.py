"""The names of built-in runners, and checks of the runners in a realm's config."""

from typing import Any

from recollect.errors import BadRequest

RECALL, COMMAND, ACP = "recall", "command", "acp"
BUILT_IN = (RECALL, COMMAND, ACP)
WITH_COMMAND = (COMMAND, ACP)
REJECT, ALLOW = "reject", "allow"
POLICIES = (REJECT, ALLOW)  # answers to an agent that asks for permission
OPTIONS = {
    RECALL: ("runner", "folder"),
    COMMAND: ("runner", "command", "folder"),
    ACP: ("runner", "command", "folder", "permissions", "agent"),
}


def check(runner: str | None, runners: dict[str, dict[str, Any]]) -> None:
    """Raise if a config's runners are invalid."""
    for name, options in runners.items():
        _check_options(name, options)
    if runner is not None and runner not in BUILT_IN and runner not in runners:
        raise BadRequest(unknown_runner(runner), field="runner")


def unknown_runner(name: str) -> str:
    return f"there is no runner {name!r}: it must be one of {', '.join(BUILT_IN)}, or a name from the realm's config"


def kind_of(name: str, options: dict[str, Any]) -> str:
    """The built-in runner that a configured one uses."""
    kind = options.get("runner", COMMAND)
    if kind not in BUILT_IN:
        raise _bad(name, f"must have a runner that is one of {', '.join(BUILT_IN)}")
    return str(kind)


def command_of(name: str, options: dict[str, Any]) -> list[str] | None:
    """The command of a configured runner; None if it has none."""
    command = options.get("command")
    if command is None:
        return None
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command) or not command[0]:
        raise _bad(name, "must have a command that is an array of strings: a program and its arguments")
    return command


def _check_options(name: str, options: dict[str, Any]) -> None:
    if not name or name in BUILT_IN:
        raise BadRequest(f"runners must have names that are not empty and not built in: not {name!r}", field="runners")
    kind = kind_of(name, options)
    for key in options:
        if key not in OPTIONS[kind]:
            raise _bad(name, f"has an unknown option {key!r}: {kind} has {', '.join(OPTIONS[kind])}")
    if kind in WITH_COMMAND and command_of(name, options) is None:
        raise _bad(name, "needs a command: an array of a program and its arguments")
    folder = options.get("folder", "/")
    if not isinstance(folder, str) or not folder:
        raise _bad(name, "must have a folder that is a path")
    if not isinstance(options.get("agent", ""), str):
        raise _bad(name, "must have an agent that is a name, as `recollect sources` lists it")
    if options.get("permissions", REJECT) not in POLICIES:
        raise _bad(name, f"must have permissions that are one of {', '.join(POLICIES)}")


def _bad(name: str, reason: str) -> BadRequest:
    return BadRequest(f"the config's runner {name!r} {reason}", field="runners")
