"""Builds the JSON schemas of answers from common types and objects."""

from typing import Any

from recollect.operations.schema import JsonSchema

TEXT: JsonSchema = {"type": "string"}
TEXT_OR_NULL: JsonSchema = {"type": ["string", "null"]}
UUID: JsonSchema = {"type": "string", "format": "uuid"}
TIME: JsonSchema = {"type": "string", "format": "date-time"}
COUNT: JsonSchema = {"type": "integer", "minimum": 0}
FLAG: JsonSchema = {"type": "boolean"}
OBJECT: JsonSchema = {"type": "object"}


def array_of(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


def object_of(**properties: Any) -> JsonSchema:
    """An object that has all of these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def optional_object(**properties: Any) -> JsonSchema:
    """An object that may have these properties."""
    return {"type": "object", "properties": properties}


def with_optional(schema: JsonSchema, **properties: Any) -> JsonSchema:
    """The schema of an object, which may also have these properties."""
    return {**schema, "properties": {**schema["properties"], **properties}}
