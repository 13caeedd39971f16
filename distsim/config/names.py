"""The names that a configuration may hold: the field behind a place, all paths, and the nearest valid name."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Models = tuple[type[BaseModel], ...]


def fields_of(models: Models) -> dict[str, FieldInfo]:
    """Key in the file -> field, over all alternatives."""
    return {field.alias or name: field for model in models for name, field in model.model_fields.items()}


def models_in(annotation: Any) -> Models:
    """Every model class that stands in a type, inside lists, unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    found: list[type[BaseModel]] = []
    for part in typing.get_args(annotation):
        found += [model for model in models_in(part) if model not in found]
    return tuple(found)


def narrow(models: Models, data: Any) -> Models:
    """Of several alternatives, the one whose `kind` is that of `data`."""
    if len(models) < 2 or not isinstance(data, dict):
        return models
    chosen = tuple(model for model in models if data.get("kind") in kinds_of(model))
    return chosen or models


def kinds_of(model: type[BaseModel]) -> tuple[Any, ...]:
    """Values of the model's `kind` field, a Literal; empty if it has none."""
    field = model.model_fields.get("kind")
    if field is None or typing.get_origin(field.annotation) is not typing.Literal:
        return ()
    return typing.get_args(field.annotation)


def step(models: Models, key: str | int) -> tuple[Models, FieldInfo | None]:
    """The models and the field one key (or list index) further down; no models below a plain value."""
    if isinstance(key, int):
        return models, None
    field = fields_of(models).get(key)
    return (models_in(field.annotation) if field is not None else ()), field


def holds_list(field: FieldInfo) -> bool:
    """Whether the field takes a list of models (then an index follows its name)."""
    return _is_list(field.annotation)


def _is_list(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    if origin in (list, tuple):
        return True
    return origin in (typing.Union, UnionType) and any(_is_list(part) for part in typing.get_args(annotation))


def paths_below(models: Models, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Paths of all fields below, sections included, lists left out."""
    for key, field in fields_of(models).items():
        path = (*prefix, key)
        yield path
        if not holds_list(field):
            yield from paths_below(models_in(field.annotation), path)


def nearest(name: str, valid: list[str]) -> str | None:
    """The valid name that looks most like `name`, case aside; None if none is near."""
    folded: dict[str, str] = {}
    for entry in valid:
        folded.setdefault(entry.casefold(), entry)
    close = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def hint(name: str, models: Models, tree: dict[str, Models] | None = None) -> str:
    """What to say after an unknown key: the nearest valid name here, else where it belongs, else the valid names."""
    valid = list(fields_of(models))
    close = nearest(name, valid)
    if close is not None:
        return f"nearest valid name: {close}"
    for top, below in (tree or {}).items():
        matches = [".".join(path) for path in paths_below(below, (top,)) if path[-1].casefold() == name.casefold()]
        if matches:
            return f"it belongs at {' or '.join(matches[:2])}"
    return f"valid names: {', '.join(valid)}" if valid else "nothing may stand here"


def spec_models(registry: Mapping[str, Any]) -> Models:
    """The `Spec` classes of a registry of topologies or workloads."""
    return tuple(row.Spec for row in registry.values())
