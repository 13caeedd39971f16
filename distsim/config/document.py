"""Reading a configuration: YAML, `--set`, checks, defaults; the result is a `Config`."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .check import Checker
from .config import Config
from .overrides import FILE_SECTIONS, absolute_files, apply_set
from .problems import problem, shown
from .root import root_of
from .yaml_reader import Document, parse, read_text


def load(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """The configuration in a YAML file, changed by ``path=value`` overrides.

    Relative paths in the file count from its folder, those in `overrides` from the current directory. Raises
    ConfigError (an InputError) with all problems found, each with file, line, path, bad value and valid values.
    """
    file = Path(path)
    document = parse(read_text(file), str(path))
    return _read(document, overrides, file.absolute().parent)


def from_dict(data: Mapping[str, Any], overrides: Iterable[str] = (), folder: str | Path = ".") -> Config:
    """The configuration in plain data of the same form as the YAML; relative paths in it count from `folder`."""
    return _read(Document(copy.deepcopy(dict(data)), {}, None), overrides, Path(folder).absolute())


def _read(document: Document, overrides: Iterable[str], folder: Path) -> Config:
    if not isinstance(document.data, dict):
        raise problem(document, (), f"{shown(document.data)} is not a configuration; write keys such as simulation, "
                                    "fabric and workload")
    for key in FILE_SECTIONS:
        if key in document.data:
            document.data[key] = absolute_files(document.data[key], folder)
    for option in overrides:
        apply_set(document, option, (root_of(document.data),))
    return Checker(document).config()
