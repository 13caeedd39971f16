"""Checks one configuration in a process of its own, so that time and memory are bounded: `python -m ... < request`.

stdin : {"text", "name", "inputs", "shipped", "plugins", "bytes"}; stdout : {"errors", "warnings", "info"}, lists of
{"message", "line", "place"}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.server.input_files import Folders, Refused

if TYPE_CHECKING:
    from distsim.config import Config
    from distsim.config.yaml_reader import Document


def check(text: str, folders: Folders) -> dict[str, list[dict[str, Any]]]:
    """Everything that `distsim validate` checks, of a text."""
    from distsim.assemble import assemble
    from distsim.config.problems import problem, shown
    from distsim.config.yaml_reader import parse
    from distsim.workload.types import SEND

    try:
        document = parse(text)
        if not isinstance(document.data, dict):
            raise problem(document, (), f"{shown(document.data)} is not a configuration; write keys such as "
                                        "simulation, fabric and workload")
        document.data, refused = folders.resolve_all(document.data)
        config = _checked(document, refused)
        try:
            model = assemble(config)
        except InputError as error:
            raise config.placed(error) from None
    except InputError as error:
        found = getattr(error, "problems", [error])
        return {"errors": [_entry(one, folders) for one in found], "warnings": [], "info": []}
    fabric, flows = model.fabric, int((model.messages.ops["kind"] == SEND).sum())
    said = f"{fabric.hosts} NICs, {len(fabric.nodes) - fabric.hosts} switches, {flows} flows"
    return {"errors": [], "warnings": [{"message": line, "line": None, "place": None} for line in model.warnings],
            "info": [{"message": said, "line": None, "place": None}]}


def _checked(document: Document, refused: list[Refused]) -> Config:
    """The configuration, or ConfigError with what is refused and with what is wrong besides."""
    from distsim.config.check import Checker
    from distsim.config.problems import ConfigError, problem

    found = [problem(document, error.place, error.message) for error in refused]
    try:
        config = Checker(document).config()
    except ConfigError as error:
        places = {one.where for one in found}
        found += [one for one in error.problems if one.where not in places]
    if found:
        raise ConfigError(sorted(found, key=lambda one: one.line or 0))
    return config


def _entry(error: InputError, folders: Folders) -> dict[str, Any]:
    """A problem; files by their names below their folders, where those are is nobody's business."""
    said = error.message if error.file is None else f"{error.file}: {error.message}"
    for folder in (folders.inputs, *folders.shipped):
        said = said.replace(f"{folder}{os.sep}", "")
    return {"message": said, "line": error.line if error.file is None else None, "place": error.where}


def main() -> int:
    """Reads a request, writes the answer."""
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (request["bytes"], request["bytes"]))
    folders = Folders(Path(request["inputs"]), tuple(map(Path, request["shipped"])), request["plugins"])
    try:
        answer = check(request["text"], folders)
    except MemoryError:
        answer = {"errors": [{"message": "too large to be checked here", "line": None, "place": None}],
                  "warnings": [], "info": []}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
