"""Slices of a track that overlap go to lanes of it: on a lane each ends before the next begins."""

from __future__ import annotations

import heapq

import polars as pl


def with_lanes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows by track, begin, end, with `lane`, from 0: the first that is free when the slice begins."""
    ordered = rows.sort("track", "begin_ns", "end_ns", maintain_order=True)
    lanes: list[int] = []
    track = None
    free: list[int] = []
    busy: list[tuple[int, int]] = []  # (end, lane)
    for name, begin, end in ordered.select("track", "begin_ns", "end_ns").iter_rows():
        if name != track:
            track, free, busy = name, [], []
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        lane = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, lane))
        lanes.append(lane)
    return ordered.with_columns(pl.Series("lane", lanes, pl.Int64))
