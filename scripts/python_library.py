"""Generate the library's half of the Python client from the table of operations: its results, its methods and all routes.

`make sdk` writes them; a test fails when a file in the repository is out of date.
"""

import keyword
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import library_methods
import msgspec
from library_methods import Method, Returns
from msgspec import NODEFAULT, Struct
from msgspec.inspect import (
    DictType,
    ListType,
    LiteralType,
    NoneType,
    StructType,
    TupleType,
    UnionType,
)

from recollect.operations import OPERATIONS
from recollect.operations.answer_types import field_docs, shapes_in
from recollect.operations.library.requests import FilteredRequest, GetLibrarySession, ListLibrarySessions
from recollect.operations.schema import Argument, arguments_of

FOLDER = Path(__file__).resolve().parent.parent / "src" / "recollect" / "client"
OPEN = "Fields have their JSON names; fields that a newer server adds are ignored."
GENERATED = "# Generated from the table of operations by `make sdk`: do not edit.\n"
BUILTIN_NAMES = "# ruff: noqa: A002 - arguments have the names of the library's requests\n"
PRIMITIVES = {
    "StrType": "str",
    "IntType": "int",
    "FloatType": "float",
    "BoolType": "bool",
    "NoneType": "None",
    "AnyType": "Any",
}
DOC_COLUMNS = 110  # of a docstring's line, which is indented by 8 columns and may begin with three quotes
SESSION_ID = arguments_of(GetLibrarySession)["id"].description
COMMON = (
    SESSION_ID,
    arguments_of(ListLibrarySessions)["cursor"].description,
    arguments_of(FilteredRequest)["query"].description,
)
LINE = "\n"
LINE_IN_CLASS = "\n    "
RUFF = (sys.executable, "-m", "ruff")


def generate() -> dict[Path, str]:
    """The text of every generated file, by path."""
    texts = {
        "library_values.py": _values(),
        "library_results.py": _results(),
        "_library_filters.py": _filters(),
        "_async_library_methods.py": _methods(),
        "_routes.py": _routes(),
    }
    return {FOLDER / name: _format(text) for name, text in texts.items()}


# ---- results


def _values() -> str:
    answers = _answers()
    shapes = [shape for name, shape in shapes_in(answers.values()).items() if name not in answers]
    return f'''{GENERATED}"""The parts of the library's answers. {OPEN}"""

from typing import Any
from msgspec import Struct, field

{"".join(_class(shape, "Struct") for shape in shapes)}'''


def _results() -> str:
    answers = _answers()
    paged = {method.answer for method in library_methods.methods() if method.returns is Returns.PAGES}
    parts = [name for name in shapes_in(answers.values()) if name not in answers]
    bases = {name: "LibraryPage" if shape in paged else "LibraryAnswer" for name, shape in answers.items()}
    return f'''{GENERATED}"""The library's answers. {OPEN}"""

from typing import Any
from msgspec import field
from recollect.client._library_frame import LibraryAnswer, LibraryPage
from recollect.client.library_values import {", ".join(parts)}

{"".join(_class(shape, bases[name]) for name, shape in answers.items())}'''


def _answers() -> dict[str, type[Struct]]:
    """The answers of all operations, each after the answers that are parts of it."""
    answers = {operation.answer for operation in library_methods.LIBRARY if operation.answer is not None}
    ordered = shapes_in(sorted(answers, key=lambda answer: answer.__name__))
    return {name: shape for name, shape in ordered.items() if shape in answers}


def _class(shape: type[Struct], base: str) -> str:
    docs = field_docs(shape)
    lines = [f"class {shape.__name__}({base}, frozen=True, kw_only=True):", f'    """{shape.__doc__}"""', ""]
    declared: Any = msgspec.inspect.type_info(shape)
    for field in declared.fields:
        lines.append(f"    {field.name}: {_type(field.type)}{_default(field)}")
        if field.name in docs:
            lines.append(f'    """{docs[field.name]}"""')
    return "\n".join(lines) + "\n\n\n"


def _type(type_: Any) -> str:
    """The annotation of a field. A server may add words to those of today, so they are texts."""
    match type_:
        case StructType(cls=shape):
            return str(shape.__name__)
        case ListType(item_type=item):
            return f"list[{_type(item)}]"
        case TupleType(item_types=items):
            return f"tuple[{', '.join(_type(item) for item in items)}]"
        case DictType(value_type=value):
            return f"dict[str, {_type(value)}]"
        case UnionType(types=options):
            return " | ".join(dict.fromkeys(_type(option) for option in options))
        case LiteralType():
            return "str"
    return PRIMITIVES[type(type_).__name__]


def _default(field: Any) -> str:
    if field.encode_name != field.name:
        return f' = field(name="{field.encode_name}")'
    if isinstance(field.type, UnionType) and any(isinstance(option, NoneType) for option in field.type.types):
        return " = None"
    if field.default_factory is not NODEFAULT:
        return f" = field(default_factory={field.default_factory.__name__})"
    return f" = {field.default!r}" if field.default is not NODEFAULT else ""


# ---- methods


def _filters() -> str:
    choices = _choices(library_methods.methods()).items()
    return f'''{GENERATED}"""The arguments that several methods of the library take."""

from collections.abc import Sequence
from typing import Literal, TypedDict

Words = str | Sequence[str]
{"".join(f"{name} = Literal[{_quoted(words)}]{LINE}" for name, words in choices)}

class LibraryFilters(TypedDict, total=False):
    """Filters of sessions. Any value of one filter fits; different filters must all fit. A leading `-` leaves out."""

{"".join(_filter(argument) for argument in library_methods.filters())}
'''


def _methods() -> str:
    methods = library_methods.methods()
    shapes = {method.answer.__name__ for method in methods}
    items = {method.item for method in methods if method.item}
    return f'''{GENERATED}{BUILTIN_NAMES}"""The methods of the library, one for each operation."""

from collections.abc import Sequence
from typing import Any, Unpack

from recollect.client._async_pages import AsyncPages, Page
from recollect.client._library_filters import {", ".join(["LibraryFilters", "Words", *_choices(methods)])}
from recollect.client._new_file import FilePath
from recollect.client._transport import Transport
from recollect.client.library_results import {", ".join(sorted(shapes))}
from recollect.client.library_values import {", ".join(sorted(items))}


class AsyncLibraryMethods:
    """The library's operations. A filter is a text or several; lists fetch page after page.

    `id`: {LINE_IN_CLASS.join(textwrap.wrap(SESSION_ID, DOC_COLUMNS))}
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

{"".join(_method(method) for method in methods)}
    def _pages(self, shape: type[Page], items: str, method: str, params: dict[str, Any]) -> AsyncPages[Any, Page]:
        return AsyncPages(self._transport, method, shape, items, params)
'''


def _filter(argument: Argument) -> str:
    return f'    {argument.name}: {_argument_type(argument)}\n    """{argument.description}"""\n'


def _method(method: Method) -> str:
    awaited = "" if method.returns is Returns.PAGES else "async "
    return f'''    {awaited}def {method.name}({_signature(method)}) -> {_returned(method)}:
        """{_docstring(method)}"""
        {_body(method)}

'''


def _signature(method: Method) -> str:
    parameters = ["self", *(_parameter(argument, method) for argument in method.positional)]
    if method.returns is Returns.DOCUMENT:
        parameters.append("to: FilePath | None = None")
    options = [_parameter(argument, method) for argument in method.options]
    parameters += ["*", *options] if options else []
    if method.filters:
        parameters.append("**filters: Unpack[LibraryFilters]")
    return ", ".join(parameters)


def _parameter(argument: Argument, method: Method) -> str:
    name, type_ = _name(argument), _argument_type(argument)
    if argument.is_required:
        return f"{name}: {type_}"
    if method.returns is Returns.DOCUMENT and argument.name == "format":
        return f"{name}: {type_} = {argument.default!r}"  # over HTTP the client describes the document itself
    return f"{name}: {type_} | None = None"


def _argument_type(argument: Argument) -> str:
    schema = argument.schema()
    items = schema.get("items", {})
    kinds = schema.get("type", "string")
    if "enum" in schema:
        return _alias(argument)
    if kinds == "array" and "parse" not in argument.extra:
        return "Sequence[str]"
    if kinds == "array" and "enum" in items:
        return f"{_alias(argument)} | Sequence[{_alias(argument)}]"
    return {"array": "Words", "integer": "int", "boolean": "bool", "number": "float", "string": "str"}[kinds]


def _alias(argument: Argument) -> str:
    """The name of the type of an argument that is one of some words."""
    return argument.name.removesuffix("s").capitalize()


def _choices(methods: Iterable[Method]) -> dict[str, list[str]]:
    """The types of the arguments that are one of some words, and the words of each."""
    choices: dict[str, list[str]] = {}
    for argument in (argument for method in methods for argument in (*method.positional, *method.options)):
        schema = argument.schema()
        words = schema.get("enum") or schema.get("items", {}).get("enum")
        if words and choices.setdefault(_alias(argument), words) != words:
            raise ValueError(f"two arguments {argument.name} take different words")
    return choices


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _name(argument: Argument) -> str:
    return f"{argument.name}_" if keyword.iskeyword(argument.name) else argument.name


def _returned(method: Method) -> str:
    answer = method.answer.__name__
    return f"AsyncPages[{method.item}, {answer}]" if method.returns is Returns.PAGES else answer


def _docstring(method: Method) -> str:
    """What the operation does, and its own arguments. Those of all lists are explained by `LibraryFilters` and the page."""
    lines = [method.operation.description]
    explained = [argument for argument in (*method.positional, *method.options) if argument.description not in COMMON]
    if method.returns is Returns.DOCUMENT:
        lines += ["", "`to` is a file or a folder; without it, the answer's `content` has the document."]
    explained += library_methods.special_filters(method)
    if explained:
        lines += ["", *(f"`{_name(argument)}`: {argument.description}" for argument in explained)]
    wrapped = [part for line in lines for part in textwrap.wrap(line, DOC_COLUMNS) or [""]]
    return "\n        ".join(wrapped).replace("\n        \n", "\n\n") + ("\n        " if len(wrapped) > 1 else "")


def _body(method: Method) -> str:
    arguments = [f'"{argument.name}": {_name(argument)}' for argument in (*method.positional, *method.options)]
    filters = ["**filters"] if method.filters else []
    params = f"{{{', '.join([*arguments, *filters])}}}"
    answer = method.answer.__name__
    if method.returns is Returns.PAGES:
        return f'return self._pages({answer}, "{method.items}", "{method.rpc}", {params})'
    if method.returns is Returns.DOCUMENT:
        return f'return await self._transport.call_document({answer}, "{method.rpc}", {params}, to)'
    return f'return await self._transport.call_library({answer}, "{method.rpc}", {params})'


# ---- routes


def _routes() -> str:
    routes = [route for operation in OPERATIONS.values() for route in operation.routes if route.rpc and route.http]
    rows = "\n".join(f'    "{route.rpc}": "{route.http}",' for route in routes)
    return f'''{GENERATED}"""The HTTP route of each method; a name in braces is a parameter."""

ROUTES = {{
{rows}
}}
'''


def _format(text: str) -> str:
    """Sort the imports, remove unused ones, and wrap the lines."""
    for arguments in (("check", "--quiet", "--fix", "--select", "I,F401"), ("format", "--quiet")):
        command = [*RUFF, *arguments, "--stdin-filename", str(FOLDER / "library_results.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=FOLDER).stdout
    return text


def main(arguments: list[str]) -> int:
    if arguments != ["--write"]:
        print(f"usage: {Path(__file__).name} --write", file=sys.stderr)
        return 2
    for path, text in generate().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
