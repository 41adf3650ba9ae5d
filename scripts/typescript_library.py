"""Generate the library's methods of the TypeScript SDK from the table of operations.

`make sdk` writes them; a test fails when the file in the repository is out of date.
"""

import re
import sys
from pathlib import Path

import library_methods
from library_methods import Method, Returns

from recollect.operations.schema import Argument

PATH = Path(__file__).resolve().parent.parent / "sdk" / "typescript" / "src" / "library-methods.ts"
HEADER = """\
// generated, do not edit: `make sdk` writes this file from the table of operations

/** The library's methods, one for each operation. */

"""
PRIMITIVES = {"integer": "number", "boolean": "boolean", "number": "number", "string": "string"}
WORDS = "Words"


def generate() -> str:
    methods = library_methods.methods()
    types = sorted({method.answer.__name__ for method in methods} | {method.item for method in methods if method.item})
    imports = "\n".join(f"  {name}," for name in types)
    return f"""{HEADER}import type {{
{imports}
}} from "./operations.js";
import {{ callLibrary, fetchDocument, type LibraryAnswer }} from "./library-frame.js";
import {{ Pages }} from "./pages.js";
import type {{ Transport }} from "./transport.js";

/** One text, or several. */
export type Words = string | readonly string[];

/** Filters of sessions. Any value of one filter fits; different filters must all fit. A leading `-` leaves out. */
export interface LibraryFilters {{
{"".join(_field(argument) for argument in library_methods.filters())}}}

{"".join(_options(method) for method in methods)}/** The library's operations. */
export class LibraryMethods {{
  /** @internal */
  protected readonly transport: Transport;

  /** @internal `Client` creates it. */
  constructor(transport: Transport) {{
    this.transport = transport;
  }}
{"".join(_method(method) for method in methods)}}}
"""


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda part: part[1].upper(), name)


def _optional(method: Method) -> list[Argument]:
    """The arguments of the options object: those that are not required, except the first of some methods."""
    own = [] if method.name in library_methods.POSITIONAL else list(method.positional)
    return [argument for argument in (*own, *method.options) if not argument.is_required]


def _positional(method: Method) -> list[Argument]:
    return [argument for argument in method.positional if argument not in _optional(method)]


def _options_name(method: Method) -> str:
    name = camel(method.name)
    return f"Library{name[0].upper()}{name[1:]}Options"


def _options(method: Method) -> str:
    if not _has_options(method):
        return ""
    fields = [_field(argument) for argument in _optional(method)]
    if method.returns is Returns.DOCUMENT:
        fields.append("  /** A file or a folder. Without it, the answer's `content` has the document. */\n  to?: string;\n")
    special = [f" * `{argument.name}`: {argument.description}\n" for argument in library_methods.special_filters(method)]
    about = f"/**\n * Options of `{camel(method.name)}`.\n{''.join(special)} */\n" if special else ""
    extends = " extends LibraryFilters" if method.filters else ""
    return f"{about}export interface {_options_name(method)}{extends} {{\n{''.join(fields)}}}\n\n"


def _has_options(method: Method) -> bool:
    return bool(_optional(method) or method.filters or method.returns is Returns.DOCUMENT)


def _field(argument: Argument) -> str:
    comment = f"  /** {argument.description.replace('*/', '* /')} */\n" if argument.description else ""
    return f"{comment}  {camel(argument.name)}?: {_type(argument)};\n"


def _type(argument: Argument) -> str:
    schema = argument.schema()
    words = schema.get("enum")
    if words:
        return " | ".join(f'"{word}"' for word in words)
    items = schema.get("items", {}).get("enum")
    if items:
        union = " | ".join(f'"{word}"' for word in items)
        return f"{union} | readonly ({union})[]"
    if schema.get("type") == "array":
        return WORDS if "parse" in argument.extra else "readonly string[]"
    return PRIMITIVES[schema.get("type", "string")]


def _method(method: Method) -> str:
    positional = _positional(method)
    parameters = [f"{camel(one.name)}{'' if one.is_required else '?'}: {_type(one)}" for one in positional]
    if _has_options(method):
        parameters.append(f"options: {_options_name(method)} = {{}}")
    named = [camel(one.name) for one in positional]
    params = f"{{ {', '.join([*named, *(['...options'] if _has_options(method) else [])])} }}"
    params = {"{ ...options }": "options", "{  }": "{}"}.get(params, params)
    answer = method.answer.__name__
    match method.returns:
        case Returns.PAGES:
            returned = f"Pages<{method.item}, {answer}>"
            call = f'new Pages(this.transport, "{method.rpc}", "{method.items}", {params})'
        case Returns.DOCUMENT:
            returned = f"Promise<LibraryAnswer<{answer}>>"
            call = f'fetchDocument(this.transport, "{method.rpc}", {params})'
        case _:
            returned = f"Promise<LibraryAnswer<{answer}>>"
            call = f'callLibrary(this.transport, "{method.rpc}", {params})'
    return f"""
  /** {method.operation.description} */
  {camel(method.name)}({", ".join(parameters)}): {returned} {{
    return {call};
  }}
"""


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        PATH.write_text(generate(), encoding="utf-8")
        return 0
    if arguments:
        print(f"usage: {Path(__file__).name} [--write]", file=sys.stderr)
        return 2
    print(generate(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
