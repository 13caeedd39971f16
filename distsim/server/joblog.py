"""What a simulation printed, line by line, each with the time at which the server first saw it."""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OUTPUT, TIMES = "output.log", "times.jsonl"
LEVELS = ("debug", "info", "warn", "error")
PREFIX = "distsim: "
TAIL_BYTES = 1 << 16
MOST_LINE = 4096
_PROGRESS = re.compile(r"simulated ([\d.]+) (ps|ns|us|ms|s), wall .*?, ([\d.]+) million events/s, "
                       r"flows ([\d,]+)/([\d,]+)")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


@dataclass(frozen=True)
class Line:
    """A line. begin, end : bytes of the log; time : seconds since the epoch."""

    begin: int
    end: int
    time: float
    level: str
    component: str
    message: str


@dataclass(frozen=True)
class Reached:
    """How far a run has come, by its last line of progress. simulated_s : simulation time; events_per_s : of late."""

    simulated_s: float
    events_per_s: float
    flows_done: int
    flows_total: int


class JobLog:
    """The log in a job's folder."""

    def __init__(self, folder: Path) -> None:
        self.output, self._times = folder / OUTPUT, folder / TIMES

    def stamp(self, known: int) -> int:
        """Notes that what has been added after `known` bytes was seen now; the size of the log."""
        size = _size(self.output)
        if size > known:
            with open(self._times, "a") as file:
                file.write(f"[{size}, {time.time():.3f}]\n")
        return size

    def stamped(self) -> int:
        """Bytes that have been stamped."""
        stamps = self._stamps()
        return stamps[-1][0] if stamps else 0

    def lines(self, begin: int = 0) -> Iterator[Line]:
        """Whole lines from a byte on; long ones are cut."""
        stamps = self._stamps()
        with contextlib.suppress(FileNotFoundError), open(self.output, "rb") as file:
            file.seek(begin)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                text = raw.decode("utf-8", "replace").rstrip()[:MOST_LINE]
                if text:
                    yield _line(text, begin, begin + len(raw), _time(stamps, begin, self.output))
                begin += len(raw)

    def reached(self) -> Reached | None:
        """How far the run has come; None before its first line of progress."""
        found = _PROGRESS.findall(self._tail())
        if not found:
            return None
        value, unit, rate, done, total = found[-1]
        return Reached(float(value) * _UNITS[unit], float(rate) * 1e6, int(done.replace(",", "")),
                       int(total.replace(",", "")))

    def last_error(self) -> str:
        """The errors that the run ended with, else its last line; empty for an empty log."""
        lines = [line for line in self._tail().splitlines() if line.strip()]
        errors = [line.removeprefix(f"{PREFIX}error: ") for line in lines if line.startswith(f"{PREFIX}error: ")]
        said = "; ".join(errors) or (lines[-1].strip() if lines else "")
        return said.replace(f"{self.output.parent}{os.sep}", "")

    def _tail(self) -> str:
        with contextlib.suppress(FileNotFoundError), open(self.output, "rb") as file:
            file.seek(max(0, _size(self.output) - TAIL_BYTES))
            return file.read(TAIL_BYTES).decode("utf-8", "replace")
        return ""

    def _stamps(self) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        with contextlib.suppress(OSError), open(self._times) as file:
            for line in file:
                with contextlib.suppress(ValueError, TypeError):
                    size, seen = json.loads(line)
                    found.append((int(size), float(seen)))
        return found


def level_of(text: str) -> str:
    """How serious a line is: one of LEVELS."""
    for name, level in (("error", "error"), ("warning", "warn")):
        if text.startswith(f"{PREFIX}{name}: "):
            return level
    return "error" if text.startswith("Traceback") else "info"


def _line(text: str, begin: int, end: int, seen: float) -> Line:
    component = "distsim" if text.startswith(PREFIX) else "progress" if _PROGRESS.match(text) else "run"
    return Line(begin, end, seen, level_of(text), component, text.removeprefix(PREFIX))


def _time(stamps: list[tuple[int, float]], begin: int, path: Path) -> float:
    """When the byte at `begin` was first seen; the file's own time for what no server has seen yet."""
    at = bisect.bisect_right(stamps, begin, key=lambda stamp: stamp[0])
    return stamps[at][1] if at < len(stamps) else os.stat(path).st_mtime


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
