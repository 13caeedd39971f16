"""Files that a configuration names: only those in the inputs folder of the runs directory, and the shipped ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsim.config.overrides import FILE_SECTIONS, files_of, is_file
from distsim.measure.section import is_file_name

Place = tuple[str | int, ...]
PLUGIN, PROFILE, MEASURED = "File", "logProfileRef", "bandwidthMeasurement"


class Refused(Exception):
    """A file that a configuration must not name. place : where it stands in the document; message : why."""

    def __init__(self, place: Place, message: str) -> None:
        super().__init__(message)
        self.place, self.message = place, message


@dataclass(frozen=True)
class Folders:
    """inputs : looked into first, may be missing. shipped : folders of configurations that come with distsim. plugins :
    whether plug-in files, which run as code, may stand in `inputs`."""

    inputs: Path
    shipped: tuple[Path, ...] = ()
    plugins: bool = False

    def resolve(self, data: Any) -> Any:
        """The same document with every file name absolute. Refused for one that leads elsewhere; a file that is not
        there is found by the configuration's own check."""
        found, refused = self.resolve_all(data)
        if refused:
            raise refused[0]
        return found

    def resolve_all(self, data: Any) -> tuple[Any, list[Refused]]:
        """As `resolve`, with all that is refused; such a name is replaced by one of no file."""
        found = dict(data)
        refused: list[Refused] = []
        for key in (*FILE_SECTIONS, MEASURED):
            if key in found:
                found[key] = self._below((key,), found[key], refused)
        return found, refused

    def _below(self, place: Place, value: Any, refused: list[Refused]) -> Any:
        if isinstance(value, dict):
            return {key: self._tried((*place, key), entry, refused) if _names_file(place, key, entry)
                    else self._below((*place, key), entry, refused) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._below((*place, index), entry, refused) for index, entry in enumerate(value)]
        return value

    def _tried(self, place: Place, text: str, refused: list[Refused]) -> str:
        try:
            return self._file(place, text)
        except Refused as error:
            refused.append(error)
            return os.devnull

    def _file(self, place: Place, text: str) -> str:
        if "\0" in text:
            raise Refused(place, "a file name must not hold NUL")
        plugin = place[-1] == PLUGIN
        folders = self.shipped if plugin and not self.plugins else (self.inputs, *self.shipped)
        for candidate in _candidates(text, folders):
            if _is_there(candidate) and all(_inside(path, folders) for path in _paths_of(candidate)):
                return os.fspath(candidate)
        if plugin and not self.plugins:
            raise Refused(place, f"{text!r} is not a shipped plug-in; plug-ins run as code, and this server takes no "
                                 "others (distsim serve --plugins)")
        first = next(iter(_candidates(text, folders)), None)
        if first is None or not _inside(first, folders) or _is_there(first):
            raise Refused(place, f"{text!r} is outside the inputs folder of the runs directory ({self.inputs.name}/)")
        return os.fspath(first)


def _names_file(place: Place, key: Any, value: Any) -> bool:
    if place[0] == MEASURED:
        return key == PROFILE and isinstance(value, str) and is_file_name(value)
    return is_file(key, value)


def _candidates(text: str, folders: tuple[Path, ...]) -> Iterator[Path]:
    """The absolute path as it is, a relative one in every folder; without .. in it."""
    for folder in folders:
        yield Path(os.path.normpath(folder / text))


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or bool(files_of(os.fspath(path)))
    except OSError:
        return False


def _paths_of(path: Path) -> list[Path]:
    """What would be read: the file, or the folder and the traces that it is the prefix of."""
    try:
        return [path.parent, *(files_of(os.fspath(path)) or [path])]
    except OSError:
        return [path]


def _inside(path: Path, folders: tuple[Path, ...]) -> bool:
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
