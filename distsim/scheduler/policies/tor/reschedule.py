"""New nodes for the pods that lost theirs while the others of their job run on: version 1.0 and single layer.

Version 1.0 (nslbv1.go, checkTorJobSinglePodDelete): a replacement has the slice that was vacated, at a switch that no
other job spans. mind-cluster works the slice out from the pods that run, and mistakes it if several slices are used
alike; here it is that of the old node, so that the counts of the slices stay as they were (cluster.md section 2).
Fillers cannot move. Beyond mind-cluster, which would refuse both: a pod may always go back to its own node while its
job runs on at that switch (the switch stays what it is), and a job at one switch does not begin to span if another job
spans there and is not to be shared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import words
from distsim.scheduler.policies.tor.classes import Kind
from distsim.scheduler.policies.tor.switches import Plan, Switch, View
from distsim.scheduler.policies.tor.usage import reach

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State
    from distsim.scheduler.types import Task


def same_slice(view: View, lost: Sequence[Task], kept: Sequence[NodeState]) -> Plan | str:
    """Version 1.0: a node for each lost pod, in their order, or why not. kept : nodes of the pods that run."""
    homes = _homes(view, lost, kept)
    away = [task for task in lost if task.index not in homes]
    if away and view.kind is Kind.FILLER:
        return f"a filler cannot move, its pods can only go back where they were: {_pods(away)}"
    slices = _vacated(view, lost, kept)
    usable, closed = _open(view, kept)
    taken = {node.name for node in homes.values()}
    own = {node.tor for node in kept}
    chosen = dict(homes)
    lacking = []
    for number in sorted({slices[task.index] for task in away}):
        tasks = [task for task in away if slices[task.index] == number]
        nodes = _candidates(usable, number, taken, own)
        if len(nodes) < len(tasks):
            lacking.append(f"slice {number} has {len(nodes)} of {words.nodes(len(tasks))} for {_pods(tasks)} "
                           f"(lacks {len(tasks) - len(nodes)})")
            continue
        chosen |= {task.index: node for task, node in zip(tasks, nodes)}
    if lacking:
        return words.listed(lacking) + words.closed(closed)
    return Plan([[chosen[task.index] for task in lost]], "vacated slices")


def same_switch(view: View, lost: Sequence[Task], kept: Sequence[NodeState]) -> Plan | str:
    """Single layer: any nodes of the switch at which the others run, or why not."""
    own = {node.tor for node in kept}
    nodes = [node for switch in view.switches if switch.tor in own for node in switch.nodes]
    if len(nodes) < len(lost):
        where = words.listed([str(tor) for tor in sorted(own)])
        return (f"switch {where}, where the others run, has {len(nodes)} of {words.nodes(len(lost))} needed "
                f"(lacks {len(lost) - len(nodes)})")
    return Plan([matched(lost, nodes, view.state)], "same switch")


def matched(lost: Sequence[Task], nodes: Sequence[NodeState], state: State) -> list[NodeState]:
    """One of the nodes for each pod, in the order of the pods: its own one, else one at the same switch, else the first
    that is left. There are at least as many nodes as pods; the first ones are used."""
    left = {node.name: node for node in nodes[:len(lost)]}
    given: dict[int, NodeState] = {}
    for task in lost:
        if task.last_node in left:
            given[task.index] = left.pop(task.last_node)
    for near in (True, False):
        for task in lost:
            old = state.nodes.get(task.last_node or "")
            fits = (name for name, node in left.items() if not near or (old is not None and node.tor == old.tor))
            if task.index not in given and (name := next(fits, None)) is not None:
                given[task.index] = left.pop(name)
    return [given[task.index] for task in lost]


def _pods(tasks: Sequence[Task]) -> str:
    return words.listed([f"{task.name} ({f'was on {task.last_node}' if task.last_node else 'never ran'})"
                         for task in tasks])


def _homes(view: View, lost: Sequence[Task], kept: Sequence[NodeState]) -> dict[int, NodeState]:
    """Index of a pod -> its own node, if it may go back there."""
    own = {node.tor for node in kept}
    usable = {node.name: node for switch in view.switches if switch.tor in own for node in switch.nodes}
    return {task.index: usable[task.last_node] for task in lost if task.last_node in usable}


def _vacated(view: View, lost: Sequence[Task], kept: Sequence[NodeState]) -> dict[int, int]:
    """Index of a pod -> the slice that its replacement has: that of its old node; of a pod that never ran, the slice of
    which the job has the fewest nodes."""
    counts = [sum(node.slice == number for node in kept) for number in range(view.size)]
    slices: dict[int, int] = {}
    for task in lost:
        old = view.state.nodes.get(task.last_node or "")
        if old is not None and old.slice >= 0:
            slices[task.index] = old.slice
            counts[old.slice] += 1
    for task in lost:
        if task.index not in slices:
            number = counts.index(min(counts))
            slices[task.index] = number
            counts[number] += 1
    return slices


def _open(view: View, kept: Sequence[NodeState]) -> tuple[list[Switch], list[tuple[Switch, str]]]:
    """The switches where replacements may go, and the others with the job that closes them."""
    at_home = _closed_home(view, kept)
    usable: list[Switch] = []
    closed: list[tuple[Switch, str]] = []
    for switch in view.switches:
        uid = view.usage.spanned_by(switch.tor) or at_home
        if uid:
            closed.append((switch, uid))
        else:
            usable.append(switch)
    return usable, closed


def _closed_home(view: View, kept: Sequence[NodeState]) -> str:
    """For a job at one switch, the uid of the job that spans there and keeps it from beginning to span; else ""."""
    if len(reach(view.job, view.state)) > 1:
        return ""
    shared = view.kind is Kind.NORMAL and view.usage.only_normal(kept[0].tor)
    return "" if shared else view.usage.spanned_by(kept[0].tor)


def _candidates(usable: Sequence[Switch], number: int, taken: set[str], own: set[int]) -> list[NodeState]:
    """Nodes of a slice: at switches that the job uses first, then at those with the fewest usable nodes."""
    ordered = sorted(usable, key=lambda switch: (switch.tor not in own, switch.free, switch.tor))
    return [node for switch in ordered for node in switch.nodes if node.slice == number and node.name not in taken]
