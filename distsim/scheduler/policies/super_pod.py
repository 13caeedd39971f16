"""Logical SuperPoDs: schedule_policy chip*-*-sp, sp-block, sp-fit, ra-block, super-pod-affinity.

A job is cut into blocks of sp-block chips (logical SuperPoDs), each inside one SuperPoD; with ra-block a block consists
of logical racks, each inside one rack. Ranks go block by block, the nodes of a block by name (rack by rack where there
are several). cluster.md section 4; parts in blocks/.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from distsim.scheduler.policies import Request
from distsim.scheduler.policies.blocks.choose import Block, Wish, choose
from distsim.scheduler.policies.blocks.keep import Group, Keeper, move
from distsim.scheduler.policies.blocks.pods import SuperPod, Where, super_pods
from distsim.scheduler.policies.blocks.shape import Shape, shape_of, sp_block
from distsim.scheduler.state import NodeState, State
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Job, Placement, Refusal

NO_SUPER_POD = "in no SuperPoD (label huawei.com/topotree.superpodid or annotation superPodID)"


class SuperPodPolicy:
    """See `NodePolicy`."""

    name = "super-pod"

    def validate(self, job: Job, state: State) -> Refusal | None:
        """sp-block and ra-block against the pods of the job (blocks/shape.py)."""
        found = shape_of(job, state)
        return found if isinstance(found, Refusal) else None

    def place(self, request: Request) -> Placement | Refusal:
        """Blocks for the tasks. Notes: blocks (names of nodes in rank order), super_pods (nodes of the job in each),
        steps (why each block is where it is), free (usable nodes left, by SuperPoD of the job)."""
        shape = shape_of(request.job, request.state)
        if isinstance(shape, Refusal):
            return shape
        where = Where(request.state)
        nodes = request.nodes if request.job.several else _tightest(request)
        pods, outside = super_pods(nodes, where, shape)
        if not pods:
            return _no_node(request, outside)
        keeper = Keeper(request.state, where, shape, pods)
        groups = keeper.groups(request.job, request.tasks)
        running = any(len(group.lost) < len(group.tasks) for group in groups)
        if not running and not any(task.last_node for task in request.tasks):
            return _fresh(request, shape, list(pods.values()))
        keeper.settle(groups)
        homeless = [group for group in groups if not group.step]
        refused = _too_few(request, shape, keeper.pods, len(homeless))
        if _find_homes(request, shape, keeper.pods, homeless):
            return _rescheduled(request, groups, keeper.pods)
        return refused if running else _fresh(request, shape, list(super_pods(nodes, where, shape)[0].values()))


def _tightest(request: Request) -> list[NodeState]:
    """For a job of one pod: of the nodes offered those that its chips fill best (superpod/frame.go,
    selectNodesWithLeastResourceForSingle), healthy ones before others."""
    found = []
    for node in request.nodes:
        chosen = request.chips_on(node, request.tasks[0])
        if not isinstance(chosen, str):
            found.append(((node.bad_score, node.sub_healthy, node.idle().bit_count(), chosen[1]), node))
    best = min((key for key, _ in found), default=None)
    return [node for key, node in found if key == best]


def _fresh(request: Request, shape: Shape, pods: Sequence[SuperPod]) -> Placement | Refusal:
    """Nodes for a job that keeps none."""
    settings = request.job.settings
    count = -(-len(request.tasks) // shape.block)
    wish = Wish(count, request.state.settings.reserve_nodes, settings.sp_fit, settings.super_pod_affinity == "soft")
    refused = _too_few(request, shape, pods, count)              # the figures of before anything is taken
    blocks = choose(pods, shape, wish)
    if blocks is None:
        return refused
    blocks = _cut(blocks, len(request.tasks))
    return request.place_on([node for block in blocks for node in block.nodes], **_notes(blocks, pods))


def _cut(blocks: Iterable[Block], count: int) -> list[Block]:
    """The first `count` nodes of blocks: fewer pods than all may be asked for."""
    found = []
    for block in blocks:
        found.append(replace(block, nodes=block.nodes[:count]))
        count -= len(found[-1].nodes)
    return [block for block in found if block.nodes]


def _find_homes(request: Request, shape: Shape, pods: Sequence[SuperPod], groups: Sequence[Group]) -> bool:
    """Another SuperPoD for each of these blocks, whole ones only; whether all have one."""
    settings = request.job.settings
    if any(group.backup for group in groups):
        return False
    for size in sorted({len(group.tasks) for group in groups}, reverse=True):
        alike = [group for group in groups if len(group.tasks) == size]
        wish = Wish(len(alike), request.state.settings.reserve_nodes, settings.sp_fit)
        blocks = choose(pods, replace(shape, block=size, racks=False), wish)
        if blocks is None:
            return False
        for group, block in zip(alike, blocks, strict=True):
            move(group, block)
    return True


def _rescheduled(request: Request, groups: Sequence[Group], pods: Iterable[SuperPod]) -> Placement:
    nodes = {name: node for group in groups for name, node in group.nodes.items()}
    placed = request.place_on([nodes[task.name] for task in request.tasks],
                              **_notes([group.block() for group in groups], pods))
    return replace(placed, moves=tuple(name for group in groups for name in group.moves))


def _notes(blocks: Sequence[Block], pods: Iterable[SuperPod]) -> dict[str, Any]:
    used = Counter[str]()
    for block in blocks:
        used[block.pod] += len(block.nodes)
    return {"blocks": [[node.name for node in block.nodes] for block in blocks],
            "super_pods": dict(used), "steps": [block.step for block in blocks],
            "free": {pod.name: pod.free for pod in pods if pod.name in used}}


def _too_few(request: Request, shape: Shape, pods: Sequence[SuperPod], needed: int) -> Refusal:
    """Why the blocks find no place: required x, total y, and the free nodes by SuperPoD."""
    job = request.job
    total = sum(pod.free // shape.block for pod in pods)
    shown = ", ".join(f"{pod.name}: {pod.free}" for pod in pods[:20]) + (", ..." if len(pods) > 20 else "")
    racks = f" in logical racks of {shape.piece}" if shape.piece > 1 else ""
    return Refusal(ORDER_FAILED, f"job {job.name} finds too few logical SuperPoDs of {shape.block} nodes{racks} "
                   f"(sp-block {sp_block(job)}): required {needed}, total {total}; usable nodes by SuperPoD: {shown}",
                   nodes={reason: tuple(names) for reason, names in request.refused.items()})


def _no_node(request: Request, outside: Sequence[NodeState]) -> Refusal:
    nodes = {reason: tuple(names) for reason, names in request.refused.items()}
    if outside:
        nodes[NO_SUPER_POD] = tuple(node.name for node in outside)
    return Refusal(PREDICATE_FAILED, f"job {request.job.name} needs {len(request.tasks)} nodes in SuperPoDs; none of "
                   f"{len(request.state.nodes)} nodes is usable", nodes=nodes)


POLICY = SuperPodPolicy()
