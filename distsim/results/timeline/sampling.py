"""Which slices a timeline keeps when they do not all fit: the longest, and an even sample of the others.

Half of the room is for the longest, since those are what one looks for; the other half is spread evenly over the
rest in the order of the file, so that the picture stays true everywhere. What is kept with less room is part of what is
kept with more, so that a choice that turns out too large is thinned without reading the record again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from distsim.results.timeline.lanes import with_lanes
from distsim.results.timeline.source import FIXED
from distsim.results.timeline.wire import varint

# Bytes at most, beside times, values and texts: of the two events of a slice, an argument, an interned string, a track.
# Sequence, flags, kinds and lengths are 1 or 2 bytes each with their tags; numbers of tracks and strings at most 4.
SLICE_BYTES, INTEGER_BYTES, TEXT_BYTES, STRING_BYTES, TRACK_BYTES = 41, 6, 11, 14, 40
LONGEST = 0.5
STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: its multiples fall evenly, however many are taken


def count_of(rows: pl.LazyFrame) -> int:
    """Number of rows."""
    return int(rows.select(pl.len()).collect().item())


def kept_rows(lengths: np.ndarray, rows: np.ndarray, room: int) -> np.ndarray:
    """Which of the rows are kept, bool[]. lengths : i8, of the slices; rows : u8, numbers of the rows in the record,
    rising. Slices of one length are taken in the order of the record."""
    count = len(lengths)
    if count <= room:
        return np.ones(count, bool)
    kept = np.zeros(count, bool)
    longest = int(max(room, 0) * LONGEST)
    if longest:
        least = np.partition(lengths, count - longest)[count - longest]
        kept = lengths > least
        kept[np.flatnonzero(lengths == least)[:longest - int(kept.sum())]] = True
    others = np.flatnonzero(~kept)
    if room > longest:
        turn = rows[others] * STEP  # modulo 2**64
        kept[others[np.argpartition(turn, room - longest - 1)[:room - longest]]] = True
    return kept


class Sample:
    """Rows that are kept, thinned as need be. rows : of a source. room : how many at most."""

    def __init__(self, rows: pl.LazyFrame, room: int) -> None:
        lengths = rows.select((pl.col("end_ns") - pl.col("begin_ns")).alias("length")).collect()["length"].to_numpy()
        numbers = np.arange(len(lengths), dtype=np.uint64)
        kept = kept_rows(lengths, numbers, room)
        self._lengths, self._numbers = lengths[kept], numbers[kept]
        if kept.all():
            self.frame = rows.collect()
        else:
            chosen = pl.LazyFrame({"_row": self._numbers})
            numbered = rows.with_row_index("_row").with_columns(pl.col("_row").cast(pl.UInt64))
            self.frame = numbered.join(chosen, on="_row", how="semi").sort("_row").drop("_row").collect()

    def thin(self, room: int) -> None:
        """Keeps at most `room`."""
        kept = kept_rows(self._lengths, self._numbers, room)
        self._lengths, self._numbers = self._lengths[kept], self._numbers[kept]
        self.frame = self.frame.filter(pl.Series(kept))


def bytes_of(rows: pl.DataFrame) -> int:
    """How many bytes the rows take in a trace at most, their strings and tracks included. rows : with lanes."""
    if not rows.height:
        return 0
    each = SLICE_BYTES + 2 * _digits(rows["end_ns"])
    strings = _text_bytes(rows["name"], STRING_BYTES)
    for name in rows.columns:
        if name in (*FIXED, "lane"):
            continue
        if rows.schema[name] == pl.String:
            each += TEXT_BYTES
            strings += _text_bytes(rows[name].drop_nulls(), STRING_BYTES)
        else:
            each += INTEGER_BYTES + _digits(rows[name])
    tracks = rows.select("track", "lane").unique()["track"]
    return rows.height * each + strings + int(tracks.str.len_bytes().sum()) + TRACK_BYTES * len(tracks)


def _digits(numbers: pl.Series) -> int:
    """Bytes of the longest of the numbers as a varint."""
    ends = [int(number) for number in pl.concat([numbers.sort().head(1), numbers.sort().tail(1)]).drop_nulls()]
    return max((len(varint(number & 0xFFFFFFFFFFFFFFFF)) for number in ends), default=1)


def _text_bytes(texts: pl.Series, beside: int) -> int:
    different = texts.unique()
    return int(different.str.len_bytes().sum()) + beside * len(different)


def fitted(rows: pl.LazyFrame, limit_bytes: int) -> tuple[pl.DataFrame, int]:
    """As many of the rows as take at most `limit_bytes` in a trace, with lanes, and the bytes that they take."""
    sample = Sample(rows, limit_bytes // (SLICE_BYTES + 2))
    while True:
        kept = with_lanes(sample.frame)
        needed = bytes_of(kept)
        if needed <= limit_bytes:
            return kept, needed
        sample.thin(min(kept.height - 1, int(kept.height * limit_bytes / needed * 0.99)))


def share_out(rows: Sequence[pl.LazyFrame], totals: Sequence[int], limit_bytes: int) -> list[pl.DataFrame]:
    """Of every source what fits, all together `limit_bytes`: each may have an equal share of what is left, the one with
    fewest rows first, so that what it does not need is for those after it."""
    kept: dict[int, pl.DataFrame] = {}
    for place, number in enumerate(sorted(range(len(rows)), key=totals.__getitem__)):
        kept[number], taken = fitted(rows[number], limit_bytes // (len(rows) - place))
        limit_bytes -= taken
    return [kept[number] for number in range(len(rows))]
