"""From frames to packets: tracks, interned strings, and events in order of time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from distsim.results.timeline import packets as p
from distsim.results.timeline.source import FIXED, INSTANTS, Counters, Source

NOTES = "Notes"


class Trace:
    """A trace in the making. Every track's events are added in order; `packets` merges them by time."""

    def __init__(self) -> None:
        self._strings = p.Interned()
        self._tracks: list[bytes] = []
        self._count = 0
        self._groups: dict[str, int] = {}
        self._times: list[np.ndarray] = []
        self._bodies: list[list[bytes]] = []
        self._notes: list[bytes] = []

    def notes(self, name: str, lines: list[str]) -> None:
        """Instants at the begin of the trace, one a line, on a track of this name."""
        track = self._track(name, self._group(NOTES))
        self._notes += [p.event_body(p.INSTANT, track) + p.event_name(self._strings.number(p.NAMES, text))
                        for text in lines]

    def add(self, source: Source, rows: pl.DataFrame) -> None:
        """The rows of a source, with lanes; rows of a lane do not overlap."""
        if not rows.height:
            return
        group = self._group(source.group)
        rows = rows.sort("track", "lane", "begin_ns", "end_ns", maintain_order=True)
        tracks = {}
        for name, lane in rows.select("track", "lane").unique(maintain_order=True).sort(
                "track", "lane").iter_rows():
            tracks[name, lane] = self._track(name, group)
        uuids = [tracks[key] for key in rows.select("track", "lane").iter_rows()]
        begins = self._begins(source, rows, uuids)
        if source.kind == INSTANTS:
            self._put(rows["begin_ns"].to_numpy(), begins)
            return
        ends = {uuid: p.event_body(p.SLICE_END, uuid) for uuid in tracks.values()}
        both = [body for begin, uuid in zip(begins, uuids, strict=True) for body in (begin, ends[uuid])]
        self._put(np.column_stack([rows["begin_ns"], rows["end_ns"]]).ravel(), both)

    def count(self, counters: Counters) -> None:
        """The values of counters, each where its interval begins; the last again where it ends."""
        group = self._group(counters.group)
        for rank, part in enumerate(counters.values.partition_by("track", maintain_order=True)):
            self._count += 1
            self._tracks.append(p.counter_track(self._count, part["track"][0], group, rank, part["unit"][0],
                                                part["unit"][0]))
            body = p.event_body(p.COUNTER, self._count)
            values = [*part["value"], part["value"][-1]]
            self._put(np.append(part["begin_ns"].to_numpy(), part["end_ns"][-1]),
                      [body + p.counter_value(value) for value in values])

    def packets(self) -> Iterator[bytes]:
        """The trace: strings, tracks, events in order of time, those of one time in the order of their tracks."""
        yield from self._strings.packets()
        yield from self._tracks
        times = np.concatenate(self._times) if self._times else np.zeros(0, np.int64)
        first = int(times.min()) if len(times) else 0
        yield from (p.event(first, body) for body in self._notes)
        bodies = [body for part in self._bodies for body in part]
        for place in np.argsort(times, kind="stable").tolist():
            yield p.event(int(times[place]), bodies[place])

    def _group(self, name: str) -> int:
        """The track that a group's tracks stand under; groups stand in the order in which they come."""
        if name not in self._groups:
            self._count += 1
            self._tracks.append(p.track(self._count, name, rank=len(self._groups), ordered=True))
            self._groups[name] = self._count
        return self._groups[name]

    def _track(self, name: str, group: int) -> int:
        self._count += 1
        self._tracks.append(p.track(self._count, name, group, rank=self._count))
        return self._count

    def _begins(self, source: Source, rows: pl.DataFrame, uuids: list[int]) -> list[bytes]:
        """Bodies of the events that begin the rows: kind, track, category, name, arguments."""
        kind = p.INSTANT if source.kind == INSTANTS else p.SLICE_BEGIN
        category = self._strings.number(p.CATEGORIES, source.what)
        heads = {uuid: p.event_body(kind, uuid, category) for uuid in set(uuids)}
        names = {name: p.event_name(self._strings.number(p.NAMES, name))
                 for name in rows["name"].unique(maintain_order=True)}
        columns = [self._arguments(rows[name]) for name in rows.columns if name not in (*FIXED, "lane")]
        return [b"".join(parts) for parts in zip(map(heads.__getitem__, uuids), map(names.__getitem__, rows["name"]),
                                                 *columns)]

    def _arguments(self, column: pl.Series) -> list[bytes]:
        """An argument's encoded values, empty where there is none."""
        name, is_text = self._strings.number(p.ARGUMENTS, column.name), column.dtype == pl.String
        said = {value: p.argument(name, self._strings.number(p.VALUES, value) if is_text else value, is_text)
                for value in column.unique(maintain_order=True) if value is not None}
        return [said.get(value, b"") for value in column]

    def _put(self, times_ns: np.ndarray, bodies: list[bytes]) -> None:
        self._times.append(np.asarray(times_ns, np.int64))
        self._bodies.append(bodies)
