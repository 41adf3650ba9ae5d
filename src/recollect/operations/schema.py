"""Typed requests: an operation's arguments, declared once.

A request is a msgspec struct. A field's type and its `Meta` limit the argument, its default applies if the argument is
missing, and its description explains it. From this come the JSON schema of the MCP tool, the checks with the family's error
texts, the parameters of REST and JSON-RPC, OpenAPI, options of the command line, the SDKs' types, and docs/reference.md.

`Meta(extra=...)` has what `Meta` cannot express:
  parse       a function (value, field name) -> value, which replaces the check by type
  expected    the error text for a value of another type
  too_long    the error text for a text above `max_length`
  strip       whether blanks around a text are removed before it is checked
  clamps      whether a number above `le` is accepted; the operation lowers it and adds a warning
  is_hidden   whether schemas omit the argument (old names)
"""

import types
from collections.abc import Callable, Mapping
from enum import EnumMeta
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from recollect.errors import BadRequest, RecollectError

JsonSchema = dict[str, Any]

Parse = Callable[[Any, str], Any]

_NAMES = {str: "string", int: "integer", bool: "boolean", float: "number", dict: "object"}


class Request(Struct):
    """The arguments of one operation. The docstring of a subclass is the description that models read."""

    # How a family publishes and checks arguments. A family's base class overrides these if its contract differs.
    publishes_null: ClassVar[bool] = False  # the schema of an optional argument allows null
    publishes_defaults: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True  # the schema has additionalProperties: false; unknown names are refused either way
    always_lists_required: ClassVar[bool] = True  # the schema has `required` even if it is empty
    one_of: ClassVar[str] = "{name} must be one of {choices}"
    too_long: ClassVar[str] = "{name} must be at most {max_length:,} characters"

    @classmethod
    def parse(cls, arguments: Any) -> Self:
        """The request that a caller sent. Null is the same as a missing argument, if the argument is optional.

        Raises the family's own error for an unknown name or a bad value, in the order of the fields.
        """
        if isinstance(arguments, RecollectError):  # why a surface could not read the arguments
            raise arguments
        arguments = {} if arguments is None else arguments
        if not isinstance(arguments, dict):
            raise BadRequest("arguments must be an object")
        fields = arguments_of(cls)
        for name in arguments:
            if name not in fields:
                raise BadRequest(f"unknown argument: {name}", field=name)
        values = {}
        for name, field in fields.items():
            value = arguments.get(name)
            if value is not None or field.is_required:
                values[field.attribute] = field.check(value)
        return cls(**values)


RequestType = TypeVar("RequestType", bound=Request)


class Argument(Struct, frozen=True):
    """One field of a request."""

    name: str
    checked_type: Any  # with its constraints
    bare_type: Any  # without its constraints
    meta: Meta
    default: Any  # NODEFAULT if the argument is required
    request: type[Request]
    attribute: str  # of the request: differs from the name if that is a word of Python

    @property
    def is_required(self) -> bool:
        return self.default is NODEFAULT

    @property
    def extra(self) -> dict[str, Any]:
        return self.meta.extra or {}

    @property
    def description(self) -> str:
        return self.fill_in(self.meta.description or "")

    def fill_in(self, text: str) -> str:
        """Fill the argument's limits and default into a text such as "How many, {ge} to {le}. Default {default}."."""
        limits = {name: getattr(self.meta, name) for name in ("ge", "le", "min_length", "max_length")}
        return text.format(default=self.default, **limits)

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed words; empty if any text is allowed."""
        return _choices(self.bare_type)

    # ---- checking

    def check(self, value: Any) -> Any:
        """The value for the operation. Raises the family's error for a bad value."""
        parse: Parse | None = self.extra.get("parse")
        if parse is not None:
            return parse(value, self.name)
        if self.extra.get("strip") and isinstance(value, str):
            value = value.strip()
        try:
            return msgspec.convert(value, self.checked_type)
        except msgspec.ValidationError:
            raise BadRequest(self._problem(value), field=self.name) from None

    def _problem(self, value: Any) -> str:
        if isinstance(value, str) and self.meta.max_length is not None and len(value) > self.meta.max_length:
            template = self.extra.get("too_long", self.request.too_long)
            return str(template.format(name=self.name, max_length=self.meta.max_length))
        return str(self.extra.get("expected") or self._expectation())

    def _expectation(self) -> str:
        name, kind, meta = self.name, _outer_type(self.bare_type), self.meta
        if self.choices and kind is str:
            return self.request.one_of.format(name=name, choices=", ".join(self.choices))
        if kind is int and meta.le is not None:
            return f"{name} must be an integer from {meta.ge} to {meta.le}"
        if kind is int:
            return f"{name} must be an integer, {meta.ge} or more" if meta.ge is not None else f"{name} must be an integer"
        if kind is bool:
            return f"{name} must be true or false"
        if kind is list:
            return f"{name} must be an array of non-empty strings"
        if kind is dict:
            return f"{name} must be an object"
        return f"{name} must be a non-empty string" if meta.min_length or meta.pattern else f"{name} must be a string"

    # ---- publishing

    def schema(self) -> JsonSchema:
        """The argument's JSON schema. Lengths of texts are published only if `extra_json_schema` has them."""
        schema = _schema(self.bare_type)
        if self.request.publishes_null and not self.is_required:
            schema = _or_null(schema)
        bounds = {"minimum": self.meta.ge, "maximum": self.meta.le}
        if _outer_type(self.bare_type) is list:
            bounds = {"minItems": self.meta.min_length, "maxItems": self.meta.max_length}
        schema |= {name: value for name, value in bounds.items() if value is not None}
        if self.request.publishes_defaults and not self.is_required and self.default not in (None, "", (), {}):
            schema["default"] = self.default
        schema |= self.meta.extra_json_schema or {}
        return {**schema, "description": self.description} if self.meta.description else schema


@cache
def arguments_of(request: type[Request]) -> Mapping[str, Argument]:
    """The arguments of a request by name, in the order of the fields."""
    arguments = {}
    for field in msgspec.structs.fields(request):
        bare, meta = _split(field.type)
        default = field.default_factory() if field.default_factory is not NODEFAULT else field.default
        limits = _limits(meta)
        checked = Annotated[_without_null(bare), limits] if limits is not None else bare  # null means absent
        name = field.encode_name
        arguments[name] = Argument(name, checked, bare, meta, default, request, field.name)
    return arguments


@cache
def schema_of(request: type[Request]) -> JsonSchema:
    """The JSON schema of a request."""
    shown = {name: field for name, field in arguments_of(request).items() if not field.extra.get("is_hidden")}
    required = [name for name, field in shown.items() if field.is_required]
    schema: JsonSchema = {"type": "object", "properties": {name: field.schema() for name, field in shown.items()}}
    if required or request.always_lists_required:
        schema["required"] = required
    if request.is_closed:
        schema["additionalProperties"] = False
    return schema


def description_of(request: type[Request]) -> str:
    """The description of an operation for models: the docstring of its request in one paragraph."""
    return " ".join((request.__doc__ or "").split())


def _split(annotation: Any) -> tuple[Any, Meta]:
    """A type without its constraints, and its constraints."""
    if get_origin(annotation) is Annotated:
        bare, *annotations = get_args(annotation)
        return bare, next((meta for meta in annotations if isinstance(meta, Meta)), Meta())
    return annotation, Meta()


def _without_null(kind: Any) -> Any:
    """A type without null, if one type remains."""
    parts = [part for part in get_args(kind) if part is not types.NoneType]
    is_optional = get_origin(kind) in (Union, types.UnionType) and len(parts) == 1
    return parts[0] if is_optional else kind


def _limits(meta: Meta) -> Meta | None:
    """The constraints that a value must meet; None if there are none."""
    limits: dict[str, Any] = {name: getattr(meta, name) for name in ("ge", "le", "min_length", "max_length", "pattern")}
    if (meta.extra or {}).get("clamps"):
        limits["le"] = None
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    return Meta(**limits) if limits else None


def _schema(kind: Any) -> JsonSchema:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not types.NoneType]
        return _schema(parts[0]) if len(parts) == 1 else _any_of([_schema(part) for part in parts])
    if choices := _choices(kind):
        return {"type": "string", "enum": list(choices)}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(get_args(kind)[0])}
    if origin is dict:
        value = get_args(kind)[1]
        return {"type": "object", **({"additionalProperties": _schema(value)} if value is not Any else {})}
    return {"type": _NAMES[kind]} if kind in _NAMES else {}


def _any_of(schemas: list[JsonSchema]) -> JsonSchema:
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _or_null(schema: JsonSchema) -> JsonSchema:
    if "type" not in schema:
        return schema
    nullable = {**schema, "type": [schema["type"], "null"]}
    return {**nullable, "enum": [*schema["enum"], None]} if "enum" in schema else nullable


def _choices(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, EnumMeta):
        return tuple(kind.__members__[name].value for name in kind.__members__)
    if get_origin(kind) in (Union, types.UnionType):
        return next((choices for part in get_args(kind) if (choices := _choices(part))), ())
    return ()


def _outer_type(kind: Any) -> Any:
    """`str`, `int`, `bool`, `list` or `dict`: a type without its item types and without null."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if _choices(kind):
        return str
    origin = get_origin(kind) or kind
    return list if origin is tuple else origin
