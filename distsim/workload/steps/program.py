"""What a rank does in a step, the same on every rank: nodes in order, each with those that it waits for."""

from __future__ import annotations

from dataclasses import dataclass

from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLL, COMP, FIXED, META, REDUCE_SCATTER
from distsim.workload.simai_degrees import DP, EP, TP, Degrees

from .spec import TrainingSpec


@dataclass(frozen=True)
class Node:
    """kind : COMP, FIXED, COLL or META; after : earlier nodes of the rank that it waits for; domain : of a COLL;
    size_bytes : as NODES.size_bytes."""

    kind: int
    after: tuple[int, ...]
    duration_ps: int = 0
    collective: int = 0
    domain: str = ""
    size_bytes: int = 0


class Program:
    """The nodes of some steps in a row. ends : the last node of each step, on which the next one begins."""

    def __init__(self, spec: TrainingSpec, degrees: Degrees):
        self.spec, self.degrees = spec, degrees
        self.nodes: list[Node] = []
        self.ends: list[int] = []
        self._tail: tuple[int, ...] = ()
        self._open: list[int] = []                 # collectives that run beside the main line

    def step(self) -> None:
        """Add a step."""
        spec = self.spec
        for part_ps in shares(spec.forward_ps, spec.layers):
            self._pass(part_ps)
        buckets = shares(spec.gradients, spec.buckets)
        sent = 0
        for part, part_ps in enumerate(shares(spec.backward_ps, spec.layers), 1):
            self._pass(part_ps)
            ready = part * spec.buckets // spec.layers if spec.overlap else 0
            for size_bytes in buckets[sent:ready]:
                self._reduce(size_bytes)
            sent = max(sent, ready)
        for size_bytes in buckets[sent:]:
            self._reduce(size_bytes)
        self._wait()
        self._time(FIXED, spec.optimizer)
        if spec.gradient_sync == "reduce_scatter":
            for size_bytes in shares(spec.gradients if spec.parameters is None else spec.parameters, spec.buckets):
                # An all_gather counts what each member gives (collectives/README.md).
                self._beside(ALL_GATHER, DP, -(-size_bytes // self.degrees.members(DP)))
            self._wait()
        self._add(Node(META, self._tail))
        self.ends.append(len(self.nodes) - 1)

    def pause(self, duration_ps: int) -> None:
        """Nothing but time, in place of a step."""
        self._time(FIXED, duration_ps)
        self._add(Node(META, self._tail))
        self.ends.append(len(self.nodes) - 1)

    def _pass(self, part_ps: int) -> None:
        """A part of a pass and the collectives that hold it up."""
        self._time(COMP, part_ps)
        for collective, domain, size_bytes in ((ALL_REDUCE, TP, self.spec.tensor_size),
                                               (ALL_TO_ALL, EP, self.spec.expert_size)):
            if size_bytes and self.degrees.members(domain) > 1:
                self._add(Node(COLL, self._tail, 0, collective, domain, int(size_bytes)))

    def _reduce(self, size_bytes: int) -> None:
        self._beside(ALL_REDUCE if self.spec.gradient_sync == "all_reduce" else REDUCE_SCATTER, DP, size_bytes)

    def _beside(self, collective: int, domain: str, size_bytes: int) -> None:
        if size_bytes and self.degrees.members(domain) > 1:
            self.nodes.append(Node(COLL, self._tail, 0, collective, domain, size_bytes))
            self._open.append(len(self.nodes) - 1)

    def _wait(self) -> None:
        """The main line waits for what runs beside it."""
        self._tail = tuple(dict.fromkeys((*self._tail, *self._open)))
        self._open = []

    def _time(self, kind: int, duration_ps: int) -> None:
        if duration_ps:
            self._add(Node(kind, self._tail, int(duration_ps)))

    def _add(self, node: Node) -> None:
        self.nodes.append(node)
        self._tail = (len(self.nodes) - 1,)


def shares(amount: int, parts: int) -> list[int]:
    """`amount` in so many whole parts that differ by at most 1."""
    amount = int(amount)
    return [amount * (part + 1) // parts - amount * part // parts for part in range(parts)]
