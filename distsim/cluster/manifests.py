"""Reading the files a cluster is described by: YAML of several documents, JSON, and JSON inside a ConfigMap."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from distsim.config.problems import ConfigError, problem, problems_of, shown
from distsim.config.yaml_reader import Document, Place, parse, read_text
from distsim.errors import InputError

Model = TypeVar("Model", bound=BaseModel)
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)


class JsonDocument(Document):
    """JSON; the lines are found when they are first asked for."""

    def __init__(self, data: Any, text: str, file: str | None):
        super().__init__(data, {}, file)
        self.text: str | None = text

    def locate(self, place: Place) -> tuple[str | None, int | None]:
        """File and line of a place, as `Document.locate`."""
        if self.text is not None:
            self.lines, self.text = parse(self.text, self.file).lines, None
        return super().locate(place)


def read_documents(path: str) -> list[Document]:
    """The documents of a file; InputError with file and line if it is broken or empty."""
    text = read_text(Path(path))
    if text.lstrip()[:1] in ("{", "["):
        return [parse_json(text, path)]
    found = list(_yaml_documents(text, path))
    if not found:
        raise InputError("the file is empty", file=path)
    return found


def parse_json(text: str, file: str | None) -> Document:
    """JSON with tabs or not; what is no JSON, or has a key twice, is read as YAML, which says what is wrong where."""
    text = text.replace("\t", " ")
    try:
        return JsonDocument(json.loads(text, object_pairs_hook=_unique), text, file)
    except (ValueError, RecursionError):
        return parse(text, file)


def only(found: list[Document], what: str) -> Document:
    """The one document of a file; InputError when there are several."""
    if len(found) > 1:
        file, line = found[1].locate(())
        raise InputError(f"there are {len(found)} documents; {what} is one", file=file, line=line)
    return found[0]


def inner_document(document: Document, place: Place) -> Document:
    """The JSON in a text of a document, with the line numbers of the file."""
    text = str(document.at(place))
    file, line = document.locate(place)
    above = (line or 1) - (0 if "\n" in text.rstrip("\n") else 1)      # a block begins on the line after its key
    return parse_json("\n" * above + text, file)


def validated(document: Document, model: type[Model], place: Place = ()) -> Model:
    """What stands at a place of a document, as `model`; ConfigError with every problem found."""
    data = document.at(place)
    if not isinstance(data, dict):
        raise problem(document, place, f"{shown(data)} is not a section of keys")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, place, (model,))) from None


def _yaml_documents(text: str, file: str) -> Iterator[Document]:
    """The documents parted by ``---``, with the line numbers of the whole; empty ones left out."""
    above, at = 0, 0
    ends = [*((found.start(), found.end()) for found in _SEPARATOR.finditer(text)), (len(text), len(text))]
    for end, following in ends:
        block = text[at:end]
        if any(line.strip() and not line.lstrip().startswith("#") for line in block.splitlines()):
            yield _shifted(block, above, file)
        above += text.count("\n", at, following)
        at = following


def _shifted(block: str, above: int, file: str) -> Document:
    """The document of a block that has `above` lines over it in its file."""
    try:
        document = parse(block, file)
    except InputError:
        return parse("\n" * above + block, file)      # says it with the right lines
    if above:
        document.lines = {place: line + above for place, line in document.lines.items()}
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found
