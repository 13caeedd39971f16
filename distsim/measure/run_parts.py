"""What the measurements of a running job share: of bandwidth (running.py) and of goodput (goodput/running.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from distsim.errors import InputError

from .live import SECOND_PS
from .manifest import API_GROUP, API_VERSION
from .units import parse_duration_s

Profile = TypeVar("Profile")


def find_profile(section: str, name: str, directory: Path | None, builtin: Callable[[str], Profile | None],
                 load: Callable[[str], Profile]) -> Profile:
    """The profile of a section's logProfileRef, a built-in one or a file named from `directory` on; InputError."""
    found = builtin(name)
    if found is not None:
        return found
    try:
        return load(str((directory or Path()) / name))
    except InputError as error:
        where = None if error.file is not None else f"{section}.logProfileRef"
        raise InputError(error.message, file=error.file, line=error.line, where=where or error.where) from None


def duration_ps(text: str) -> int:
    """Picoseconds of a Go duration."""
    return round(parse_duration_s(text) * SECOND_PS)


def lines_of(written: str | bytes | Iterable[str | bytes]) -> Iterator[bytes]:
    """Single lines, without their newline, of a text with newlines or of single lines with or without one. Only a
    newline ends a line; a carriage return stays."""
    for text in [written] if isinstance(written, (str, bytes)) else written:
        raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        parts = raw.split(b"\n")
        yield from parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def resource(kind: str, name: str, namespace: str, job: str, spec: dict[str, Any],
             status: dict[str, Any]) -> dict[str, Any]:
    """A measurement of a job as a whole resource, plain data for YAML or JSON. spec : without jobRef."""
    return {"apiVersion": API_VERSION, "kind": kind,
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "spec": {"jobRef": {"apiGroup": API_GROUP, "kind": "Job", "name": job}, **spec}, "status": status}
