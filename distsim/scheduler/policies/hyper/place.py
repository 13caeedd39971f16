"""Where the pods of a request go: a whole job, or pods that lost their nodes beside those that keep theirs.

volcano-sh/volcano, docs/design/Network Topology Aware Scheduling.md: the HyperNode of a job is searched from the lowest
tier up, inside it that of each partition; a pod that comes later may not take the job (or its partition) beyond the
highest tier allowed, and goes as near to the others as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.hyper.asks import Asks
from distsim.scheduler.policies.hyper.choose import fill, fits, partitions
from distsim.scheduler.policies.hyper.lumps import Lump, lumps_of
from distsim.scheduler.policies.hyper.room import Room, is_sound
from distsim.scheduler.policies.hyper.tiers import Hyper, tree_of
from distsim.scheduler.types import Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


@dataclass
class Search:
    """A search in the making. lumps : what is to be placed. stuck : the lump that found no place last, and where it was
    looked for."""

    request: Request
    asks: Asks
    root: Hyper
    home: dict[str, Hyper]
    room: Room
    lumps: list[Lump]
    stuck: tuple[Lump, Hyper] | None = None

    def run(self) -> bool:
        """Find a seat for every task (`room.seats`); False if there is none for some."""
        if not self.beside:
            return any(self._below(top) for top in self._tops())
        return self._below(self._region(self._running(self.request.job.npu_tasks), self.asks.tier, self.root))

    @property
    def beside(self) -> bool:
        """Whether other pods of the job keep their nodes."""
        return any(task.node is not None for task in self.request.job.npu_tasks)

    def common(self, nodes: Iterable[NodeState]) -> Hyper:
        """The lowest HyperNode that holds all of these nodes."""
        homes = list({self.home[node.name].name: self.home[node.name] for node in nodes}.values())
        return next(hyper for hyper in homes[0].up if all(hyper.holds(other) for other in homes))

    def _tops(self) -> Iterable[Hyper]:
        """The HyperNodes that may hold a whole job, best first."""
        smallest = min((lump.tasks[0] for lump in self.lumps), key=lambda task: task.chips)
        pods, chips = len(self.request.tasks), sum(lump.chips for lump in self.lumps)
        self.room.measure(self.root, smallest)
        return [top for top in fits(self.root, self.asks.tier, pods) if top.chips >= chips or self.room.shares]

    def _below(self, top: Hyper) -> bool:
        """Place all lumps below a HyperNode: pods of damaged partitions first, which have the least choice, then whole
        partitions, the largest first, then the rest."""
        mark = len(self.room.seats)
        damaged = [lump for lump in self.lumps if lump.kept]
        whole = [lump for lump in self.lumps if lump.role is not None and not lump.kept]
        rest = [lump for lump in self.lumps if lump.role is None]
        if (all(self._beside(lump, top) for lump in damaged) and self._partitions(whole, top)
                and all(self._rest(lump, top) for lump in sorted(rest, key=lambda lump: -lump.tasks[0].chips))):
            return True
        self.room.undo(mark)
        return False

    def _partitions(self, lumps: Sequence[Lump], top: Hyper) -> bool:
        by_role: dict[str | None, list[Lump]] = {}
        for lump in lumps:
            by_role.setdefault(lump.role, []).append(lump)
        for group in sorted(by_role.values(), key=lambda group: -group[0].chips):
            lost = partitions(self.room, top, group)
            if lost is not None:
                self.stuck = lost, top
                return False
        return True

    def _rest(self, lump: Lump, top: Hyper) -> bool:
        """Pods without a partition: together if the whole job is placed, else each near where it was."""
        if self.beside:
            return self._beside(lump, top)
        self.room.measure(top, lump.tasks[0])
        if top.slots < len(lump.tasks):
            self.stuck = lump, top
            return False
        fill(self.room, top, lump.tasks)
        return True

    def _beside(self, lump: Lump, top: Hyper) -> bool:
        """Pods that lost their nodes while others run, each as near to its old node as it can be."""
        within = self._region(self._running(lump.kept), lump.tier, top)
        peers = self.common(self._running(lump.kept or self.request.job.npu_tasks))
        for task in lump.tasks:
            self.room.measure(top, task)
            if not self._near(task, peers, within):
                self.stuck = lump, within
                return False
        return True

    def _near(self, task: Task, peers: Hyper, within: Hyper) -> bool:
        """Put a pod near its old node, near its peers if it has none, not beyond `within`."""
        old = self.request.state.nodes.get(task.last_node) if task.last_node is not None else None
        if old is not None and self._back(task, old, within):
            return True
        start = self.home[old.name] if old is not None else peers
        for hyper in (start if within.holds(start) else within).up:
            if hyper.slots:
                fill(self.room, hyper, [task])
                return True
            if hyper is within:
                break
        return False

    def _back(self, task: Task, old: NodeState, within: Hyper) -> bool:
        """Let a pod return to its node."""
        wanted = self.request.state.settings.prefer_previous_node and is_sound(old)
        if not wanted or not self.room.slots.get(old.name) or not within.holds(self.home[old.name]):
            return False
        self.room.put(old, task)
        return True

    def _region(self, kept: Sequence[NodeState], tier: int, outer: Hyper) -> Hyper:
        """The HyperNode below `outer` that pods beside those kept may not leave: the highest of the tier that holds all
        of them. If they are spread further already, the lowest that holds them; without any, `outer`."""
        if not kept:
            return outer
        found = self.common(kept)
        for hyper in found.up:
            if hyper.tier <= tier:
                found = hyper
        return found if outer.holds(found) else outer

    def _running(self, tasks: Iterable[Task]) -> list[NodeState]:
        return [self.request.state.nodes[task.node] for task in tasks if task.node is not None]


def search_for(request: Request, asks: Asks) -> Search:
    """A search for the tasks of a request."""
    root, home = tree_of(request.state.cluster, request.nodes)
    return Search(request, asks, root, home, Room(request, home), lumps_of(request.job, request.tasks, asks))
