"""Typed requests: an operation's arguments, declared once.

A request is a msgspec struct. A field's type and its `Meta` say what the argument may be, its default what is meant without
it, its description what to write there. From this come the JSON schema of the MCP tool, the checks with the family's error
texts, the parameters of REST and JSON-RPC, OpenAPI, options of the command line, the SDKs' types, and docs/reference.md.

What `Meta` cannot say stands in `Meta(extra=...)`:
  parse       a function (value, field name) -> value, in place of the check by type
  expected    the error text for a value of another type
  too_long    the error text for a text above `max_length`
  strip       whether blanks around a text are removed before it is checked
  clamps      whether a number above `le` is accepted; the operation lowers it and says so
  is_hidden   whether schemas leave the argument out (old names)
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

    # How the family publishes and refuses arguments; a family's base class overrides what its contract has otherwise.
    publishes_null: ClassVar[bool] = False  # optional arguments are typed as "or null"
    publishes_defaults: ClassVar[bool] = True
    is_closed: ClassVar[bool] = True  # the schema says additionalProperties: false; unknown names are refused either way
    always_lists_required: ClassVar[bool] = True  # also where nothing is required
    one_of: ClassVar[str] = "{name} must be one of {choices}"
    too_long: ClassVar[str] = "{name} must be at most {max_length:,} characters"

    @classmethod
    def parse(cls, arguments: Any) -> Self:
        """The request that a caller sent. Null means the same as leaving an optional argument out.

        Raises the family's own error for an unknown name or a bad value, in the order of the fields.
        """
        if isinstance(arguments, RecollectError):  # a surface could not read the arguments, and says why
            raise arguments
        given = {} if arguments is None else arguments
        if not isinstance(given, dict):
            raise BadRequest("arguments must be an object")
        fields = arguments_of(cls)
        for name in given:
            if name not in fields:
                raise BadRequest(f"unknown argument: {name}", field=name)
        values = {}
        for name, field in fields.items():
            value = given.get(name)
            if value is not None or field.is_required:
                values[name] = field.check(value)
        return cls(**values)


RequestType = TypeVar("RequestType", bound=Request)


class Argument(Struct, frozen=True):
    """One field of a request."""

    name: str
    checked_type: Any  # with its constraints
    bare_type: Any  # without them
    meta: Meta
    default: Any  # NODEFAULT where the argument is required
    request: type[Request]

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
        """A text with the argument's own limits and default in it: "How many, {ge} to {le}. Default {default}."."""
        limits = {name: getattr(self.meta, name) for name in ("ge", "le", "min_length", "max_length")}
        return text.format(default=self.default, **limits)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that are allowed, where only some are."""
        return _choices(self.bare_type)

    # ---- checking

    def check(self, value: Any) -> Any:
        """The value as the operation gets it."""
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
        return str(self.extra.get("expected") or f"{self._expectation()}")

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
        """The argument's JSON schema. Lengths of texts are published only where `extra_json_schema` says so."""
        found = _schema(self.bare_type)
        if self.request.publishes_null and not self.is_required:
            found = _or_null(found)
        bounds = {"minimum": self.meta.ge, "maximum": self.meta.le}
        if _outer_type(self.bare_type) is list:
            bounds = {"minItems": self.meta.min_length, "maxItems": self.meta.max_length}
        found |= {name: value for name, value in bounds.items() if value is not None}
        if self.request.publishes_defaults and not self.is_required and self.default not in (None, "", (), {}):
            found["default"] = self.default
        found |= self.meta.extra_json_schema or {}
        return {**found, "description": self.description} if self.meta.description else found


@cache
def arguments_of(request: type[Request]) -> Mapping[str, Argument]:
    """The fields of a request by name, in their order."""
    found = {}
    for field in msgspec.structs.fields(request):
        bare, meta = _split(field.type)
        default = field.default_factory() if field.default_factory is not NODEFAULT else field.default
        checked = Annotated[bare, _checked(meta)] if _checked(meta) is not None else bare
        found[field.name] = Argument(field.name, checked, bare, meta, default, request)
    return found


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
    """What models read about the operation: the docstring of its request in one paragraph."""
    return " ".join((request.__doc__ or "").split())


def _split(annotation: Any) -> tuple[Any, Meta]:
    """A type without its constraints, and these."""
    if get_origin(annotation) is Annotated:
        bare, *more = get_args(annotation)
        return bare, next((one for one in more if isinstance(one, Meta)), Meta())
    return annotation, Meta()


def _checked(meta: Meta) -> Meta | None:
    """The constraints that a value must meet; None where there are none."""
    limits: dict[str, Any] = {name: getattr(meta, name) for name in ("ge", "le", "min_length", "max_length", "pattern")}
    if (meta.extra or {}).get("clamps"):
        limits["le"] = None
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return Meta(**given) if given else None


def _schema(kind: Any) -> JsonSchema:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        parts = [part for part in get_args(kind) if part is not types.NoneType]
        return _schema(parts[0]) if len(parts) == 1 else _any_of([_schema(part) for part in parts])
    if words := _choices(kind):
        return {"type": "string", "enum": list(words)}
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
        return next((words for part in get_args(kind) if (words := _choices(part))), ())
    return ()


def _outer_type(kind: Any) -> Any:
    """`str`, `int`, `bool`, `list` or `dict`, whatever stands inside or beside it."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if _choices(kind):
        return str
    origin = get_origin(kind) or kind
    return list if origin is tuple else origin
