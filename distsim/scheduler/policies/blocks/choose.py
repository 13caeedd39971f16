"""From which SuperPoDs blocks are taken.

cluster.md section 4; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu:
ascend910/ascend910a3/superpod/frame.go (classifySuperPod, selectNodes), mindie_job.go (sp-fit) and
policy/chip8node8ra64sp/schedule.go (racks). Docs: 05_scheduling_algorithm_of_ascend_ai_processor.md.
b : nodes of a block; k : blocks needed; R : reserve-nodes, which a SuperPoD should keep free.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distsim.scheduler.policies.blocks.pods import SuperPod
from distsim.scheduler.policies.blocks.shape import Shape
from distsim.scheduler.state import NodeState


@dataclass(frozen=True)
class Block:
    """Nodes of a logical SuperPoD in rank order. pod : its SuperPoD.

    step : why it is there: rack or super-pod (the job fits one), smaller, bigger, reserve, idlest, fill, fragment
    (fewer nodes than a block), kept, refilled, moved.
    """

    pod: str
    nodes: tuple[NodeState, ...]
    step: str


@dataclass(frozen=True)
class Wish:
    """What is looked for: k blocks, R, sp-fit (None: not given), and whether fragments will do."""

    count: int
    reserve: int
    fit: str | None = None
    fragments: bool = False


def choose(pods: Sequence[SuperPod], shape: Shape, wish: Wish) -> list[Block] | None:
    """The blocks, or None if the SuperPoDs do not hold them. Nodes that are taken leave the SuperPoDs.

    pods : in the order in which ties are broken. Wish.fragments : blocks may fall apart over SuperPoDs that hold less
    than one (super-pod-affinity: soft); the pieces follow the whole blocks.
    """
    b = shape.block
    enough = sum(pod.free // b for pod in pods) >= wish.count
    if not enough and not (wish.fragments and sum(pod.free for pod in pods) >= wish.count * b):
        return None
    together = _together(pods, shape, wish.count) if shape.racks else None
    if together:
        return together
    if wish.fit is not None:
        found = _fit(pods, b, wish)
    else:
        found = _smaller(pods, b, wish)
        found += _bigger(pods, b, wish, wish.count - len(found))
        found += _reserve(pods, b, wish.count - len(found))
    return found + _fragments(pods, b, (wish.count - len(found)) * b)


def _together(pods: Sequence[SuperPod], shape: Shape, count: int) -> list[Block]:
    """The whole job in the tightest rack that holds it, else in the tightest SuperPoD; nothing if neither does."""
    nodes = count * shape.block
    racks = [(rack[0], at, rack[1]) for at, pod in enumerate(pods)
             if (rack := pod.tightest_rack(nodes)) is not None]
    if racks:
        _, at, rack_name = min(racks, key=lambda rack: rack[:2])
        return [Block(pods[at].name, tuple(pods[at].take_of_rack(rack_name, shape.block)), "rack")
                for _ in range(count)]
    if count == 1:
        return []                                # a block is in one SuperPoD anyway
    fitting = [(pod.free, at) for at, pod in enumerate(pods) if pod.free // shape.block >= count]
    return _blocks_of(pods[min(fitting)[1]], shape.block, count, "super-pod") if fitting else []


def _smaller(pods: Sequence[SuperPod], b: int, wish: Wish) -> list[Block]:
    """SuperPoDs that hold 1 to k blocks beyond R, least remainder first, then those with fewer blocks."""
    order = sorted(((rest % b, rest // b, at) for at, pod in enumerate(pods) if (rest := pod.free - wish.reserve) >= b))
    found: list[Block] = []
    for _, blocks, at in order:
        if blocks <= wish.count - len(found):
            found += _blocks_of(pods[at], b, blocks, "smaller")
    return found


def _bigger(pods: Sequence[SuperPod], b: int, wish: Wish, missing: int) -> list[Block]:
    """The SuperPoD with the fewest blocks beyond R above what is missing gives all that is missing."""
    order = sorted((rest // b, rest % b, at) for at, pod in enumerate(pods) if (rest := pod.free - wish.reserve) >= b)
    return _blocks_of(pods[order[0][2]], b, missing, "bigger") if missing and order else []


def _reserve(pods: Sequence[SuperPod], b: int, missing: int) -> list[Block]:
    """A block at a time from the SuperPoD with most free nodes, whatever that leaves of R."""
    return _one_by_one(pods, b, missing, lambda pod: (-pod.free,), "reserve")


def _fit(pods: Sequence[SuperPod], b: int, wish: Wish) -> list[Block]:
    """sp-fit: a block at a time, from the SuperPoD with most free nodes (idlest) or fewest (any other value: fill it);
    those that keep R come first."""
    sign = -1 if wish.fit == "idlest" else 1
    return _one_by_one(pods, b, wish.count, lambda pod: (int(pod.free - wish.reserve < b), sign * pod.free),
                       "idlest" if sign < 0 else "fill")


def _one_by_one(pods: Sequence[SuperPod], b: int, count: int, key: Callable[[SuperPod], tuple[int, ...]],
                step: str) -> list[Block]:
    """Up to `count` blocks, each from the SuperPoD whose key is the least then."""
    queue = [(key(pod), at) for at, pod in enumerate(pods) if pod.free >= b]
    heapq.heapify(queue)
    found: list[Block] = []
    while queue and len(found) < count:
        _, at = heapq.heappop(queue)
        found += _blocks_of(pods[at], b, 1, step)
        if pods[at].free >= b:
            heapq.heappush(queue, (key(pods[at]), at))
    return found


def _fragments(pods: Sequence[SuperPod], b: int, missing: int) -> list[Block]:
    """What SuperPoDs that hold no whole block have, most first; a fragment is at most a block."""
    found: list[Block] = []
    for pod in sorted(pods, key=lambda pod: -pod.free):
        part = min(pod.free, missing, b)
        if part:
            found += _blocks_of(pod, part, 1, "fragment")
            missing -= part
    return found


def _blocks_of(pod: SuperPod, b: int, count: int, step: str) -> list[Block]:
    return [Block(pod.name, tuple(pod.take(b)), step) for _ in range(count)]
