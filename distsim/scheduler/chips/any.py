"""Any free chips, lowest first: a job that asks for no chip policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.types import Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


class AnyChips:
    """See `ChipRule`."""

    name = "any"

    def validate(self, job: Job) -> Refusal | None:
        """Any number will do."""
        return None

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> tuple[int, int] | str:
        """The lowest free chips; the score is how many stay free."""
        have = idle.bit_count()
        if have < task.chips:
            return f"{have} of {node.chips} chips free, {task.chips} requested"
        return lowest(idle, task.chips), have - task.chips


def lowest(mask: int, count: int) -> int:
    """The `count` lowest bits of a mask."""
    chosen = 0
    for _ in range(count):
        bit = mask & -mask
        chosen |= bit
        mask ^= bit
    return chosen


def rule(name: str) -> AnyChips:
    """The rule."""
    return AnyChips()
