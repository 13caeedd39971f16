"""Estimates: as many transfers and bytes as lowering makes, counted by hand too."""

from __future__ import annotations

import numpy as np
import pytest
from lower_cases import coll, graph

from distsim.errors import InputError
from distsim.workload.collectives.schedule import Options
from distsim.workload.estimate import Estimate, of_collective
from distsim.workload.graph import ALL_REDUCE, ALL_TO_ALL
from distsim.workload.lower import Settings, lower
from distsim.workload.types import SEND


def lowered(collective: int, members: int, size: int, settings: Settings) -> tuple[int, int]:
    """Messages and bytes of one collective of all ranks."""
    made = graph(members, [coll(rank, collective, size) for rank in range(members)], (), [list(range(members))])
    ops = lower(made, settings, np.arange(members, dtype="i4"), members).ops
    sends = ops[ops["kind"] == SEND]
    return len(sends), int(sends["size_bytes"].sum())


def test_by_hand_and_as_lowered() -> None:
    # A ring of 3: 3 ranks send 4 times 100 bytes; all-to-all of 2, five times: each sends 10.
    assert of_collective(ALL_REDUCE, 3, 300, Settings()) == Estimate(12, 1200, collectives=1)
    assert of_collective(ALL_TO_ALL, 2, 20, Settings(), 5) == Estimate(10, 100, collectives=5)
    assert lowered(ALL_REDUCE, 3, 300, Settings()) == (12, 1200) and lowered(ALL_TO_ALL, 2, 20, Settings()) == (2, 20)
    chunked = Settings(options=Options(channels=2, chunk_bytes=20, slices=2, protocol="ll"))
    found = of_collective(ALL_REDUCE, 3, 300, chunked)
    assert (found.transfers, found.size_bytes) == lowered(ALL_REDUCE, 3, 300, chunked) and found.transfers > 12


def test_a_group_of_one_sends_nothing() -> None:
    assert of_collective(ALL_REDUCE, 1, 100, Settings(), 5) == Estimate(0, 0, collectives=5)


def test_an_algorithm_that_does_not_fit() -> None:
    settings = Settings(algorithms={ALL_REDUCE: "halving-doubling"})
    with pytest.raises(InputError, match=r"all_reduce by halving-doubling among 3 ranks: .*power of two"):
        of_collective(ALL_REDUCE, 3, 100, settings)
