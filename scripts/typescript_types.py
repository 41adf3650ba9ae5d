"""Generate the TypeScript SDK's types of requests and responses from the table of operations.

`make sdk` writes them; a test fails when the file in the repository is out of date.
"""

import json
import sys
from pathlib import Path
from typing import Any

from recollect.operations import OPERATIONS, Operation, Route, answer_components

PATH = Path(__file__).resolve().parent.parent / "sdk" / "typescript" / "src" / "operations.ts"
HEADER = """\
// generated, do not edit: `make sdk` writes this file from the table of operations

/** A JSON object with any fields. */
export type JsonObject = { [name: string]: unknown };
"""
OBJECT = "JsonObject"
KNOWN = {  # schema keywords that become types, and those that no type can express; any other keyword is an error
    *("type", "properties", "required", "items", "additionalProperties", "enum", "anyOf", "description", "default"),
    *("format", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern", "$ref", "prefixItems"),
}
PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
INDENT = "  "

Schema = dict[str, Any]


# ---- types


def type_of(schema: Schema, depth: int = 0) -> str:
    """The TypeScript type for a JSON schema, on a line with this depth of indentation."""
    if unknown := schema.keys() - KNOWN:
        raise ValueError(f"cannot make a type for {', '.join(sorted(unknown))} in {schema}")
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return _union(type_of(option, depth) for option in schema["anyOf"])
    if "enum" in schema:
        return _union(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if isinstance(schema.get("type"), list):
        return _union(type_of({**schema, "type": kind}, depth) for kind in schema["type"])
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"[{', '.join(type_of(item, depth) for item in schema['prefixItems'])}]"
        case "array":
            return _array(schema.get("items", {}), depth)
        case "object":
            return _object(schema, depth)
        case str(name):
            return PRIMITIVES[name]
    return "unknown"


def _union(types: Any) -> str:
    return " | ".join(dict.fromkeys(types))


def _array(items: Schema, depth: int) -> str:
    is_union = "anyOf" in items or "enum" in items or isinstance(items.get("type"), list)
    return f"({type_of(items, depth)})[]" if is_union else f"{type_of(items, depth)}[]"


def _object(schema: Schema, depth: int) -> str:
    if _fields(schema):
        return _braces(schema, depth)
    if isinstance(extra := schema.get("additionalProperties"), dict):
        return f"{{ [name: string]: {type_of(extra, depth)} }}"
    return "Record<string, never>" if extra is False else OBJECT


def _braces(schema: Schema, depth: int) -> str:
    """The body of an interface. A response may have more fields than its schema; they are not declared."""
    indent = INDENT * (depth + 1)
    lines = []
    for name, field in _fields(schema).items():
        if comment := _field_comment(field):
            lines.append(f"{indent}{comment}")
        mark = "" if name in schema.get("required", ()) else "?"
        lines.append(f"{indent}{_key(name)}{mark}: {type_of(field, depth + 1)};")
    return "\n".join(["{", *lines, f"{INDENT * depth}}}"])


def _fields(schema: Schema) -> dict[str, Schema]:
    """The fields of an object. A required field without a schema has an unknown type."""
    declared: dict[str, Schema] = schema.get("properties", {})
    return declared | {name: {} for name in schema.get("required", ()) if name not in declared}


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _field_comment(schema: Schema) -> str:
    """The description of a field, and its default, which a type cannot express."""
    parts = [str(schema["description"]).rstrip(".") + "."] if "description" in schema else []
    if "default" in schema:
        parts.append(f"Default {json.dumps(schema['default'])}.")
    return _comment(" ".join(parts)) if parts else ""


def _comment(text: str) -> str:
    return f"/** {text.replace('*/', '* /')} */"


# ---- the file


def pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _declaration(name: str, schema: Schema, comment: str) -> str:
    if schema.get("type") == "object" and _fields(schema):
        return f"{_comment(comment)}\nexport interface {name} {_braces(schema, 0)}\n"
    return f"{_comment(comment)}\nexport type {name} = {type_of(schema)};\n"


def _operation(operation: Operation) -> str:
    name = pascal(operation.name)
    request = _declaration(f"{name}Request", operation.input_schema, operation.description)
    response = _declaration(f"{name}Answer", operation.response_schema, f"The response of `{operation.name}`.")
    return f"{request}\n{response}"


def _pair(operation: Operation, implied: tuple[str, ...] = ()) -> str:
    """The types of a request and its response. The request lacks the arguments that the method implies."""
    name = pascal(operation.name)
    omitted = _union(json.dumps(argument) for argument in implied)
    request = f"Omit<{name}Request, {omitted}>" if implied else f"{name}Request"
    return f"[{request}, {name}Answer]"


def _table(name: str, comment: str, rows: dict[str, str]) -> str:
    lines = [f"{INDENT}{_key(key)}: {value};" for key, value in rows.items()]
    return "\n".join([_comment(comment), f"export interface {name} {{", *lines, "}\n"])


def _routes(routes: list[tuple[Operation, Route]]) -> str:
    rows = [f"{INDENT}{json.dumps(route.rpc)}: {json.dumps(route.http)}," for _, route in routes]
    comment = "/** The HTTP route of each method; a name in braces is a parameter. */"
    return "\n".join([comment, "export const ROUTES: Readonly<Record<Method, string>> = {", *rows, "};\n"])


def generate() -> str:
    operations = list(OPERATIONS.values())
    routes = [(operation, route) for operation in operations for route in operation.routes if route.rpc]
    methods = {route.rpc: _pair(operation, tuple(route.implied_arguments)) for operation, route in routes}
    tools = {operation.name: _pair(operation) for operation in operations if operation.is_tool}
    components = answer_components().items()
    parts = [
        HEADER,
        *(_declaration(name, schema, schema.get("description", name)) for name, schema in components),
        *(_operation(operation) for operation in operations),
        _table("Methods", "JSON-RPC methods: parameters and response of each.", methods),
        "/** The name of a JSON-RPC method. */\nexport type Method = keyof Methods;\n",
        _table("Tools", "Tools: arguments and structured result of each.", tools),
        "/** The name of a tool. */\nexport type ToolName = keyof Tools;\n",
        _routes(routes),
    ]
    return "\n".join(parts)


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
