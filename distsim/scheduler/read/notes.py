"""What a file holds that is not acted on: collected, each named once, few lines a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from distsim.config.names import nearest
from distsim.scheduler.keys import KEYS, keys_of


class Notes:
    """Lines for the user. `warn` takes a whole line; `ignore` gathers keys by file and group."""

    def __init__(self) -> None:
        self._warnings: dict[str, None] = {}
        self._ignored: dict[tuple[str, str], dict[str, None]] = {}

    def warn(self, file: str | None, line: int | None, message: str) -> None:
        """A line of its own, once."""
        place = f"{file}:{line}" if line is not None else f"{file}"
        self._warnings.setdefault(f"{place}: {message}")

    def ignore(self, file: str | None, group: str, keys: Iterable[str]) -> None:
        """Keys of a group (job, pods, containers, labels, ...) that are read and not acted on."""
        for key in keys:
            self._ignored.setdefault((str(file), group), {}).setdefault(key)

    def lines(self) -> list[str]:
        """All of them: warnings first, then one line for each file."""
        groups: dict[str, list[str]] = {}
        for (file, group), keys in self._ignored.items():
            groups.setdefault(file, []).append(f"{group}: {', '.join(keys)}")
        return [*self._warnings, *(f"{file}: not acted on: {'; '.join(parts)}" for file, parts in groups.items())]


def unused(model: BaseModel, prefix: str = "") -> list[str]:
    """Keys that stand in a model and are not acted on: those that it does not know, and its fields of any type."""
    fields = type(model).model_fields
    known = [name for name, field in fields.items() if field.annotation is Any and name in model.model_fields_set]
    return [prefix + name for name in (*known, *(model.model_extra or {}))]


def note_values(notes: Notes, file: str | None, line: int | None, place: str, texts: Mapping[str, str]) -> None:
    """Name the labels or annotations whose text is none of those that their key knows, so that the default counts."""
    for name, key in keys_of(place).items():
        text = texts.get(name)
        if text is not None and key.names and text not in key.names:
            close = nearest(text, list(key.names))
            notes.warn(file, line, f"{place} {name}: {text!r} counts as absent; valid values: {', '.join(key.names)}"
                                   + (f"; nearest: {close}" if close else ""))


def note_keys(notes: Notes, file: str | None, line: int | None, place: str, keys: Iterable[str]) -> None:
    """Name the labels or annotations (`place`) that are not in the table; one that belongs at the other place is a
    warning of its own."""
    table = keys_of(place)
    for key in keys:
        if key in table or (key in KEYS and KEYS[key].anywhere):
            continue
        if key in KEYS:
            notes.warn(file, line, f"{key} stands among the {place}s; it counts as {KEYS[key].place} only")
        else:
            notes.ignore(file, f"{place}s", [key])
