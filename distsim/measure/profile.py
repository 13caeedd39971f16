"""Log profiles: which lines of a log are results, and what they say. Three come with distsim."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from distsim.config.yaml_reader import Document, Place, read_text
from distsim.errors import InputError

from .manifest import documents, validated
from .patterns import Pattern
from .profile_names import BUILTIN, OLD, STRICT, TAGGED
from .profile_spec import EventPattern, LogProfileManifest

_ROW = (r"(?P<size>\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+[\d.]+\s+(?P<algBW>[\d.]+)\s+(?P<busBW>[\d.]+)")
# What stands before a row: colours and zero bytes, then the label of mpirun --tag-output or of srun -l.
_NOISE = r"(?:\x1b\[[0-9;]*[A-Za-z]|\x00)*"
_LABEL = r"(?:\[(?:[^\]\s]*@)?\d+,\d+\]<std(?:out|err)>:\s?|\d+:\s|\[\d+\]\s)?"
_BEFORE = rf"^{_NOISE}\s*{_LABEL}{_NOISE}\s*"
# Eight columns after size, count, type, perhaps redop and perhaps root: time, algbw, busbw and error, twice.
_NUMBER = r"[\d.]+(?:e[+-]?\d+)?"
_HALF = rf"(?:{_NUMBER}|N/A)"
_OLD_ROW = (rf"(?P<size>\d+)\s+\d+\s+[a-z]\w*(?:\s+[a-z]\w*)?(?:\s+-?\d+)?\s+{_NUMBER}\s+(?P<algBW>{_NUMBER})"
            rf"\s+(?P<busBW>{_NUMBER})\s+{_HALF}\s+{_HALF}\s+{_HALF}\s+{_HALF}\s+{_HALF}{_NOISE}\s*$")
_TRANSPORT = r"NCCL INFO Using network (?P<transport>.+)"
_ROWS = {STRICT: r"^\s*" + _ROW, TAGGED: _BEFORE + _ROW, OLD: _BEFORE + _OLD_ROW}

_INTEGER = re.compile(rb"[+-]?\d{1,40}")
_REAL = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_INT64_MAX = 2**63 - 1


class ProfileError(InputError):
    """A log profile that cannot be used."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One result row: size_bytes, algbw_gbs and busbw_gbs in GB/s."""

    size_bytes: int
    algbw_gbs: float
    busbw_gbs: float


class LogProfile:
    """A named pair of expressions.

    name : its name.
    builtin : whether it comes with distsim, so that its columns are known.
    """

    def __init__(self, name: str, result: Pattern, transport: Pattern | None, builtin: bool = False):
        """ValueError if a group that is needed is missing."""
        missing = [group for group in ("size", "algBW", "busBW") if group not in result.groups]
        if missing:
            raise ValueError(f"bandwidthResult lacks the group {', '.join(missing)}; it needs size, algBW and busBW")
        if transport is not None and "transport" not in transport.groups:
            raise ValueError("networkTransport lacks the group transport")
        self.name, self.builtin = name, builtin
        self._result, self._transport = result, transport
        self._groups = tuple(result.groups[group] for group in ("size", "algBW", "busBW"))

    def sample(self, line: bytes) -> Sample | None:
        """The result that a line holds; None if it does not match, or its size is no int64 or a bandwidth no number."""
        found = self._result.search(line, *self._groups)
        if found is None:
            return None
        size, algbw, busbw = _int64(found[0]), _finite(found[1]), _finite(found[2])
        if size is None or algbw is None or busbw is None:
            return None
        return Sample(size, algbw, busbw)

    def transport(self, line: bytes) -> str | None:
        """The network's name that a line holds, trimmed; None if it holds none."""
        if self._transport is None:
            return None
        found = self._transport.search(line, self._transport.groups["transport"])
        return (found[0].decode("utf-8", "replace").strip() or None) if found is not None else None


def builtin_profile(name: str) -> LogProfile | None:
    """The profile of that name that comes with distsim; None if there is none."""
    row = _ROWS.get(name)
    return LogProfile(name, Pattern(row), Pattern(_TRANSPORT), builtin=True) if row is not None else None


def builtin_names() -> tuple[str, ...]:
    """Names of the profiles that come with distsim."""
    return BUILTIN


def load_profile(source: str) -> LogProfile:
    """The profile of a name, or that of a YAML file; ProfileError if there is none or it is wrong."""
    found = builtin_profile(source)
    if found is not None:
        return found
    if not Path(source).exists() and not Path(source).suffix and "/" not in source:
        raise ProfileError(f"no log profile {source!r}; there are {', '.join(builtin_names())}, or give a YAML file")
    profiles = [profile_of(document) for document in documents(read_text(Path(source)), source)]
    if len(profiles) != 1:
        raise ProfileError(f"holds {len(profiles)} documents; one LogProfile is wanted", file=source)
    return profiles[0]


def profile_of(document: Document) -> LogProfile:
    """The profile that one YAML document describes; InputError with its place if it is wrong."""
    manifest = validated(document, LogProfileManifest)
    compiled: dict[str, Pattern] = {}
    for name, event in manifest.spec.patterns.given().items():
        compiled[name] = _compiled(document, ("spec", "patterns", name), event)
    place: Place = ("spec", "patterns")
    if "bandwidthResult" not in compiled:
        raise _problem(document, place, "bandwidthResult is required: the expression of a result row")
    try:
        return LogProfile(manifest.metadata.name, compiled["bandwidthResult"], compiled.get("networkTransport"))
    except ValueError as error:
        raise _problem(document, (*place, str(error).split()[0], "regex"), str(error)) from None


def _compiled(document: Document, place: Place, event: EventPattern) -> Pattern:
    try:
        pattern = Pattern(event.regex)
    except ValueError as error:
        raise _problem(document, (*place, "regex"), f"{event.regex!r} is {error}") from None
    if event.example and pattern.search(event.example.encode()) is None:
        raise _problem(document, (*place, "example"), f"the regex does not match its own example {event.example!r}")
    return pattern


def _problem(document: Document, place: Place, message: str) -> ProfileError:
    file, line = document.locate(place)
    return ProfileError(message, file=file, line=line, where=".".join(map(str, place)))


def _int64(text: bytes) -> int | None:
    value = int(text) if _INTEGER.fullmatch(text) else -1
    return value if 0 <= value <= _INT64_MAX else None


def _finite(text: bytes) -> float | None:
    value = float(text) if _REAL.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
