"""From what pydantic reports to one line a user can act on: file, line, path, bad value, valid values, nearest name."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import annotated_types
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from distsim.errors import InputError
from distsim.quantities import Unit

from .names import Models, hint, narrow, nearest, step
from .yaml_reader import Document, Place, child

MOST_PROBLEMS = 10
Rules = Iterator[tuple[Place, str]]      # what is wrong: place of the attribute to change, message
_TYPES = {
    "bool": "true or false", "int": "a whole number", "float": "a number", "string": "text",
    "list": "a list", "tuple": "a list",
    "dict": "a section of keys", "model": "a section of keys", "model_attributes": "a section of keys",
}
_RANGE_ERRORS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")


class ConfigError(InputError):
    """All problems found in a configuration, at most `MOST_PROBLEMS`; the first is the error itself.

    problems : InputError each, in the order of the file.
    """

    def __init__(self, problems: list[InputError]):
        first = problems[0]
        super().__init__(first.message, file=first.file, line=first.line, where=first.where)
        self.problems = problems[:MOST_PROBLEMS]


def problem(document: Document, place: Place, message: str) -> InputError:
    """An error at a place of the document, or at the nearest part of it that has a line."""
    file, line = document.locate(place)
    return InputError(message, file=file, line=line, where=".".join(map(str, place)) or None)


def problems_of(error: ValidationError, document: Document, prefix: Place, models: Models,
                tree: dict[str, Models] | None = None) -> list[InputError]:
    """One InputError for each thing that pydantic found below `prefix`, whose models are `models`."""
    found: dict[Place, InputError] = {}
    for entry in error.errors(include_url=False):
        if entry["type"] == "too_short" and len(entry["input"]) >= entry["ctx"]["min_length"]:
            continue                  # of entries that are wrong themselves, which pydantic counts as missing
        place, owners, field = _resolve(document.at(prefix), entry, models)
        message = _message(dict(entry), place, owners, field, tree)
        found.setdefault(prefix + place, problem(document, prefix + place, message))
    return list(found.values())


def _resolve(data: Any, entry: Any, models: Models) -> tuple[Place, Models, FieldInfo | None]:
    """Place of an error relative to `data` (without pydantic's tags), the models that own its last key, its field."""
    place: list[str | int] = []
    owners, field, tagged = models, None, True
    for key in entry["loc"]:
        models = narrow(models, data)
        if not tagged and isinstance(data, dict) and key == data.get("kind"):
            tagged = True
            continue
        below, found = step(models, key)
        if isinstance(key, str) and found is None and entry["type"] != "extra_forbidden":
            continue
        place.append(key)
        owners, models, field = models, below, found if isinstance(key, str) else field
        data, tagged = child(data, key), isinstance(key, str)
    return tuple(place), owners, field


def _message(entry: dict[str, Any], place: Place, owners: Models, field: FieldInfo | None,
             tree: dict[str, Models] | None) -> str:
    kind, given = entry["type"], entry["input"]
    if kind == "extra_forbidden":
        return f"unknown key {place[-1]!r}; {hint(str(place[-1]), owners, tree)}"
    if kind == "missing":
        return f"this key is required{_described(field)}"
    if kind == "value_error":
        return str(entry["ctx"]["error"])
    if kind in ("literal_error", "enum"):
        return f"{shown(given)} is not valid; {_choices(given, field, entry['ctx']['expected'])}"
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"kind {shown(_kind(given))} is not valid; valid values: {entry.get('ctx', {}).get('expected_tags', '')}"
    if kind in _RANGE_ERRORS:
        return f"{_spelled(given, field)} is out of range{range_text(field) or f'; {_lower(entry)}'}"
    if kind == "too_short" and not given and entry["ctx"]["min_length"] == 1 and isinstance(given, (list, tuple)):
        return "the list is empty; it needs at least one entry"
    wanted = _TYPES.get(kind.removesuffix("_from_float").removesuffix("_parsing").removesuffix("_type"))
    if wanted is not None:
        return f"{shown(given)} is not {wanted}{range_text(field)}"
    return f"{shown(given)} is not valid: {_lower(entry)}{range_text(field)}"


def shown(value: Any) -> str:
    """A value as a user would write it in YAML, shortened."""
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def range_text(field: FieldInfo | None) -> str:
    """``; valid: 0 to 15 (default 5)`` for a field with bounds, in its unit; empty if it has none."""
    bounds = bounds_of(field) if field is not None else ""
    if field is None or not bounds:
        return ""
    default = "" if field.is_required() or field.default is None else f" (default {field.default})"
    return f"; valid: {bounds}{default}"


def bounds_of(field: FieldInfo) -> str:
    """``0 to 15``, ``1 or more``, ``at most 7``, in the field's unit; empty if it has no bounds."""
    least = most = None
    for mark in field.metadata:
        if isinstance(mark, annotated_types.Ge):
            least = _in_unit(mark.ge, field)
        elif isinstance(mark, annotated_types.Gt):
            least = f"more than {_in_unit(mark.gt, field)}"
        elif isinstance(mark, annotated_types.Le):
            most = _in_unit(mark.le, field)
        elif isinstance(mark, annotated_types.Lt):
            most = f"less than {_in_unit(mark.lt, field)}"
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"{least}" if str(least).startswith("more") else f"{least} or more"
    if most is not None:
        return f"{most}" if most.startswith("less") else f"at most {most}"
    return ""


def _unit(field: FieldInfo | None) -> Unit | None:
    return next((mark for mark in field.metadata if isinstance(mark, Unit)), None) if field is not None else None


def _in_unit(value: Any, field: FieldInfo) -> str:
    unit = _unit(field)
    return unit.spell(value) if unit is not None else str(value)


def _spelled(value: Any, field: FieldInfo | None) -> str:
    unit = _unit(field)
    return unit.spell(value) if unit is not None and isinstance(value, int) else shown(value)


def _described(field: FieldInfo | None) -> str:
    return f": {field.description}" if field is not None and field.description else ""


def _choices(given: Any, field: FieldInfo | None, expected: str) -> str:
    options = [str(option) for option in typing.get_args(field.annotation)] if field is not None else []
    if not options or any("typing" in option or "<class" in option for option in options):
        return f"valid values: {expected}"
    close = nearest(str(given), options)
    return f"valid values: {', '.join(options)}" + (f"; nearest: {close}" if close else "")


def _lower(entry: dict[str, Any]) -> str:
    return f"{entry['msg'][0].lower()}{entry['msg'][1:]}"


def _kind(given: Any) -> Any:
    return given.get("kind") if isinstance(given, dict) else given
