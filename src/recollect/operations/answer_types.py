"""Answers that are declared as types: their JSON schemas, and the sentences that explain their fields."""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import DictType, ListType, StructType, TupleType, UnionType, VarTupleType

from recollect.operations.schema import JsonSchema

COMPONENT = "#/components/schemas/{name}"  # where OpenAPI has schemas that are used more than once

Shape = type[Struct]


def reference_to(shape: Shape) -> JsonSchema:
    """A reference to the schema of a shape in `components_of`."""
    return {"$ref": COMPONENT.format(name=shape.__name__)}


def components_of(answers: Iterable[Shape]) -> dict[str, JsonSchema]:
    """The schemas of answers, and of all shapes inside them, by name."""
    shapes = shapes_in(answers)
    _, components = msgspec.json.schema_components(shapes.values(), ref_template=COMPONENT)
    return {name: _component(shape, components[name]) for name, shape in shapes.items()}


def shapes_in(answers: Iterable[Shape]) -> dict[str, Shape]:
    """The answers and all shapes inside them, by name: the parts of a shape come before it."""
    found: dict[str, Shape] = {}
    for answer in answers:
        for shape in _shapes(msgspec.inspect.type_info(answer)):
            if found.setdefault(shape.__name__, shape) is not shape:
                raise ValueError(f"two shapes of answers have the name {shape.__name__}")
    return found


def field_docs(shape: Shape) -> dict[str, str]:
    """The sentences below the fields of a shape and of its bases, by field."""
    docs: dict[str, str] = {}
    for kind in reversed(shape.__mro__):
        if issubclass(kind, Struct) and kind is not Struct:
            docs |= _own_docs(kind)
    return docs


def _shapes(type_: Any) -> Iterator[Shape]:
    match type_:
        case StructType(cls=shape, fields=fields):
            for field in fields:
                yield from _shapes(field.type)
            yield shape
        case ListType(item_type=inner) | VarTupleType(item_type=inner) | DictType(value_type=inner):
            yield from _shapes(inner)
        case UnionType(types=parts) | TupleType(item_types=parts):
            for part in parts:
                yield from _shapes(part)


def _component(shape: Shape, schema: JsonSchema) -> JsonSchema:
    """A schema as callers see it: an answer has all its fields, unless the shape leaves defaults out."""
    docs = field_docs(shape)
    names = {field.name: field.encode_name for field in msgspec.structs.fields(shape)}
    properties = {name: dict(part) for name, part in schema["properties"].items()}
    for name, text in docs.items():
        properties[names[name]]["description"] = text
    required = schema["required"]
    if not shape.__struct_config__.omit_defaults:
        required = [*properties]
        for part in properties.values():
            part.pop("default", None)
    described = {"description": schema["description"]} if "description" in schema else {}
    return {"type": "object", **described, "properties": properties, "required": required}


def _own_docs(shape: type[Any]) -> dict[str, str]:
    declared = _classes(shape.__module__).get(shape.__name__, [])
    docs = {}
    for field, below in pairwise(declared):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            match below.value:
                case ast.Constant(value=str(text)):
                    docs[field.target.id] = " ".join(text.split())
    return docs


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """The bodies of the classes of a module; none if it is installed without its source."""
    try:
        source = inspect.getsource(sys.modules[module])
    except OSError:
        return {}
    return {node.name: node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
