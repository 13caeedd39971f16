"""Attributes as the API spells them: ``{"value": 100, "type": "timeval", "unit": "ns"}``, nested as in a configuration.

Types, units, bounds and the rules of a patch: scala-computing/docs, models/scala-uet-nic/configuration ("Setting
attributes through the platform") and api-changelog (bounds carry units, defaults are text).
"""

from __future__ import annotations

import re
import typing
from collections.abc import Mapping
from typing import Any

import annotated_types
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from distsim.config.names import models_in
from distsim.config.overrides import deep_merge, plain
from distsim.quantities import RATE, SIZE, TIME, Unit
from distsim.server.errors import ApiError

DIMENSIONAL = {TIME.kind: "timeval", SIZE.kind: "bytes", RATE.kind: "datarate"}
_QUANTITY = re.compile(r"([\d.eE+-]+)([A-Za-z]+)")
LEAF_KEYS = {"value", "type", "unit", "default", "description", "min", "max", "enum", "readonly", "acts"}


def typed(model: type[BaseModel], values: Mapping[str, Any] | None = None, described: bool = False) -> dict[str, Any]:
    """The attributes of a model. values : as plain data (`plain`), defaults for None. described : with description,
    default, min, max, enum and `acts` (what setting it does, see distsim/config/fields.py), as a component's schema."""
    given = plain(model()) if values is None else values
    defaults = plain(model()) if described else {}
    found: dict[str, Any] = {}
    for name, field in _fields(model).items():
        below = _section(field)
        if below is not None:
            found[name] = typed(below, given[name], described)
        else:
            leaf = _leaf(field, given[name])
            found[name] = leaf | _described(field, defaults[name]) if described else leaf
    return found


def merged(model: type[BaseModel], section: Any, patch: Any) -> dict[str, Any]:
    """A configuration's section (what is given of it) with a patch of typed attributes on top, as plain data.

    400 for an empty patch, a key that the model has not, another type, a section where an attribute is expected or the
    reverse, and for values that the model refuses.
    """
    if not isinstance(patch, dict) or not patch:
        raise ApiError(400, "the patch is empty; send an object with the attributes to change")
    change = _untyped(model, patch, ())
    result = deep_merge(section if isinstance(section, dict) else {}, change)
    try:
        model.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ApiError(400, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return result


def _untyped(model: type[BaseModel], patch: Any, place: tuple[str, ...]) -> dict[str, Any]:
    fields = _fields(model)
    found: dict[str, Any] = {}
    for name, value in patch.items():
        where = (*place, name)
        if name not in fields:
            raise ApiError(400, f"{'.'.join(where)}: there is no such parameter; there are {', '.join(fields)}")
        if not isinstance(value, dict) or not value:
            raise ApiError(400, f"{'.'.join(where)}: an object is expected")
        below = _section(fields[name])
        is_leaf = set(value) <= LEAF_KEYS and "value" in value
        if below is not None and not is_leaf:
            found[name] = _untyped(below, value, where)
        elif below is None and is_leaf:
            found[name] = _value(fields[name], value, ".".join(where))
        else:
            kind = "an attribute" if below is None else "a section"
            raise ApiError(400, f"{'.'.join(where)}: {kind} is expected" + (
                ", an object with value and type" if below is None else ""))
    return found


def _value(field: FieldInfo, leaf: Mapping[str, Any], where: str) -> Any:
    """The plain value of a typed one; 400 when its type is another."""
    wanted = _type(field)
    if leaf.get("type") != wanted:
        raise ApiError(400, f"{where}: type {leaf.get('type')!r} differs from {wanted!r}")
    value, unit = leaf["value"], leaf.get("unit")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    right = {"bool": isinstance(value, bool), "uint": isinstance(value, int) and not isinstance(value, bool),
             "string": isinstance(value, str)}.get(wanted, number)
    if not right:
        raise ApiError(400, f"{where}: {value!r} is not a {wanted}")
    if wanted in DIMENSIONAL.values():
        if not isinstance(unit, str) and value != 0:
            raise ApiError(400, f"{where}: a {wanted} needs a unit")
        return f"{value}{unit or ''}"
    if unit is not None:
        raise ApiError(400, f"{where}: a {wanted} has no unit")
    if wanted == "double":
        try:
            return float(value)
        except OverflowError:
            raise ApiError(400, f"{where}: out of range") from None
    if _is_list(field) and not _is_vector(field):
        inside = value.strip().removeprefix("[").removesuffix("]")
        return [entry.strip() for entry in inside.split(",") if entry.strip()]
    return value


def _leaf(field: FieldInfo, value: Any) -> dict[str, Any]:
    """A plain value with its type."""
    kind = _type(field)
    if kind in DIMENSIONAL.values():
        number, unit = _quantity(str(value))
        return {"value": number, "type": kind, "unit": unit}
    if isinstance(value, list):
        value = f"[{', '.join(map(str, value))}]"
    return {"value": value, "type": kind}


def _described(field: FieldInfo, default: Any) -> dict[str, Any]:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    found: dict[str, Any] = {"description": field.description or "", "acts": extra.get("acts", "acts"),
                             "default": _text(default)}
    unit = _unit(field)
    for mark in field.metadata:
        if isinstance(mark, annotated_types.Ge):
            found["min"] = _bound(mark.ge, unit)
        elif isinstance(mark, annotated_types.Le):
            found["max"] = _bound(mark.le, unit)
    if typing.get_origin(field.annotation) is typing.Literal:
        found["enum"] = [str(option) for option in typing.get_args(field.annotation)]
    if extra.get("acts") == "read-only":
        found["readonly"] = True
    return found


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _bound(value: Any, unit: Unit | None) -> dict[str, Any]:
    if unit is None or value == 0:
        return {"value": value}
    number, name = _quantity(unit.spell(value))
    return {"value": number, "unit": name}


def _quantity(text: str) -> tuple[int | float, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no quantity")
    return (int(match[1]) if match[1].isdecimal() else float(match[1])), match[2]


def _type(field: FieldInfo) -> str:
    unit = _unit(field)
    if unit is not None:
        return DIMENSIONAL[unit.kind]
    plain_types = {bool: "bool", int: "uint", float: "double"}
    return plain_types.get(field.annotation, "string") if isinstance(field.annotation, type) else "string"


def _unit(field: FieldInfo) -> Unit | None:
    return next((mark for mark in field.metadata if isinstance(mark, Unit)), None)


def _is_list(field: FieldInfo) -> bool:
    return typing.get_origin(field.annotation) in (list, tuple)


def _is_vector(field: FieldInfo) -> bool:
    return typing.get_origin(field.annotation) is tuple


def _section(field: FieldInfo) -> type[BaseModel] | None:
    return next(iter(models_in(field.annotation)), None)


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}
