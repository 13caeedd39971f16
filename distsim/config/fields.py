"""How attributes are declared: a function per documented type, with description, default, range and whether it acts.

Every attribute carries ``json_schema_extra={"acts": ...}``: ``acts`` (it changes a run), ``inert`` (accepted and
without effect, as the reference documents), ``advisory`` (a figure for the reader, documented to change nothing),
``read-only`` or ``refused`` (not modelled). The last two accept their default only, so no setting is ever ignored in
silence.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from distsim.quantities import RATE, SIZE, TIME, StrictModel, Unit

Acts = Literal["acts", "inert", "advisory", "read-only", "refused"]
FIXED = ("read-only", "refused")
CLASSES = 8
_FREE = object()


def parse_numbers(value: Any, count: int, example: str, least: float = 0.0) -> tuple[float, ...]:
    """`count` finite numbers of `least` or more: a YAML list or the documented string in square brackets."""
    shown = value
    if isinstance(value, str) and value.strip().startswith("[") and value.strip().endswith("]"):
        value = value.strip()[1:-1].split(",")
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ValueError(f"{shown!r} is not a list of {count} numbers, e.g. {example}")
    try:
        numbers = tuple(float(entry) for entry in value if not isinstance(entry, bool))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != count or not all(math.isfinite(number) and number >= least for number in numbers):
        bound = "" if least == -math.inf else f" of {least:g} or more"
        raise ValueError(f"{shown!r} has an entry that is not a number{bound}")
    return numbers


def parse_vector(value: Any) -> tuple[float, ...]:
    """Eight numbers, one a traffic class or pool: a YAML list or ``[0.9, 0.1, 0, 0, 0, 0, 0, 0]`` as text."""
    return parse_numbers(value, CLASSES, "[0.9, 0.1, 0, 0, 0, 0, 0, 0]")


def spell_vector(numbers: tuple[float, ...]) -> list[float]:
    """The list as YAML shows it: whole numbers without a decimal point."""
    return [int(number) if number == int(number) else number for number in numbers]


def _list_schema(entry: dict[str, Any], count: int) -> WithJsonSchema:
    numbers = {"type": "array", "items": entry, "minItems": count, "maxItems": count}
    return WithJsonSchema({"anyOf": [numbers, {"type": "string", "pattern": r"^\s*\[.*\]\s*$"}]}, mode="validation")


Vector = Annotated[
    tuple[float, ...],
    BeforeValidator(parse_vector),
    _list_schema({"type": "number", "minimum": 0}, CLASSES),
    PlainSerializer(spell_vector, return_type=list, when_used="json"),
]
Four = Annotated[
    tuple[float, ...],
    BeforeValidator(lambda value: parse_numbers(value, 4, "[0.5, 0, 0, 0]", -math.inf)),
    _list_schema({"type": "number"}, 4),
    PlainSerializer(spell_vector, return_type=list, when_used="json"),
]


def attribute(default: Any, description: str, *, acts: Acts = "acts", unit: str | None = None,
              valid: str | None = None, **constraints: Any) -> Any:
    """A pydantic field with the metadata of every attribute; `constraints` are pydantic's (ge, le, strict).

    valid : what a list or a text may hold, in words.
    """
    extra: dict[str, Any] = {"acts": acts}
    if unit:
        extra["unit"] = unit
    if valid:
        extra["valid"] = valid
    return Field(default, description=description, json_schema_extra=extra, **constraints)


def _quantity(unit: Unit, default: str, description: str, acts: Acts, least: str | None, most: str | None) -> Any:
    given = (("ge", least), ("le", most))
    bounds: dict[str, Any] = {name: unit.parse(bound) for name, bound in given if bound is not None}
    return attribute(default, description, acts=acts, unit=unit.kind, **bounds)


def time(default: str, description: str, *, acts: Acts = "acts", least: str | None = None,
         most: str | None = "100s") -> Any:
    """Attribute of type `Time` (documented type timeval)."""
    return _quantity(TIME, default, description, acts, least, most)


def size(default: str, description: str, *, acts: Acts = "acts", least: str | None = None,
         most: str | None = "4294967295B") -> Any:
    """Attribute of type `Size` (documented types bytes and queuesize)."""
    return _quantity(SIZE, default, description, acts, least, most)


def rate(default: str, description: str, *, acts: Acts = "acts", least: str | None = "1Gbps",
         most: str | None = "100Tbps") -> Any:
    """Attribute of type `Rate` (documented type datarate)."""
    return _quantity(RATE, default, description, acts, least, most)


def flag(default: bool, description: str, *, acts: Acts = "acts") -> Any:
    """Attribute of type bool: true or false, nothing else."""
    return attribute(default, description, acts=acts, strict=True)


def whole(default: int, description: str, least: int = 0, most: int = 2**31 - 1, *, acts: Acts = "acts",
          unit: str | None = None) -> Any:
    """Attribute of type int within least..most (documented type uint)."""
    return attribute(default, description, acts=acts, unit=unit, strict=True, ge=least, le=most)


def real(default: float, description: str, least: float, most: float, *, acts: Acts = "acts",
         unit: str | None = None) -> Any:
    """Attribute of type float within least..most (documented type double)."""
    return attribute(default, description, acts=acts, unit=unit, strict=True, ge=least, le=most, allow_inf_nan=False)


def section(model: type[StrictModel], description: str) -> Any:
    """A sub-component: all its attributes at their defaults when it is left out."""
    return Field(default_factory=model, description=description)


@functools.cache
def only_value(model: type[AttributeModel], name: str) -> Any:
    """The one value that a fixed attribute accepts, or a sentinel when it is free."""
    field = model.model_fields[name]
    if _acts(model, name) not in FIXED:
        return _FREE
    for mark in field.metadata:
        if isinstance(mark, Unit):
            return mark.parse(field.default)
    return field.default


class AttributeModel(StrictModel):
    """Base of the documented components: an empty section means its defaults; one-valued attributes are checked."""


    @model_validator(mode="before")
    @classmethod
    def _empty_section(cls, data: Any) -> Any:
        return {} if data is None else data

    @field_validator("*", mode="after")
    @classmethod
    def _refuse_unmodelled(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        accepted = only_value(cls, name)
        if accepted is _FREE or value == accepted:
            return value
        default = cls.model_fields[name].default
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        reason = "cannot be set (read-only)" if _acts(cls, name) == "read-only" else "is not modelled in this version"
        raise ValueError(f"{_spelled(cls, name, value)} {reason}; the only value accepted is {shown}")


def _spelled(model: type[AttributeModel], name: str, value: Any) -> str:
    """A checked value as YAML shows it."""
    for mark in model.model_fields[name].metadata:
        if isinstance(mark, Unit):
            return mark.spell(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _acts(model: type[AttributeModel], name: str) -> str:
    extra = model.model_fields[name].json_schema_extra
    return str(extra.get("acts", "acts")) if isinstance(extra, dict) else "acts"
