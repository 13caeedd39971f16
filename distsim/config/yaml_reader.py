"""YAML with line numbers: plain dicts, lists and scalars, and the line that each of them stands on.

Scalars follow the YAML 1.2 core schema (true / false, numbers, null, text), so ``yes``, ``1:30`` and dates stay text
and ``1e-3`` is a number. Duplicate keys, tags of other languages and recursive aliases are refused.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from distsim.errors import InputError

Place = tuple[str | int, ...]
MAX_REPEATED = 100_000  # entries that aliases may repeat
_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class _Loader(_BaseLoader):
    """A loader that resolves plain scalars as YAML 1.2 does."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own convention


_Loader.add_implicit_resolver(_TAG + "null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(_TAG + "bool", re.compile("(?:" + "|".join(_BOOL) + r")\Z"), list("tTfF"))
_Loader.add_implicit_resolver(
    _TAG + "int", re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"),
    list("-+0123456789."))


def child(value: Any, key: str | int) -> Any:
    """What stands under a key of a section or at an index of a list; None if there is nothing."""
    if isinstance(value, dict):
        return value.get(key)
    inside = isinstance(value, (list, tuple)) and isinstance(key, int) and 0 <= key < len(value)
    return value[key] if inside else None


class Document:
    """What a YAML text holds, and where each part of it came from.

    data : the value of the document.
    lines : place (keys and list indices from the root) -> 1-based line of that key or entry.
    file : name shown in messages.
    set_places : places that were given on the command line.
    """

    def __init__(self, data: Any, lines: dict[Place, int], file: str | None):
        self.data, self.lines, self.file = data, lines, file
        self.set_places: set[Place] = set()

    def at(self, place: Place) -> Any:
        """The value at a place, None if there is none."""
        value = self.data
        for key in place:
            value = child(value, key)
        return value

    def locate(self, place: Place) -> tuple[str | None, int | None]:
        """File and line of a place or of the nearest part around it that has one; ``--set`` if it came from there."""
        for length in range(len(place), -1, -1):
            part = place[:length]
            if part in self.set_places:
                return "--set", None
            if part in self.lines:
                return self.file, self.lines[part]
        return self.file, None


class _Reader:
    def __init__(self, file: str | None):
        self.file = file
        self.lines: dict[Place, int] = {}
        self.open: set[int] = set()
        self.seen: set[int] = set()
        self.repeated = 0

    def error(self, message: str, node: Any, place: Place) -> InputError:
        where = ".".join(map(str, place)) or None
        return InputError(message, file=self.file, line=node.start_mark.line + 1, where=where)

    def value(self, node: Any, place: Place) -> Any:
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if id(node) in self.open or self.repeated > MAX_REPEATED:
            raise self.error("an alias that contains itself, or aliases that repeat too much", node, place)
        self.lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, place)
        self.open.add(id(node))
        try:
            if node.tag == _TAG + "map":
                return self.mapping(node, place)
            if node.tag == _TAG + "seq":
                return [self.value(entry, (*place, index)) for index, entry in enumerate(node.value)]
        finally:
            self.open.discard(id(node))
        raise self.error(f"tag {node.tag!r} is not allowed here", node, place)

    def mapping(self, node: Any, place: Place) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self.error("a key must be plain text", key_node, place)
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in found:
                first = self.lines[(*place, key)]
                raise self.error(f"duplicate key {key!r}, first on line {first}", key_node, place)
            self.lines[(*place, key)] = line
            found[key] = self.value(value_node, (*place, key))
        return found

    def scalar(self, node: Any, place: Place) -> Any:
        text, tag = node.value, node.tag.removeprefix(_TAG)
        if tag == "str":
            return text
        if tag == "null":
            return None
        if tag == "bool" and text in _BOOL:
            return _BOOL[text]
        try:
            if tag == "int":
                return int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
            if tag == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError as error:
            raise self.error(f"{text[:40]!r} is not a number", node, place) from error
        raise self.error(f"tag {node.tag!r} is not allowed here", node, place)


def read_text(path: Path) -> str:
    """Text of an input file; InputError if it is missing, unreadable or not UTF-8 text."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", file=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError("not a text file (UTF-8 expected)", file=str(path), line=line) from None


def parse(text: str, file: str | None = None) -> Document:
    """The document in `text`; InputError with file and line if it is broken or empty."""
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise InputError(_broken(error, text, line), file=file, line=line) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", None)
        line = text.count("\n", 0, position) + 1 if position is not None else None
        raise InputError("not YAML: control characters (a binary file?)", file=file, line=line) from None
    finally:
        if loader is not None:
            loader.dispose()
    if node is None:
        raise InputError("the file is empty", file=file)
    reader = _Reader(file)
    try:
        data = reader.value(node, ())
    except RecursionError:
        raise InputError("nested too deeply", file=file) from None
    return Document(data, reader.lines, file)


def _broken(error: yaml.MarkedYAMLError, text: str, line: int | None) -> str:
    lines = text.splitlines()
    shown = lines[line - 1] if line is not None and line <= len(lines) else ""
    indent = shown[: len(shown) - len(shown.lstrip())]
    context = f" ({error.context})" if error.context else ""
    tabs = "; tabs cannot indent YAML, use spaces" if "\t" in indent else ""
    return f"broken YAML: {error.problem or 'it cannot be parsed'}{context}{tabs}"
