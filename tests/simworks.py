"""Operations beyond messages for the random workloads of `simmodels`: what shares an NPU or a scale-up port, delays."""

from __future__ import annotations

import random
from typing import NamedTuple

from distsim.workload.types import (
    COMPUTE,
    DELAY,
    LOCAL,
    LOCAL_IN,
    ON_FIRE,
    ON_LOCAL,
    ON_RECV_DONE,
    ON_SEND_DONE,
    ON_SENT,
    SEND,
    TRIGGER_DELAY,
)


class Ranges(NamedTuple):
    """What is drawn from for the operations of one workload, ps. notices : delays of edges to another host."""

    starts: tuple[int, ...]
    delays: tuple[int, ...]
    works: tuple[int, ...]
    latencies: tuple[int, ...]
    notices: tuple[int, ...]


SPREAD = Ranges((0, 0, 7, 1_000_000), (0, 0, 5_000), (0, 1, 999, 100_000, 100_000, 3_000_000),
                (1, 1_000, 100_000, 936_000), (TRIGGER_DELAY,))
TIED = Ranges((0, 1, 2, 3), (0, 0, 1), (0, 1, 2, 3), (1, 2), (TRIGGER_DELAY, 1, 1, 2))      # much at one instant


def add_works(rng: random.Random, hosts: int, ops: list[list], edges: list[tuple], count: int) -> None:
    """Operations of one workload: among all hosts, or among two, so that transfers wait for each other."""
    ranges = rng.choice([SPREAD, SPREAD, TIED])
    busy = rng.sample(range(hosts), rng.choice([2, hosts]))
    for _ in range(count):
        add_work(rng, busy, ranges, ops, edges)


def add_work(rng: random.Random, busy: list[int], ranges: Ranges, ops: list[list], edges: list[tuple]) -> None:
    """One more operation that shares an NPU, takes its time, or goes over the scale-up port; others wait for it.

    busy : hosts that it is among.
    """
    host = rng.choice(busy)
    kind = rng.choice([COMPUTE, COMPUTE, DELAY, LOCAL, LOCAL])
    row = len(ops)
    dst = rng.choice([other for other in busy if other != host]) if kind == LOCAL else -1
    work = rng.choice(ranges.works)
    ops.append([row + 1, kind, 0, host, dst, 40_000, rng.choice(ranges.starts), 0, rng.choice(ranges.delays), work])
    for before in rng.sample(range(row), min(row, rng.choice([0, 1, 2, 3]))):
        connect(rng, ranges, ops, edges, before, row)
    ops[row][2] = rng.choice([0, rng.randint(0, ops[row][7])])      # starts at the k-th notice
    ends = [row]
    if kind == LOCAL:
        ops.append([row + 2, LOCAL_IN, 0, dst, host, 40_000, 0, 0, 0, work])
        edges.append((row, row + 1, ON_LOCAL, rng.choice(ranges.latencies)))
        ends.append(row + 1)
    if rng.random() < 0.7:
        add_waiting(rng, busy, ranges, ops, edges, rng.choice(ends))


def add_waiting(rng: random.Random, busy: list[int], ranges: Ranges, ops: list[list], edges: list[tuple],
                end: int) -> None:
    """A message of the same host that waits for an operation."""
    host, row = ops[end][3], len(ops)
    dst = rng.choice([other for other in busy if other != host])
    ops.append([row + 1, SEND, 0, host, dst, rng.choice([0, 9_000]), 0, 0, rng.choice([0, 2_000]), 0])
    connect(rng, ranges, ops, edges, end, row)


def connect(rng: random.Random, ranges: Ranges, ops: list[list], edges: list[tuple], src: int, dst: int) -> None:
    """Let `dst` wait for one of the reports of `src`, of those that its kind makes."""
    kind = ops[src][1]
    whens = {SEND: [ON_SEND_DONE, ON_RECV_DONE, ON_SENT], LOCAL: [ON_SEND_DONE, ON_SENT]}.get(kind, [ON_FIRE])
    edges.append((src, dst, rng.choice(whens), rng.choice(ranges.notices)))
    ops[dst][7] += 1
