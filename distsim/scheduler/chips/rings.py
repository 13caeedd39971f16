"""chipR-nodeN: R chips form an interconnect ring, N chips are a node.

Seed 001, PodGroup Table 3 (huawei.com/schedule_policy); cluster.md section 4. A node of another size takes no such job.
How chips are chosen follows Ascend/mind-cluster, component/ascend-for-volcano/internal/npu: policy/chip4nodex
(chip4-node8, chip4-node16), ascend910/ascend910b (chip8-node16), ascend910/ascend910a3 (chip2-*), base/frame.go with
factory.go (the others).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from distsim.scheduler.chips.any import lowest
from distsim.scheduler.types import INVALID_REQUEST, VALIDATE_FAILED, Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

Choice = tuple[int, int] | str                   # mask and score, or why not


@dataclass(frozen=True)
class Shape:
    """Chips of a ring and of a node, and how many chips a pod may ask for.

    alone : further numbers that only a job of one pod may ask for. whole : pods of a job of several ask for whole nodes
    (the -sp policies; cluster.md section 4, "each pod a whole node").
    """

    ring: int
    node: int
    sizes: frozenset[int]
    alone: frozenset[int] = frozenset()
    whole: bool = False


def _sizes(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def _up_to(most: int) -> frozenset[int]:
    return frozenset(range(1, most + 1))


def _even(most: int) -> frozenset[int]:
    return frozenset(range(2, most + 1, 2))


SHAPES = {
    "chip4-node8": Shape(4, 8, _up_to(8)),
    "chip1-node2": Shape(1, 2, _up_to(2)),
    "chip4-node4": Shape(4, 4, _sizes(1, 2, 4)),                                # factory.go refuses 3
    "chip8-node8": Shape(8, 8, _up_to(8)),
    "chip8-node16": Shape(8, 16, _up_to(8) | _sizes(10, 12, 14, 16)),           # module910bx16 refuses 9, 11, 13, 15
    "chip2-node8": Shape(2, 8, _even(8), alone=_sizes(1)),
    "chip2-node16": Shape(2, 16, _even(16), alone=_sizes(1)),                   # module910a3x16
    "chip2-node8-sp": Shape(2, 8, _even(8), alone=_sizes(1), whole=True),
    "chip2-node16-sp": Shape(2, 16, _even(16), alone=_sizes(1), whole=True),
    "chip4-node16": Shape(4, 16, _up_to(16)),
    "chip1-node8": Shape(1, 8, _up_to(8)),
    "chip1-node16": Shape(1, 16, _up_to(16)),
    "chip8-node8-sp": Shape(8, 8, _even(8), alone=_sizes(1), whole=True),
    "chip8-node8-ra64-sp": Shape(8, 8, _up_to(8), whole=True),
}


class Rings:
    """See `ChipRule`. name : one of SHAPES."""

    def __init__(self, name: str):
        self.name = name
        self.shape = SHAPES[name]
        self._choose = _chooser(self.shape)

    def validate(self, job: Job) -> Refusal | None:
        """InvalidResourceRequest for a pod that asks for a number of chips that the policy does not give."""
        several = job.several
        allowed = self._allowed(several)
        for task in job.npu_tasks:
            if task.chips not in allowed:
                kind = "a job of several pods" if several else "a job of one pod"
                return Refusal(VALIDATE_FAILED, f"pod {task.name} of job {job.name} requests {task.chips} chips; "
                               f"{self.name} gives a pod of {kind} {_spell(allowed)}", INVALID_REQUEST, final=True)
        return None

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> Choice:
        """Chips of the tightest ring, or of whole rings; see the functions below."""
        if node.chips != self.shape.node:
            return f"{node.chips} chips a node, {self.name} needs {self.shape.node}"
        have = idle.bit_count()
        if have < task.chips:
            return f"{have} of {node.chips} chips free, {task.chips} requested"
        return self._choose(idle, task.chips, job.several)

    def _allowed(self, several: bool) -> frozenset[int]:
        if not several:
            return self.shape.sizes | self.shape.alone
        return _sizes(self.shape.node) if self.shape.whole else self.shape.sizes


def _chooser(shape: Shape) -> Callable[[int, int, bool], Choice]:
    """How the chips of a shape are chosen: (idle, wanted, several pods) -> mask and score."""
    rings = tuple(((1 << shape.ring) - 1) << first for first in range(0, shape.node, shape.ring))
    if shape.ring in (1, shape.node):
        return _unbound
    if shape.ring == 2:
        return partial(_pairs, rings)
    if shape.ring == 4:
        return partial(_meshes, rings)
    return partial(_halves, rings)


def _unbound(idle: int, wanted: int, several: bool) -> Choice:
    """No ring, or one that is the whole node: the lowest free chips; the score is how many stay free."""
    return lowest(idle, wanted), idle.bit_count() - wanted


def _meshes(rings: tuple[int, ...], idle: int, wanted: int, several: bool) -> Choice:
    """Rings of four (chip4nodex/job.go): under 4 chips from the tightest ring, multiples of 4 as whole rings, any other
    number from anywhere. Score: first the rings that could have served too, then the chips that stay free."""
    have = idle.bit_count()
    if wanted > 4 and wanted % 4:
        return lowest(idle, wanted), have - wanted
    free = [(idle & ring).bit_count() for ring in rings]
    fitting = [index for index, count in enumerate(free) if count >= min(wanted, 4)]
    needed = max(1, wanted // 4)
    if len(fitting) < needed:
        what = f"{needed} whole rings of 4" if wanted >= 4 else f"{wanted} in one ring of 4"
        return f"{have} chips free, by ring {_list(free)}; {what} needed"
    score = 4 * len(rings) * (len(fitting) - needed) + have - wanted
    if wanted < 4:
        best = min(fitting, key=lambda index: free[index])
        return lowest(idle & rings[best], wanted), score
    mask = 0
    for index in fitting[:needed]:
        mask |= rings[index]
    return mask, score


def _halves(rings: tuple[int, ...], idle: int, wanted: int, several: bool) -> Choice:
    """Two rings of eight (ascend910b/base.go): up to 8 chips from the tightest ring; 10, 12 and 14 half of each, at
    matching positions (a job of several pods may take others where those run out); 16 all.
    Score: how loose the fit is, then how much of the node is free."""
    left, right = idle & rings[0], idle >> 8
    free = [left.bit_count(), right.bit_count()]
    if wanted <= 8:
        fitting = [index for index in (0, 1) if free[index] >= wanted]
        if not fitting:
            return f"by ring of 8 {_list(free)} chips free; {wanted} in one ring needed"
        best = min(fitting, key=lambda index: free[index])
        return lowest(idle & rings[best], wanted), 16 * (free[best] - wanted) + sum(free)
    half, matching = wanted // 2, left & right
    held = min(free) if several else matching.bit_count()
    if held < half:
        where = "in each ring of 8" if several else "at matching positions of the two rings of 8"
        return f"{held} chips free {where}; {half} needed"
    both = lowest(matching, min(half, matching.bit_count()))
    more = half - both.bit_count()
    mask = (both | lowest(left & ~both, more)) | (both | lowest(right & ~both, more)) << 8
    return mask, 16 * (held - half) + sum(free)


def _pairs(rings: tuple[int, ...], idle: int, wanted: int, several: bool) -> Choice:
    """Pairs (ascend910a3/base.go): one chip from a pair that is broken already, if there is one; else whole pairs.
    Score: how many stay free; a node where a single chip would break a pair comes after all others."""
    have = idle.bit_count()
    if wanted == 1:
        broken = [ring for ring in rings if (idle & ring).bit_count() == 1]
        if broken:
            return idle & broken[0], have - 1
        return lowest(idle, 1), have - 1 + 2 * len(rings)
    whole = [ring for ring in rings if idle & ring == ring]
    if 2 * len(whole) < wanted:
        return f"{have} chips free, {len(whole)} whole pairs; {wanted // 2} pairs needed"
    mask = 0
    for ring in whole[:wanted // 2]:
        mask |= ring
    return mask, have - wanted


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _spell(sizes: frozenset[int]) -> str:
    """1-8, 10, 12: numbers in ascending order, three or more in a row as a range."""
    numbers, parts, at = sorted(sizes), [], 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts += [f"{numbers[at]}-{numbers[end]}"] if end - at > 1 else [str(one) for one in numbers[at:end + 1]]
        at = end + 1
    return ", ".join(parts)


def rule(name: str) -> Rings:
    """The rule of a value of huawei.com/schedule_policy."""
    return Rings(name)
