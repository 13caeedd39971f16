"""Operations that do not use the fabric, against a reference of their own (`op_reference`), in exact fractions.

Random small graphs: ties, transfers that queue, k-th notices, delays, reports to other hosts. Where no part of a rate
makes a remainder the engine is exact; elsewhere it loses less than 1 ps of work at a change of the number served.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest
from engine_cases import Run, model, one_rack
from op_reference import Edge, Op, Reference, Result

from distsim.state import tables as t
from distsim.state.allocate import to_array
from distsim.workload.types import (
    COMPUTE,
    DELAY,
    JOIN,
    LOCAL,
    LOCAL_IN,
    ON_FIRE,
    ON_LOCAL,
    ON_SEND_DONE,
    ON_SENT,
)

SEEDS = range(60)
HOSTS = 4
DIVISIBLE = 60**5             # picoseconds that can be divided by 2, 3, 4, 5 and 6 again and again
SHORT = (0, 1, 2, 3)
RANGES = (                    # starts and delays; works
    (SHORT, SHORT),
    (SHORT, (1, 2, 3, 7, 10)),
    (SHORT, (5, 20, 20, 70, 101)),
    ((0, 5, 10), (1, 20, 20, 70, 101)),
    ((0, 1000, 2000), (0, 1000, 3000, 10_000)),
    ((0, 1, 999, 100_000), (0, 100_000, 300_000, 3_000_000)),
)


# ---- random graphs ---------------------------------------------------------------------------------------------------
@dataclass
class Dice:
    """Choices of a seed. times : starts and delays; latencies : of notices and transfers between hosts; all ps."""

    rng: random.Random
    hosts: int
    times: list[int]
    works: list[int]
    latencies: list[int]


def dice(seed: int) -> Dice:
    rng = random.Random(seed)
    scale = rng.choice([1, DIVISIBLE])
    ranges = *rng.choice(RANGES), rng.choice([(1, 2), (1, 2), (1, 1000, 300_000)])
    return Dice(rng, rng.choice([2, 2, 3, HOSTS]), *([scale * each for each in several] for several in ranges))


def random_graph(seed: int) -> tuple[list[Op], list[Edge]]:
    """Up to 30 operations and the arriving halves of transfers, in any order."""
    chance = dice(seed)
    ops: list[Op] = []
    edges: list[Edge] = []
    for _ in range(chance.rng.randint(4, 30)):
        add_operation(chance, ops, edges)
    return shuffled(chance.rng, ops, edges)


def add_operation(chance: Dice, ops: list[Op], edges: list[Edge]) -> None:
    """One more, which may wait for those before; a transfer with its other half."""
    rng = chance.rng
    kind = rng.choice([COMPUTE, COMPUTE, COMPUTE, DELAY, JOIN, LOCAL, LOCAL, LOCAL])
    host = rng.choice([0, rng.randrange(chance.hosts)])         # the first has most to share
    row, deps = len(ops), rng.choice([0, 0, 0, 0, 0, 1, 2, 3]) if ops else 0
    for _ in range(deps):
        before = rng.randrange(row)
        when = rng.choice([ON_SEND_DONE, ON_SENT]) if ops[before].kind == LOCAL else ON_FIRE
        edges.append(Edge(before, row, when, rng.choice(chance.latencies)))
    work = 0 if kind == JOIN else rng.choice(chance.works)
    peer = rng.choice([other for other in range(chance.hosts) if other != host]) if kind == LOCAL else -1
    ops.append(Op(0, kind, any_of=rng.randint(0, deps), host=host, dst=peer, start_ps=rng.choice(chance.times),
                  deps=deps, delay_ps=rng.choice([0, 0, 0, 0, *chance.times]), work_ps=work))
    if kind == LOCAL:
        ops.append(Op(0, LOCAL_IN, 0, host=peer, dst=host, work_ps=work))
        edges.append(Edge(row, row + 1, ON_LOCAL, rng.choice(chance.latencies)))


def shuffled(rng: random.Random, ops: list[Op], edges: list[Edge]) -> tuple[list[Op], list[Edge]]:
    """The same graph with its operations in another order: the lower goes first at one instant."""
    order = rng.sample(range(len(ops)), len(ops))
    place = {old: new for new, old in enumerate(order)}
    return [ops[old] for old in order], [edge._replace(src=place[edge.src], dst=place[edge.dst]) for edge in edges]


# ---- the two ways ----------------------------------------------------------------------------------------------------
def by_engine(ops: list[Op], edges: list[Edge]) -> list[int]:
    """When each is done, ps."""
    going = Run(model(one_rack(HOSTS), list[tuple](ops), list[tuple](edges))).end()
    rows = to_array(going.state.ops, t.OP)
    assert (rows["state"] == t.OP_DONE).all()
    found = dict(zip(rows["user_id"].tolist(), rows["done_ps"].tolist(), strict=True))
    return [found[number] for number in range(1, len(ops) + 1)]


def agree(seed: int) -> Result:
    """Compare the engine with the reference; returns what that gives in exact fractions."""
    ops, edges = random_graph(seed)
    exact = Reference(ops, edges, whole=False).run()
    whole = Reference(ops, edges, whole=True).run()
    found = by_engine(ops, edges)
    assert found == whole.done
    if exact.rounded == 0:
        assert found == exact.done
    elif exact.turns == whole.turns:         # else rounding lets another transfer go first
        assert furthest(found, exact.done) < max(exact.rounded, whole.rounded) * max(exact.most, whole.most)
    return exact


def furthest(found: list[int], exact: list[Fraction | None]) -> Fraction:
    """The greatest difference, ps."""
    return max(abs(a - b) for a, b in zip(found, exact, strict=True) if b is not None)


@pytest.mark.core
@pytest.mark.parametrize("seed", SEEDS)
def test_the_engine_does_what_the_reference_does(seed: int) -> None:
    agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("begin", range(1000, 3000, 100))
def test_the_engine_does_what_the_reference_does_long(begin: int) -> None:
    for seed in range(begin, begin + 100):
        agree(seed)


def test_the_seeds_try_what_they_are_for() -> None:
    # Of the 60: rates shared without a remainder, with one, and several transfers between the same two hosts.
    results = [Reference(*random_graph(seed), whole=False).run() for seed in SEEDS]
    assert sum(result.rounded == 0 and result.most > 1 for result in results) > 25
    assert sum(result.rounded > 0 for result in results) > 10
    assert sum(any(len(turn) > 1 for turn in result.turns.values()) for result in results) > 25
