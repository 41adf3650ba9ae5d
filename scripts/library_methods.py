"""The library's operations as methods of the SDKs. The generators of both SDKs read this table.

A new operation needs no line here, unless its method has another name or an argument that is given by position.
"""

from enum import Enum, auto
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import ListType, StructType

from recollect.operations import FAMILIES, Operation
from recollect.operations.library.requests import FilteredRequest
from recollect.operations.schema import Argument, arguments_of

NAMES = {  # of methods whose name differs from that of the operation
    "continue": "continue_session",
    "put_label": "label",
    "remove_label": "unlabel",
    "write_note": "note",
    "write_event_note": "note_event",
    "export_session": "export",
}
POSITIONAL = {"ask": ("question",), "forget": ("ids",)}  # optional arguments that may be given by position
LEFT_OUT = {"ask": ("query",)}  # arguments that say the same as another one
LIBRARY = FAMILIES["library"].operations


class Returns(Enum):
    """What a method gives."""

    ANSWER = auto()
    PAGES = auto()  # an iterator that fetches page by page
    DOCUMENT = auto()  # a file, which can be saved


class Method(Struct, frozen=True):
    """An operation as a method."""

    name: str
    operation: Operation
    rpc: str
    answer: type[Struct]
    returns: Returns
    items: str  # of pages: the field of the answer that has the items
    item: str  # and their type
    positional: tuple[Argument, ...]
    options: tuple[Argument, ...]
    filters: tuple[Argument, ...]  # the filters of sessions, if it takes them


def methods() -> list[Method]:
    """All generated methods, in the table's order."""
    return [_method(operation) for operation in LIBRARY]


def filters() -> list[Argument]:
    """The filters of sessions, without the query, which methods take by position."""
    return [argument for name, argument in arguments_of(FilteredRequest).items() if name != "query"]


def special_filters(method: Method) -> list[Argument]:
    """The filters that mean something else in this method."""
    common = {one.name: one.description for one in filters()}
    return [one for one in method.filters if one.description != common[one.name]]


def _method(operation: Operation) -> Method:
    name = operation.name.removeprefix("library_")
    name = NAMES.get(name, name)
    arguments = {key: one for key, one in arguments_of(operation.request).items() if not one.extra.get("is_hidden")}
    for left_out in LEFT_OUT.get(name, ()):
        del arguments[left_out]
    own_filters = (
        tuple(arguments.pop(one.name) for one in filters()) if issubclass(operation.request, FilteredRequest) else ()
    )
    answer = operation.answer
    if answer is None:
        raise ValueError(f"{operation.name} does not declare its answer")
    returns = _returns(operation, arguments)
    if returns is Returns.PAGES and operation.file_types:
        del arguments["format"]  # a file cannot be fetched page by page
    items, item = _items(answer) if returns is Returns.PAGES else ("", "")
    first = POSITIONAL.get(name, ("query",))
    required = [one for one in arguments.values() if one.is_required]
    positional = required or [one for one in arguments.values() if one.name in first]
    options = tuple(one for one in arguments.values() if one not in positional)
    return Method(
        name, operation, operation.routes[0].rpc, answer, returns, items, item, tuple(positional), options, own_filters
    )


def _returns(operation: Operation, arguments: dict[str, Argument]) -> Returns:
    if "cursor" in arguments:
        return Returns.PAGES
    return Returns.DOCUMENT if operation.file_types else Returns.ANSWER


def _items(answer: type[Struct]) -> tuple[str, str]:
    """The first list of objects in an answer: its field, and the type of its items."""
    declared: Any = msgspec.inspect.type_info(answer)
    for field in declared.fields:
        match field.type:
            case ListType(item_type=StructType(cls=item)):
                return field.encode_name, item.__name__
    raise ValueError(f"{answer.__name__} has no list of objects")
