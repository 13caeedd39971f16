"""What operations do, written a second time from `workload.types` and the table of decisions, without the engine.

All but messages over the fabric. One queue of everything that happens, one list of what each operation has left; times
are exact fractions. With `whole`, what each operation gets between two changes of the number served is rounded down to
whole picoseconds, as the engine documents.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from distsim.workload.types import COMPUTE, DELAY, JOIN, LOCAL, LOCAL_IN, ON_FIRE, ON_LOCAL, ON_SEND_DONE, ON_SENT


class Op(NamedTuple):
    """An operation in the order of columns that `simmodels.op_rows` reads; user_id and size_bytes decide nothing."""

    user_id: int
    kind: int
    any_of: int
    host: int
    dst: int = -1
    size_bytes: int = 0
    start_ps: int = 0
    deps: int = 0
    delay_ps: int = 0
    work_ps: int = 0


class Edge(NamedTuple):
    """`src` tells `dst` of `when`; places in the list of operations."""

    src: int
    dst: int
    when: int
    delay_ps: int


@dataclass
class Shared:
    """An NPU, or one way of a scale-up port: serves operations at once, each with an equal part of its rate."""

    whole: bool
    left: dict[int, Fraction] = field(default_factory=dict)     # work left of those served, ps
    turns: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))      # by peer: served first, others
    last: Fraction = Fraction(0)  # of the latest change
    plan: int = 0                 # number of the latest look at who ends next; older ones are void
    rounded: int = 0              # changes at which the parts were no whole picoseconds
    most: int = 0                 # the most that were served at once

    def advance(self, now: Fraction) -> None:
        """Give those served what they have got since the last change."""
        if self.left:
            part = (now - self.last) / len(self.left)
            self.rounded += part % 1 != 0
            self.most = max(self.most, len(self.left))
            for op in self.left:
                self.left[op] -= part // 1 if self.whole else part
        self.last = now

    def first_end(self) -> tuple[Fraction, int]:
        """When the next of those served ends, as things are; the lowest if several do."""
        op = min(self.left, key=lambda op: (self.left[op], op))
        return self.last + self.left[op] * len(self.left), op


@dataclass
class Result:
    """When each operation was done, and what came of sharing."""

    done: list[Fraction | None]                     # None: never
    turns: dict[tuple[int, int, int], list[int]]    # transfers by (host, kind, peer) in their order of service
    rounded: int                                    # changes at which the parts were no whole picoseconds
    most: int                                       # the most that were served at once


class Reference:
    """Runs operations to the end."""

    def __init__(self, ops: list[Op], edges: list[Edge], *, whole: bool) -> None:
        self.ops = ops
        self.whole = whole
        self.told: dict[tuple[int, int], list[Edge]] = defaultdict(list)
        for edge in edges:
            self.told[edge.src, edge.when].append(edge)
        self.shared: dict[tuple[int, int], Shared] = {}
        self.events: list[tuple[Fraction, int, int, Callable[[int, Fraction], None]]] = []
        self.numbered = 0
        self.notices = [0] * len(ops)
        self.halves = [0] * len(ops)         # of a LOCAL_IN: its first byte, its last, and being served
        self.done: list[Fraction | None] = [None] * len(ops)
        self.turns: dict[tuple[int, int, int], list[int]] = defaultdict(list)

    def run(self) -> Result:
        for op, row in enumerate(self.ops):
            if row.deps == 0 and row.kind != LOCAL_IN:
                self.at(Fraction(row.start_ps + row.delay_ps), op, self.start)
        while self.events:
            now, op, _, happens = heapq.heappop(self.events)
            happens(op, now)
        return Result(self.done, dict(self.turns), sum(each.rounded for each in self.shared.values()),
                      max((each.most for each in self.shared.values()), default=0))

    def at(self, time: Fraction, op: int, happens: Callable[[int, Fraction], None]) -> None:
        """Let something happen to an operation; at one instant in the order of operations."""
        self.numbered += 1
        heapq.heappush(self.events, (time, op, self.numbered, happens))

    # ---- notices -----------------------------------------------------------------------------------------------------
    def report(self, op: int, when: int, now: Fraction) -> None:
        for edge in self.told[op, when]:
            here = self.ops[edge.dst].host == self.ops[op].host
            self.at(now if here else now + edge.delay_ps, edge.dst, self.byte if when == ON_LOCAL else self.notice)

    def notice(self, op: int, now: Fraction) -> None:
        """The last of all, or the k-th of any k, makes it ready."""
        row = self.ops[op]
        self.notices[op] += 1
        if self.notices[op] == (row.any_of or row.deps):
            self.at(max(now, Fraction(row.start_ps)) + row.delay_ps, op, self.start)

    def finish(self, op: int, now: Fraction) -> None:
        self.done[op] = now
        self.report(op, ON_SEND_DONE if self.ops[op].kind == LOCAL else ON_FIRE, now)

    def start(self, op: int, now: Fraction) -> None:
        row = self.ops[op]
        if row.kind in (JOIN, DELAY):
            self.at(now + row.work_ps, op, self.finish)
        elif row.kind == COMPUTE:
            self.serve(op, now)
        else:
            self.queue(op, now)

    # ---- what is shared ----------------------------------------------------------------------------------------------
    def of(self, op: int) -> Shared:
        return self.shared.setdefault((self.ops[op].host, self.ops[op].kind), Shared(self.whole))

    def queue(self, op: int, now: Fraction) -> None:
        """A transfer is served at once, or after those that are before it between the same two hosts."""
        turn = self.of(op).turns[self.ops[op].dst]
        turn.append(op)
        self.turns[self.ops[op].host, self.ops[op].kind, self.ops[op].dst].append(op)
        if len(turn) == 1:
            self.serve(op, now)

    def serve(self, op: int, now: Fraction) -> None:
        if self.ops[op].kind == LOCAL:
            self.report(op, ON_LOCAL, now)         # its first byte leaves
        self.of(op).advance(now)
        self.of(op).left[op] = Fraction(self.ops[op].work_ps)
        self.look(self.of(op))

    def look(self, shared: Shared) -> None:
        """Foresee the next end."""
        plan = shared.plan = shared.plan + 1
        if shared.left:
            end, op = shared.first_end()
            self.at(end, op, lambda op, now: self.served(op, now) if shared.plan == plan else None)

    def served(self, op: int, now: Fraction) -> None:
        shared, row = self.of(op), self.ops[op]
        shared.advance(now)
        assert shared.left.pop(op) == 0
        turn = shared.turns[row.dst]
        del turn[:1]
        self.look(shared)
        if row.kind == COMPUTE:
            self.finish(op, now)
        elif row.kind == LOCAL_IN:
            self.step(op, now)
        else:
            self.leave(op, now)
        if turn:
            self.serve(turn[0], now)

    # ---- transfers ---------------------------------------------------------------------------------------------------
    def leave(self, op: int, now: Fraction) -> None:
        """The last byte leaves; it is acknowledged a round trip later."""
        self.report(op, ON_LOCAL, now)
        self.report(op, ON_SENT, now)
        self.at(now + 2 * self.told[op, ON_LOCAL][0].delay_ps, op, self.finish)

    def byte(self, op: int, now: Fraction) -> None:
        """The first byte of a transfer is there, or its last."""
        if self.halves[op] == 0:
            self.queue(op, now)
        self.step(op, now)

    def step(self, op: int, now: Fraction) -> None:
        """A LOCAL_IN is done once the first byte is there, the last one too, and it has been served."""
        self.halves[op] += 1
        if self.halves[op] == 3:
            self.finish(op, now)
