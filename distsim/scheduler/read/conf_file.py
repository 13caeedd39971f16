"""Where the text of volcano-scheduler.conf stands in a file: by itself, or in a ConfigMap among other objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distsim.cluster.manifests import inner_document
from distsim.config.problems import problem
from distsim.config.yaml_reader import Document, parse, read_text
from distsim.errors import InputError
from distsim.scheduler.read.notes import Notes

CONF = "volcano-scheduler.conf"
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)


def conf_document(path: str, notes: Notes) -> Document:
    """The document of the conf, with the lines of the file. What else stands in the file is named and passed over,
    also what is no YAML, once the conf was found: people cut the ConfigMap out of a longer manifest.

    InputError for a file that is broken before it, or has none."""
    found: Document | None = None
    passed = 0
    for document in _documents(path):
        if isinstance(document, InputError):
            if found is None:
                raise document
            notes.warn(path, document.line, f"what follows the settings is passed over, it is no YAML: "
                                            f"{document.message}")
        elif found is None and _holds_conf(document.data):
            found = document
        else:
            passed += 1
    if found is None:
        raise InputError(f"there are no settings of the scheduler in it; valid: a ConfigMap with data.{CONF}, or its "
                         "text with actions and tiers", file=path)
    if passed:
        notes.warn(path, None, f"{passed} other object{'s' if passed > 1 else ''} passed over")
    return _inner(found)


def _holds_conf(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    inside = data.get("data")
    return "tiers" in data or "actions" in data or (isinstance(inside, dict) and CONF in inside)


def _inner(document: Document) -> Document:
    if "kind" not in document.data and "data" not in document.data:
        return document
    place = ("data", CONF)
    if not isinstance(document.at(place), str):
        raise problem(document, place, "is not text; write it as a block, volcano-scheduler.conf: |")
    return inner_document(document, place)


def _documents(path: str) -> Iterator[Document | InputError]:
    """The documents of a file with their lines, an error in place of each that is broken."""
    text = read_text(Path(path))
    at = 0
    for end, following in [*(found.span() for found in _SEPARATOR.finditer(text)), (len(text), len(text))]:
        block = text[at:end]
        if any(line.strip() and not line.lstrip().startswith("#") for line in block.splitlines()):
            try:
                yield parse("\n" * text.count("\n", 0, at) + block, path)
            except InputError as error:
                yield error
        at = following
