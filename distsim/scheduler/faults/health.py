"""Which faults there are, and what they make of the nodes: chips isolated or without a network, node state, sub-health.

What a fault takes is given back when it ends; what was barred before stays so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from distsim.scheduler.faults.fault import (
    CARD_UNHEALTHY,
    FABRIC_TARGETS,
    NODE_UNHEALTHY,
    RESTART_REQUEST,
    SUB_HEALTH,
    Fault,
)
from distsim.scheduler.faults.levels import Effects, effects
from distsim.scheduler.faults.options import options_of
from distsim.scheduler.state import NodeState, State
from distsim.scheduler.types import Task, TaskState

# Seed 001: RestartRequest on a card of an inference job that has subscribed; not beyond it.
SPARED_MS = 60_000
# Default time of the RoCE network: a link that is down no longer is no fault for the scheduler (cluster.md section 6;
# docs/en/scheduling/04_usage/04_resumable_training/01_solutions_principles.md, "Chip network fault").
LINK_IGNORED_MS = 20_000


@dataclass(frozen=True)
class Active:
    """A fault that is there. since_ms : when it began."""

    fault: Fault
    since_ms: int
    effects: Effects


@dataclass(frozen=True)
class Trouble:
    """What a task has with the faults of its node.

    reason : NodeUnhealthy, CardUnhealthy or SubHealthFault (the job's strategy decides), the gravest. faults : those
    that hit the task so. lost : the node's status is lost.
    """

    reason: str
    faults: tuple[Fault, ...]
    lost: bool = False


@dataclass
class _Base:
    """A node as it was before its first fault."""

    barred: int
    cut: int
    healthy: bool
    sub_healthy: bool


class Health:
    """The faults of nodes, chips and their network."""

    def __init__(self, state: State):
        self.state = state
        self.active: dict[int, Active] = {}
        self._by_node: dict[str, dict[int, Active]] = {}
        self._base: dict[str, _Base] = {}

    def begin(self, fault: Fault, now_ms: int) -> None:
        """A fault begins."""
        one = self.active.setdefault(fault.index, Active(fault, now_ms, effects(fault)))
        for name in fault.nodes:
            at = self.state.nodes[name]
            self._base.setdefault(name, _Base(at.barred, at.cut, at.healthy, at.sub_healthy))
            self._by_node.setdefault(name, {})[fault.index] = one
            self._refresh(name, now_ms)

    def end(self, fault: Fault, now_ms: int) -> bool:
        """A fault ends; whether it was there (a hot reset may have ended it before)."""
        if self.active.pop(fault.index, None) is None:
            return False
        for name in fault.nodes:
            del self._by_node[name][fault.index]
            self._refresh(name, now_ms)
            if not self._by_node[name]:
                del self._by_node[name], self._base[name]
        return True

    def on(self, node: str) -> list[Active]:
        """The faults that touch a node, in the order in which they began."""
        return list(self._by_node.get(node, {}).values())

    def refresh(self, now_ms: int) -> None:
        """Bring all nodes with faults up to date."""
        for name in self._by_node:
            self._refresh(name, now_ms)

    def tasks(self) -> Iterator[Task]:
        """The running tasks on nodes that have a fault, by node in the order of the first faults."""
        for name in self._by_node:
            yield from [task for task in self.state.nodes[name].tasks.values() if task.state is TaskState.RUNNING]

    def trouble(self, task: Task, now_ms: int) -> Trouble | None:
        """What faults mean for a task that has a node, None when they leave it alone."""
        assert task.node is not None
        at, hits = self.state.nodes[task.node], self.on(task.node)
        node = tuple(one.fault for one in hits if one.effects.node_stops)
        if node:
            return Trouble(NODE_UNHEALTHY, node, any(one.effects.lost for one in hits))
        card = tuple(one.fault for one in hits if one.effects.stops & task.held & ~self._spared(one, at, now_ms))
        if card:
            return Trouble(CARD_UNHEALTHY, card)
        sub = tuple(one.fault for one in hits if one.effects.node_sub or one.effects.sub_chips & task.held)
        return Trouble(SUB_HEALTH, sub) if sub else None

    def next_ms(self, now_ms: int) -> int | None:
        """When a fault changes what it does by itself: a link is down for too long, a spared chip no longer spared."""
        due = [one.since_ms + LINK_IGNORED_MS + 1 for one in self.active.values()
               if one.fault.target in FABRIC_TARGETS and one.fault.cuts]
        due += [one.since_ms + SPARED_MS + 1 for one in self.active.values()
                if one.fault.level == RESTART_REQUEST and one.fault.fault_type == CARD_UNHEALTHY]
        return min((time for time in due if time > now_ms), default=None)

    def _refresh(self, name: str, now_ms: int) -> None:
        at, base = self.state.nodes[name], self._base[name]
        at.barred, at.cut = base.barred, base.cut
        at.healthy, at.sub_healthy = base.healthy, base.sub_healthy
        for one in self._by_node[name].values():
            at.barred |= one.effects.barred & ~self._spared(one, at, now_ms)
            at.cut |= self._cut(one, name, now_ms)
            at.healthy = at.healthy and not one.effects.closed
            at.sub_healthy = at.sub_healthy or one.effects.sub_healthy

    def _cut(self, one: Active, node: str, now_ms: int) -> int:
        if one.fault.target not in FABRIC_TARGETS:
            return one.effects.cut
        return dict(one.fault.cuts).get(node, 0) if now_ms - one.since_ms > LINK_IGNORED_MS else 0

    def _spared(self, one: Active, at: NodeState, now_ms: int) -> int:
        """Chips with a RestartRequest fault that are left alone up to 60 s: a subscribed inference job holds them."""
        fault = one.fault
        if fault.level != RESTART_REQUEST or now_ms - one.since_ms > SPARED_MS:
            return 0
        held = 0
        for task in at.tasks.values():
            job = self.state.jobs.get(task.job)
            if task.held & fault.mask and job is not None and options_of(job).subscribed:
                held |= task.held
        return held & fault.mask
