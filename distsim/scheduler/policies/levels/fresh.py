"""Nodes for a whole job: which levels are tried, in which pass, in which tree.

cluster.md section 3; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu/policy/multilevelscheduling/
frame.go (tryScheduleInStrictRules, scheduleFromAllNodes) and scheduling.go (schedule).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distsim.scheduler.policies.levels.measure import Chooser
from distsim.scheduler.policies.levels.tree import Domain, Ground, root_of
from distsim.scheduler.types import Job

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


@dataclass(frozen=True)
class Plan:
    """Nodes for a job.

    nodes : by place in the rank order, those of pods that keep theirs included. tree : name. fragment : score of the
    tree before the job. reserved : names of the reserved nodes among them. moves : names of running pods that leave.
    """

    nodes: dict[int, NodeState]
    tree: str
    fragment: int
    reserved: tuple[str, ...]
    moves: tuple[str, ...] = ()


def levels_of(job: Job) -> tuple[int, ...]:
    """Group sizes of level 1, 2, ... of a job."""
    return job.settings.affinity_levels or ()


def attempts(job: Job, pods: int) -> Iterator[tuple[int, ...]]:
    """The levels to try for a job of so many pods: with level1 alone, first as if level2 were the whole job."""
    levels = levels_of(job)
    if len(levels) == 1:
        yield levels[0], whole(levels, pods)
    yield levels


def whole(levels: Sequence[int], pods: int) -> int:
    """The size of the whole job: its pods, rounded up to whole groups of its highest level."""
    return -(-pods // levels[-1]) * levels[-1]


def whole_job(ground: Ground, job: Job, pods: int) -> Plan | None:
    """Nodes for so many pods of a job; None if there are none."""
    for levels in attempts(job, pods):
        plan = best_tree(ground, levels, pods)
        if plan is not None:
            return plan
    return None


def best_tree(ground: Ground, levels: Sequence[int], pods: int) -> Plan | None:
    """Of the trees that hold the job, the one with the lowest fragment score; ties by name.

    The first pass takes no reserved node; only if no tree holds the job so does a second one lend a reserved node of
    each domain, a third one two ... mind-cluster lends them in a tree before it looks at the next one; here a tree that
    can do without goes first [our decision]."""
    sizes = (1, *levels, whole(levels, pods))
    trees = [(tree, root_of(tree, len(levels))[0]) for tree in ground.trees.values() if tree.depth >= len(levels)]
    for lent in range(max((tree.reserve for tree, _ in trees), default=-1) + 1):
        fits: list[tuple[int, str, Domain, Chooser]] = []
        for tree, root in trees:
            chooser = Chooser(sizes, tree.reserve)
            chooser.keep = tree.reserve - lent
            if chooser.keep >= 0 and chooser.measure(root):
                fits.append((root.fragment, tree.name, root, chooser))
        if fits:
            fragment, name, root, chooser = min(fits, key=lambda one: one[:2])
            nodes = chooser.fill(root, 1)[:pods]
            used = {node.name for node in nodes}
            return Plan(dict(enumerate(nodes)), name, fragment,
                        tuple(reserved for reserved in chooser.taken_reserve if reserved in used))
    return None
