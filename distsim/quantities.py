"""Typed quantities with units, and the strict base of every configuration model.

`Time` is int picoseconds, `Size` int bytes, `Rate` int bits per second. In YAML they are written with their unit:
``100ns``, ``4MB`` (10**6), ``64KiB`` (2**10), ``400Gbps``. A bare number is refused, except 0. Dumped with
``mode="json"`` they are spelled with a unit again, exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

TIME_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
SIZE_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
RATE_UNITS = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12}

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z\u00b5]*)\s*", re.ASCII)
_INT64_MAX = 2**63 - 1


def parse_quantity(value: Any, units: dict[str, int], what: str, example: str, zero_is_bare: bool = True) -> int:
    """The integer number of base units that `value` means; ValueError names the units that are valid."""
    valid = ", ".join(units)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"{value!r} is not a {what}; write a number with a unit ({valid}), e.g. {example}")
    if not isinstance(value, str):
        if value == 0 and zero_is_bare:
            return 0
        raise ValueError(f"{value!r} has no unit; a {what} needs one of {valid}, e.g. {example}")
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not a {what}; write a number with a unit ({valid}), e.g. {example}")
    number, unit = Decimal(match[1]), match[2].replace("\u00b5", "u")
    if not unit and number == 0 and zero_is_bare:
        return 0
    if unit not in units:
        problem = f"unknown unit {unit!r}" if unit else "no unit"
        raise ValueError(f"{value!r} has {problem}; a {what} needs one of {valid}, e.g. {example}")
    if number < 0:
        raise ValueError(f"{value!r} is negative")
    if number.adjusted() > 18 or number * units[unit] > _INT64_MAX:
        raise ValueError(f"{value!r} is too large")
    exact = number * units[unit]
    if exact != exact.to_integral_value():
        raise ValueError(f"{value!r} is not a whole number of {next(iter(units))}")
    return int(exact)


def _spell(value: int, units: dict[str, int]) -> str:
    """`value` in the largest of `units` that divides it, e.g. 4500000 ps is ``4500ns``; zero takes the first unit."""
    fitting = [unit for unit in units if value % units[unit] == 0] if value else [next(iter(units))]
    best = max(fitting, key=units.__getitem__)
    return f"{value // units[best]}{best}"


def parse_time(value: Any) -> int:
    """Picoseconds that `value` (``100ns``) means; ValueError if it is not a time."""
    return parse_quantity(value, TIME_UNITS, "time", "100ns")


def parse_size(value: Any) -> int:
    """Bytes that `value` (``4MB``) means; ValueError if it is not a size."""
    return parse_quantity(value, SIZE_UNITS, "size", "4MB")


def parse_rate(value: Any) -> int:
    """Bits per second that `value` (``400Gbps``) means; ValueError if it is not a data rate."""
    return parse_quantity(value, RATE_UNITS, "data rate", "400Gbps")


def spell_time(ps: int) -> str:
    """Picoseconds as a time with its unit, exactly: 100000 is ``100ns``."""
    return _spell(ps, TIME_UNITS)


def spell_size(size_bytes: int) -> str:
    """Bytes as a size with its decimal unit, exactly: 300000 is ``300KB``."""
    return _spell(size_bytes, {unit: factor for unit, factor in SIZE_UNITS.items() if "i" not in unit})


def spell_rate(bps: int) -> str:
    """Bits per second as a rate with its unit, exactly: 400 * 10**9 is ``400Gbps``."""
    return _spell(bps, RATE_UNITS)


class Unit:
    """Marks an annotated int as a quantity: `parse` reads it, `spell` writes it with its unit."""

    def __init__(self, kind: str, parse: Callable[[Any], int], spell: Callable[[int], str]):
        self.kind, self.parse, self.spell = kind, parse, spell


def _schema(units: dict[str, int], example: str) -> WithJsonSchema:
    pattern = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*(" + "|".join(units) + r")\s*$"
    return WithJsonSchema({"anyOf": [{"type": "string", "pattern": pattern}, {"const": 0}], "examples": [example]},
                          mode="validation")


TIME = Unit("time", parse_time, spell_time)
SIZE = Unit("size", parse_size, spell_size)
RATE = Unit("data rate", parse_rate, spell_rate)

if TYPE_CHECKING:  # ints, but their defaults are written as text ("100ns"), which a type checker would refuse
    Time: TypeAlias = Any
    Size: TypeAlias = Any
    Rate: TypeAlias = Any
else:
    Time = Annotated[int, BeforeValidator(parse_time), TIME, _schema(TIME_UNITS, "100ns"),
                     PlainSerializer(spell_time, return_type=str, when_used="json")]
    Size = Annotated[int, BeforeValidator(parse_size), SIZE, _schema(SIZE_UNITS, "4MB"),
                     PlainSerializer(spell_size, return_type=str, when_used="json")]
    Rate = Annotated[int, BeforeValidator(parse_rate), RATE, _schema(RATE_UNITS, "400Gbps"),
                     PlainSerializer(spell_rate, return_type=str, when_used="json")]


class StrictModel(BaseModel):
    """Unknown keys are refused and defaults are checked like given values (so they are written with units too)."""

    model_config = ConfigDict(extra="forbid", validate_default=True, frozen=True)
