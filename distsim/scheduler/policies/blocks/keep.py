"""What a job keeps when some or all of its pods lost their nodes.

cluster.md section 4, "Reschedule": blocks that are whole keep their nodes; a damaged one is refilled from its own
SuperPoD; if that has too few free nodes the whole block moves. Ascend/mind-cluster,
component/ascend-for-volcano/internal/npu/ascend910/ascend910a3/superpod/frame.go, selectNodesForFaultJob.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from distsim.scheduler.policies.blocks.choose import Block
from distsim.scheduler.policies.blocks.pods import SuperPod, Where
from distsim.scheduler.policies.blocks.shape import Shape
from distsim.scheduler.state import NodeState, State
from distsim.scheduler.types import Job, Task


@dataclass
class Group:
    """The pods of a block in rank order, and where they go.

    lost : those to place. home : SuperPoD that the block is in, None if it is in none. nodes : by pod name, those kept
    and those found. moves : pods that stay nowhere and have to be released. step : as in `Block`, "" while the block
    has no place.
    """

    tasks: list[Task]
    lost: list[Task]
    home: str | None = None
    nodes: dict[str, NodeState] = field(default_factory=dict)
    moves: list[str] = field(default_factory=list)
    step: str = ""
    backup: bool = False

    def block(self) -> Block:
        """The block as it stands."""
        return Block(self.home or "", tuple(self.nodes[task.name] for task in self.tasks), self.step)


class Keeper:
    """Finds what can stay. pods : the usable nodes by SuperPoD; those that are given leave them."""

    def __init__(self, state: State, where: Where, shape: Shape, pods: Mapping[str, SuperPod]):
        self._state, self._where, self._shape = state, where, shape
        self._pods = dict(pods)

    @property
    def pods(self) -> list[SuperPod]:
        """The SuperPoDs with what is left in them."""
        return list(self._pods.values())

    def groups(self, job: Job, asked: Sequence[Task]) -> list[Group]:
        """The blocks of a job: of its last placement if that is known (it may have fragments), else of sp-block.

        asked : the pods to place. Pods that neither run nor are asked for are left out; a pod that is no task of the
        job (the backup of a hot switch) stands in the block of its rank."""
        tasks = job.npu_tasks
        sizes = _sizes(job, len(tasks), self._shape.block)
        asked_names = {task.name for task in asked}
        own = {task.name for task in tasks}
        extra = [task for task in asked if task.name not in own]
        found, at = [], 0
        for size in sizes:
            members = tasks[at:at + size] + [task for task in extra if at <= task.rank < at + size]
            lost = [task for task in members if task.name in asked_names]
            stay = [task for task in members if task.node is not None and task.name not in asked_names]
            if lost or stay:
                present = [task for task in members if task.name in asked_names or task.node is not None]
                found.append(self._group(present, lost, stay))
                found[-1].backup = any(task.name not in own for task in lost)
            at += size
        return found

    def settle(self, groups: Sequence[Group]) -> None:
        """Give every block that can stay in its SuperPoD its nodes: first those that lose nothing, then those whose
        pods can all return, then the damaged ones in rank order. The others keep step ""."""
        for group in groups:
            if not group.lost:
                group.step = "kept"
            elif self._all_return(group):
                for task in group.lost:
                    self._return(group, task)
                group.step = "kept"
        for group in groups:
            if not group.step and group.home in self._pods:
                self._refill(group, group.home)

    def _group(self, tasks: list[Task], lost: list[Task], stay: list[Task]) -> Group:
        nodes = {task.name: self._state.nodes[task.node] for task in stay if task.node is not None}
        homes = {self._where.super_pod(node) for node in nodes.values()} or {
            self._where.super_pod(node) for task in lost if (node := self._last(task)) is not None}
        home = next(iter(homes)) if len(homes) == 1 else None
        return Group(tasks, lost, home, nodes)

    def _last(self, task: Task) -> NodeState | None:
        return self._state.nodes.get(task.last_node) if task.last_node is not None else None

    def _rack(self, node: NodeState) -> str:
        return self._where.rack(node) if self._shape.racks else ""

    def _may_return(self, group: Group, task: Task) -> NodeState | None:
        """The node that a pod ran on, if it is free, in the block's SuperPoD, and no pod failed there."""
        node = self._last(task)
        pod = self._pods.get(group.home or "")
        if node is None or pod is None or node.bad_score or self._where.super_pod(node) != group.home:
            return None
        return node if pod.has(node, self._rack(node)) else None

    def _all_return(self, group: Group) -> bool:
        found = [self._may_return(group, task) for task in group.lost]
        names = [node.name for node in found if node is not None]
        return len(set(names)) == len(group.lost)

    def _return(self, group: Group, task: Task) -> bool:
        node = self._may_return(group, task)
        if node is None:
            return False
        self._pods[group.home or ""].take_node(node, self._rack(node))
        group.nodes[task.name] = node
        return True

    def _refill(self, group: Group, home: str) -> None:
        """Fill the gaps of a block from its SuperPoD, logical rack by logical rack; all or nothing."""
        before, nodes = self._pods[home], dict(group.nodes)
        self._pods[home] = before.copy()
        size = self._shape.piece if self._shape.piece > 1 else len(group.tasks)
        pieces = [group.tasks[at:at + size] for at in range(0, len(group.tasks), size)]
        if all(self._refill_piece(group, piece, self._pods[home]) for piece in pieces):
            group.step = "refilled"
        else:
            self._pods[home], group.nodes, group.moves = before, nodes, []

    def _refill_piece(self, group: Group, piece: list[Task], pod: SuperPod) -> bool:
        """Nodes for the lost pods of a piece, in the rack of the others; else the piece moves within the SuperPoD."""
        lost_names = {task.name for task in group.lost}
        lost = [task for task in piece if task.name in lost_names]
        stay = [task for task in piece if task.name not in lost_names]
        if not lost:
            return True
        bound = self._shape.piece > 1
        anchor = group.nodes[stay[0].name] if stay else self._last(lost[0])
        rack = self._rack(anchor) if anchor is not None else ""
        if bound and pod.in_rack(rack) < len(lost):
            return pod.free >= len(piece) and self._move_piece(group, piece, pod)
        if not bound and pod.free < len(lost):
            return False
        missing = [task for task in lost if not (self._back_in(task, rack, bound) and self._return(group, task))]
        found = pod.take_of_rack(rack, len(missing)) if pod.in_rack(rack) >= len(missing) else pod.take(len(missing))
        group.nodes.update((task.name, node) for task, node in zip(missing, found, strict=True))
        return True

    def _back_in(self, task: Task, rack: str, bound: bool) -> bool:
        node = self._last(task)
        return node is not None and (not bound or self._rack(node) == rack)

    def _move_piece(self, group: Group, piece: list[Task], pod: SuperPod) -> bool:
        """Another rack of the SuperPoD for a logical rack; its running pods have to be released."""
        lost = {task.name for task in group.lost}
        for task, node in zip(piece, pod.take(len(piece)), strict=True):
            group.nodes[task.name] = node
            if task.name not in lost:
                group.moves.append(task.name)
        return True


def move(group: Group, block: Block) -> None:
    """Give a group another block; its running pods have to be released."""
    lost = {task.name for task in group.lost}
    group.home, group.step = block.pod, "moved"
    group.moves = [task.name for task in group.tasks if task.name not in lost]
    group.nodes = {task.name: node for task, node in zip(group.tasks, block.nodes, strict=True)}


def _sizes(job: Job, pods: int, block: int) -> list[int]:
    """Pods of each block: as the notes of the last placement say, if they fit the job."""
    known = [len(names) for names in job.notes.get("blocks", ())]
    if known and sum(known) == pods:
        return known
    return [min(block, pods - at) for at in range(0, pods, block)]
