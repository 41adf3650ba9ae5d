"""Types of the TypeScript SDK, made from the table of operations: what one can ask, and what one is answered.

`make sdk` writes them; a test fails when the file in the repository is not what the table says now.
"""

import json
import sys
from pathlib import Path
from typing import Any

from recollect.operations import OPERATIONS, Operation, Route

PATH = Path(__file__).resolve().parent.parent / "sdk" / "typescript" / "src" / "operations.ts"
HEADER = """\
// generated, do not edit: `make sdk` writes this file from the table of operations

/** A JSON object of which nothing more is known. */
export type JsonObject = { [name: string]: unknown };
"""
OBJECT = "JsonObject"
KNOWN = {  # words of a schema that make a type, and those that no type can say: what is in neither is not passed over
    *("type", "properties", "required", "items", "additionalProperties", "enum", "anyOf", "description", "default"),
    *("format", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"),
}
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
INDENT = "  "

Schema = dict[str, Any]


# ---- a schema as a type


def type_of(schema: Schema, depth: int = 0) -> str:
    """The TypeScript type of what a JSON schema allows, for a line that is indented this deep."""
    if unknown := schema.keys() - KNOWN:
        raise ValueError(f"no type is known for {', '.join(sorted(unknown))} in {schema}")
    if "anyOf" in schema:
        return _union(type_of(one, depth) for one in schema["anyOf"])
    if "enum" in schema:
        return _union(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if isinstance(schema.get("type"), list):
        return _union(type_of({**schema, "type": one}, depth) for one in schema["type"])
    match schema.get("type"):
        case "array":
            return _array(schema.get("items", {}), depth)
        case "object":
            return _object(schema, depth)
        case str(name):
            return PLAIN[name]
    return "unknown"


def _union(types: Any) -> str:
    return " | ".join(dict.fromkeys(types))


def _array(items: Schema, depth: int) -> str:
    is_union = "anyOf" in items or "enum" in items or isinstance(items.get("type"), list)
    return f"({type_of(items, depth)})[]" if is_union else f"{type_of(items, depth)}[]"


def _object(schema: Schema, depth: int) -> str:
    if _names(schema):
        return _braces(schema, depth)
    if isinstance(more := schema.get("additionalProperties"), dict):
        return f"{{ [name: string]: {type_of(more, depth)} }}"
    return "Record<string, never>" if more is False else OBJECT


def _braces(schema: Schema, depth: int) -> str:
    """The body of an interface. What an answer has beyond its schema is there at run time, and no promise."""
    inside = INDENT * (depth + 1)
    lines = []
    for name, of in _names(schema).items():
        if comment := _said(of):
            lines.append(f"{inside}{comment}")
        mark = "" if name in schema.get("required", ()) else "?"
        lines.append(f"{inside}{_key(name)}{mark}: {type_of(of, depth + 1)};")
    return "\n".join(["{", *lines, f"{INDENT * depth}}}"])


def _names(schema: Schema) -> dict[str, Schema]:
    """What an object has; of what it must have without our being told more, at least that."""
    told: dict[str, Schema] = schema.get("properties", {})
    return told | {name: {} for name in schema.get("required", ()) if name not in told}


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _said(schema: Schema) -> str:
    """What the schema says in words, and what no type can say."""
    said = [str(schema["description"]).rstrip(".") + "."] if "description" in schema else []
    if "default" in schema:
        said.append(f"Default {json.dumps(schema['default'])}.")
    return _comment(" ".join(said)) if said else ""


def _comment(words: str) -> str:
    return f"/** {words.replace('*/', '* /')} */"


# ---- the file


def pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _declared(name: str, schema: Schema, words: str) -> str:
    if schema.get("type") == "object" and _names(schema):
        return f"{_comment(words)}\nexport interface {name} {_braces(schema, 0)}\n"
    return f"{_comment(words)}\nexport type {name} = {type_of(schema)};\n"


def _answer(operation: Operation) -> Schema:
    return operation.answer_schema or operation.output_schema or {"type": "object"}


def _operation(operation: Operation) -> str:
    name = pascal(operation.name)
    request = _declared(f"{name}Request", operation.input_schema, operation.description)
    answer = _declared(f"{name}Answer", _answer(operation), f"What `{operation.name}` answers.")
    return f"{request}\n{answer}"


def _pair(operation: Operation, implied: tuple[str, ...] = ()) -> str:
    """A request and its answer; the request without the arguments that its name stands for."""
    name = pascal(operation.name)
    omitted = _union(json.dumps(argument) for argument in implied)
    request = f"Omit<{name}Request, {omitted}>" if implied else f"{name}Request"
    return f"[{request}, {name}Answer]"


def _table(name: str, words: str, rows: dict[str, str]) -> str:
    lines = [f"{INDENT}{_key(key)}: {value};" for key, value in rows.items()]
    return "\n".join([_comment(words), f"export interface {name} {{", *lines, "}\n"])


def _routes(routes: list[tuple[Operation, Route]]) -> str:
    rows = [f"{INDENT}{json.dumps(route.rpc)}: {json.dumps(route.http)}," for _, route in routes]
    comment = "/** Where each method is found over HTTP; a name in braces is an argument. */"
    return "\n".join([comment, "export const ROUTES: Readonly<Record<Method, string>> = {", *rows, "};\n"])


def made() -> str:
    operations = list(OPERATIONS.values())
    routes = [(one, route) for one in operations for route in one.routes if route.rpc]
    methods = {route.rpc: _pair(one, tuple(route.implied_arguments)) for one, route in routes}
    tools = {one.name: _pair(one) for one in operations if one.is_tool}
    parts = [
        HEADER,
        *(_operation(one) for one in operations),
        _table("Methods", "JSON-RPC methods: what each takes and answers.", methods),
        "/** The name of a JSON-RPC method. */\nexport type Method = keyof Methods;\n",
        _table("Tools", "Tools: what each takes, and its structured answer.", tools),
        "/** The name of a tool. */\nexport type ToolName = keyof Tools;\n",
        _routes(routes),
    ]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        PATH.write_text(made(), encoding="utf-8")
        return 0
    if arguments:
        print(f"usage: {Path(__file__).name} [--write]", file=sys.stderr)
        return 2
    print(made(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
