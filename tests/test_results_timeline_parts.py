"""Parts of a timeline by themselves: which slices a sample keeps, lanes, the encoding."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto_cases import fields, signed

from distsim.results.timeline import wire
from distsim.results.timeline.lanes import with_lanes
from distsim.results.timeline.sampling import kept_rows


@given(lengths=st.lists(st.integers(0, 20), max_size=200), room=st.integers(0, 60), less=st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_what_is_kept_is_the_longest_and_part_of_what_is_kept_with_more_room(lengths, room, less):
    sizes, numbers = np.array(lengths, "i8"), np.arange(len(lengths), dtype="u8")
    kept = kept_rows(sizes, numbers, room)
    assert kept.sum() == min(room, len(lengths))
    by_length = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    assert len(lengths) <= room or kept[by_length[:room // 2]].all()
    fewer = kept_rows(sizes, numbers, min(less, room))
    assert not (fewer & ~kept).any()
    thinned = kept_rows(sizes[kept], numbers[kept], min(less, room))
    assert numbers[kept][thinned].tolist() == numbers[fewer].tolist()


def test_the_sample_is_even():
    kept = np.flatnonzero(kept_rows(np.ones(100_000, "i8"), np.arange(100_000, dtype="u8"), 2000))
    spread = kept[kept > 2000]  # of equal slices the first are the longest
    gaps = np.diff(spread)
    assert gaps.max() <= 3 * gaps.min() and len(set(gaps.tolist())) <= 3


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 9)), max_size=60))
@settings(max_examples=200, deadline=None)
def test_slices_of_a_lane_do_not_overlap_and_there_are_no_more_lanes_than_needed(slices):
    frame = pl.DataFrame([(track, begin, begin + length) for track, begin, length in slices],
                         schema={"track": pl.String, "begin_ns": pl.Int64, "end_ns": pl.Int64}, orient="row")
    laned = with_lanes(frame)
    assert sorted(laned.drop("lane").rows()) == sorted(frame.rows())
    for part in laned.partition_by("track", "lane"):
        assert all(one[2] <= two[1] for one, two in pairwise(part.rows()))
    for (track,), part in laned.group_by("track"):
        at_once = max(sum(begin <= time < end or begin == time for name, begin, end in frame.rows() if name == track)
                      for time in part["begin_ns"])
        assert part["lane"].max() + 1 <= at_once


@given(st.integers(0, 2**64 - 1), st.integers(-2**63, 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"])),
       st.floats(allow_nan=False), st.integers(1, 2**29 - 1))
def test_the_encoding_is_read_back(one, two, text, number, place):
    found = fields(wire.uint(place, one) + wire.sint(place, two) + wire.text(place, text) + wire.double(place, number))
    assert found[place][0] == one and signed(found[place][1]) == two and found[place][2].decode() == text
    assert struct.unpack("<d", found[place][3])[0] == number
    with pytest.raises(ValueError, match="is negative"):
        wire.uint(1, -1)
