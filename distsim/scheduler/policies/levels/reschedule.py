"""Nodes for the pods of a job that ran before: beside those that still run, or as many of the old ones as can be had.

cluster.md section 3, "Fault"; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu/policy/
multilevelscheduling/frame.go (resolveSuperPodsForReschedule, rescheduleWithSuperPods).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.levels import words
from distsim.scheduler.policies.levels.fresh import Plan, attempts, levels_of, whole, whole_job
from distsim.scheduler.policies.levels.measure import Chooser
from distsim.scheduler.policies.levels.repair import Damage, Repair, is_whole, sound
from distsim.scheduler.policies.levels.tree import Ground, Tree
from distsim.scheduler.types import Job, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


def places_of(request: Request) -> dict[str, int]:
    """The place in the rank order of each pod that runs or is asked for, by name.

    Where no pod runs, ranks are given anew, in the order of the request. Else a pod has the rank that it had, and one
    without gets the first that is free (session/attempt.py)."""
    asked = {task.name for task in request.tasks}
    others = [task for task in request.job.npu_tasks if task.name not in asked]
    if all(task.node is None for task in others):
        return {task.name: place for place, task in enumerate(request.tasks)}
    places = {task.name: task.rank for task in others if task.rank >= 0}
    places |= {task.name: task.rank for task in request.tasks if task.rank >= 0}
    free = iter(sorted(set(range(len(places) + len(asked))) - set(places.values())))
    return places | {task.name: next(free) for task in request.tasks if task.rank < 0}


def where_it_was(request: Request, ground: Ground) -> Plan | None:
    """Nodes for a job that ran before and lost all of them: those that are usable again, and in place of the others new
    ones, as near as they are found. None if it never ran, if this is switched off (prefer_previous_node), or if its
    groups can only be whole elsewhere."""
    job, places = request.job, places_of(request)
    if not request.state.settings.prefer_previous_node:
        return None
    usable = {node.name: node for node in request.nodes if sound(node)}
    found = {places[task.name]: usable.pop(task.last_node or "", None) for task in request.tasks}
    kept = {place: node for place, node in found.items() if node is not None}
    if not kept:
        return None
    lost = {places[task.name]: _old(request, task) for task in request.tasks if places[task.name] not in kept}
    damage = Damage(kept, lost, step=len(levels_of(job)))               # nothing runs: every group may leave
    for repair in _repairs(job, ground, damage):
        if repair.run():
            plan = _plan(repair, kept | repair.nodes)
            if is_whole(repair.tree, levels_of(job), list(plan.nodes.values())):
                return plan
    return None


def beside(request: Request, ground: Ground) -> Plan | str:
    """Nodes for pods of a job of which others run, or why there are none. A group that has to leave its domain takes
    its running pods along (Plan.moves)."""
    job, places = request.job, places_of(request)
    asked = {task.name for task in request.tasks}
    running = {places[task.name]: task for task in job.npu_tasks if task.node is not None and task.name not in asked}
    kept = {place: request.state.nodes[task.node] for place, task in running.items() if task.node is not None}
    lost = {places[task.name]: _old(request, task) for task in request.tasks}
    damage = Damage(kept, lost, job.level_up, request.state.settings.prefer_previous_node)
    why = "the nodes of the running pods are in no tree of resource-level-config that has the job's levels"
    for repair in _repairs(job, ground, damage):
        if repair.run():
            moves = tuple(running[place].name for place in sorted(repair.nodes) if place in kept)
            return _plan(repair, kept | repair.nodes, moves)
        why = words.no_room(repair, _named(request.tasks), job.level_up)
    plan = whole_job(ground, job, max([*kept, *lost]) + 1) if job.level_up > len(levels_of(job)) else None
    if plan is None:
        return why
    return replace(plan, moves=tuple(running[place].name for place in sorted(kept)))


def _repairs(job: Job, ground: Ground, damage: Damage) -> Iterator[Repair]:
    """The repairs to try, in the tree that the job is in."""
    known = next((node for node in (*damage.kept.values(), *damage.lost.values()) if node is not None), None)
    tree = ground.tree_of(known) if known is not None else None
    pods = max([*damage.kept, *damage.lost]) + 1
    for levels in attempts(job, pods):
        if tree is None or tree.depth < len(levels):
            continue
        if levels == levels_of(job) or _together(tree, len(levels), damage.kept.values()):
            yield Repair(tree, Chooser((1, *levels, whole(levels, pods)), tree.reserve), damage)


def _together(tree: Tree, level: int, nodes: Iterable[NodeState]) -> bool:
    """Whether nodes are in one domain of a level."""
    paths = {tree.path(node) for node in nodes}
    return None not in paths and len({path[:tree.depth + 1 - level] for path in paths if path is not None}) <= 1


def _plan(repair: Repair, nodes: dict[int, NodeState], moves: tuple[str, ...] = ()) -> Plan:
    reserved = tuple(repair.chooser.taken_reserve)
    return Plan(dict(sorted(nodes.items())), repair.tree.name, repair.fragment, reserved, moves)


def _old(request: Request, task: Task) -> NodeState | None:
    """The node that a task was on, in whatever state it is now."""
    return request.state.nodes.get(task.last_node) if task.last_node is not None else None


def _named(tasks: Iterable[Task]) -> list[str]:
    return [f"{task.name} ({f'was on {task.last_node}' if task.last_node else 'never ran'})" for task in tasks]
