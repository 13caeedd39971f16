"""Writing a run's timeline: from its sources, bounded in size, to a Perfetto trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from distsim.errors import InputError
from distsim.results.timeline.cluster import cluster_events, cluster_steps
from distsim.results.timeline.collectives import collectives, steps
from distsim.results.timeline.counters import utilisation
from distsim.results.timeline.emit import Trace
from distsim.results.timeline.faults import outages, reroutes
from distsim.results.timeline.messages import messages
from distsim.results.timeline.operations import operations
from distsim.results.timeline.sampling import count_of, share_out
from distsim.results.timeline.source import Counters, Source

if TYPE_CHECKING:
    from distsim.results.run import Run

# In the order in which they stand, from the top. A new one: a function from the run to a Source, and its row here.
SOURCES: tuple[Callable[[Run], Source | None], ...] = (
    outages, reroutes, cluster_events, cluster_steps, steps, collectives, operations, messages)
LIMIT_BYTES, LEAST_BYTES = 64_000_000, 100_000
HEAD_BYTES = 8_000        # notes, groups, first packet
COUNTER_SLOTS = 2000      # values of a counter
COUNTER_BYTES, COUNTER_TRACKS = 36, 16
COUNTER_SHARE = 4         # counters take at most a fourth of the limit


@dataclass
class Written:
    """A timeline that was written. shown : (what, how many of them, of how many) for each source. notes : what was left
    out, a line each."""

    path: str
    size_bytes: int
    shown: list[tuple[str, int, int]]
    notes: list[str]


def write_timeline(run: Run, path: str | os.PathLike[str], limit_bytes: int = LIMIT_BYTES) -> Written:
    """Writes the timeline of a run as a Perfetto trace of at most `limit_bytes`, sampled if it has to be.

    The trace has a note, an instant at its begin, for everything that was left out. InputError when there is nothing to
    show, the limit is below 100 kB, or the file cannot be written.
    """
    if limit_bytes < LEAST_BYTES:
        raise InputError(f"a timeline of at most {limit_bytes} bytes holds next to nothing; "
                         f"give {LEAST_BYTES / 1e6:g} MB or more")
    sources = [found for source in SOURCES if (found := source(run)) is not None]
    counters = utilisation(run, _slots(limit_bytes))
    if not sources and counters is None:
        raise InputError("has nothing for a timeline: no messages, collectives, operations of ranks, faults or "
                         "utilisation", file=os.fspath(run.directory))
    left = limit_bytes - HEAD_BYTES - _bytes(counters)
    totals = [count_of(source.rows) for source in sources]
    kept = share_out([source.rows for source in sources], totals, left)
    shown = [(source.what, rows.height, total) for source, rows, total in zip(sources, kept, totals, strict=True)]
    notes = _notes(shown, counters)
    size = _write(path, run.name, list(zip(sources, kept, strict=True)), counters, notes)
    return Written(os.fspath(path), size, shown, notes)


def _slots(limit_bytes: int) -> int:
    return max(1, min(COUNTER_SLOTS, limit_bytes // COUNTER_SHARE // (COUNTER_BYTES * COUNTER_TRACKS)))


def _bytes(counters: Counters | None) -> int:
    """Of the counters in the trace, at most; a value more a track than there are intervals, and the tracks."""
    return 0 if counters is None else (counters.values.height + COUNTER_TRACKS) * COUNTER_BYTES + COUNTER_TRACKS * 128


def _notes(shown: list[tuple[str, int, int]], counters: Counters | None) -> list[str]:
    notes = [f"{what}: {count:,} of {total:,} shown, the longest and an even sample of the others"
             for what, count, total in shown if count < total]
    if counters is not None and counters.joined > 1:
        notes.append(f"utilisation: {counters.joined} report intervals are joined into one")
    return notes


def _write(path: str | os.PathLike[str], name: str, sources: list[tuple[Source, pl.DataFrame]],
           counters: Counters | None, notes: list[str]) -> int:
    trace = Trace()
    trace.notes(f"distsim {name}", notes or ["nothing is left out"])
    for source, rows in sources:
        trace.add(source, rows)
    if counters is not None:
        trace.count(counters)
    try:
        with open(path, "wb") as file:
            return sum(map(file.write, trace.packets()))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error
