"""Lowering is quick and small: processor time, and memory a transfer."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from lower_cases import coll, graph, tiny

from distsim.workload import collectives
from distsim.workload.collectives.schedule import TRANSFERS, WAITS, Options, Schedule
from distsim.workload.lower import Settings, lower

pytestmark = pytest.mark.usefixtures("tiny")
assert tiny


def test_many_transfers_take_little_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks, steps = 64, 8000
    count = ranks * steps

    def big_ring(collective: int, algorithm: str, members: int, size: int, *rest: object) -> Schedule:
        row = np.arange(count)
        transfers = np.zeros(count, TRANSFERS)
        transfers["src"], transfers["dst"] = row % ranks, (row + 1) % ranks
        late = row[ranks:]
        received, sent = np.zeros(len(late), WAITS), np.zeros(len(late), WAITS)
        received["transfer"] = sent["transfer"] = late
        received["on"] = (late // ranks - 1) * ranks + (late - 1) % ranks
        sent["on"] = late - ranks
        return Schedule(members, transfers, received, sent)

    monkeypatch.setattr(collectives, "expand", big_ring)
    monkeypatch.setattr(collectives, "message_count", lambda *rest: count)
    case = graph(ranks, [coll(rank) for rank in range(ranks)], groups=[list(range(ranks))])
    tracemalloc.start()
    start = time.process_time()
    made = lower(case, Settings(options=Options()), np.arange(ranks), ranks)
    taken, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made.ops) == 2 * ranks + count and len(made.edges) == 2 * count - ranks + 2 * ranks
    assert taken < 3 and peak < 300 * count


def test_many_small_collectives_take_little_time() -> None:
    ranks, each = 16, 400
    groups = [[rank, rank + 1] for rank in range(0, ranks, 2)]
    rows = [coll(rank, size=8 + 2 * (k % 2), group=rank // 2) for rank in range(ranks) for k in range(each)]
    start = time.process_time()
    made = lower(graph(ranks, rows, groups=groups), Settings(synchronization=True), np.arange(ranks), ranks)
    assert time.process_time() - start < 2
    assert len(made.instances) == 3200 and len(made.ops) == 3 * 6400 + 3200 * (2 + 4)


def test_a_quarter_million_sends_are_matched_quickly() -> None:
    ranks, each = 100, 2500
    case = graph(ranks, [])
    nodes = np.zeros(2 * ranks * each, case.nodes.dtype)
    nodes["rank"] = np.repeat(np.arange(ranks), 2 * each)
    nodes["kind"] = np.tile([2, 3], ranks * each)
    nodes["peer"] = (nodes["rank"] + np.where(nodes["kind"] == 2, 1, -1)) % ranks
    nodes["tag"] = np.tile(np.repeat(np.arange(each) % 7, 2), ranks)
    nodes["issue"] = nodes["group"] = -1
    case.nodes = nodes
    start = time.process_time()
    made = lower(case, Settings(), np.arange(ranks), ranks)
    assert time.process_time() - start < 4
    assert made.warnings == [] and len(made.edges) == ranks * each
    assert (np.bincount(made.edges["dst"], minlength=len(nodes)) == (nodes["kind"] == 3)).all()
