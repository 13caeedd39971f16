"""Pods that are put on nodes on trial, until it is clear whether enough of their gang find one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.scheduler.chips import sharing
from distsim.scheduler.types import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distsim.scheduler.chips import ChipRule
    from distsim.scheduler.state import State
    from distsim.scheduler.types import Job, Placement, Task


@dataclass
class Booking:
    """What was done to the state so far. bound : the pods put on nodes, in order. notes : of the placements."""

    state: State
    job: Job
    bound: list[Task] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)
    _undo: list[tuple[Task, str | None, int, str | None, TaskState]] = field(default_factory=list)

    def bind(self, tasks: Sequence[Task], placement: Placement, rule: ChipRule) -> None:
        """Release the pods that a placement moves, then put each task on its node."""
        by_name = {task.name: task for task in self.job.tasks}
        for name in placement.moves:
            self._release(by_name[name])
        shared = sharing(rule)
        for task, node, mask in zip(tasks, placement.nodes, placement.chips, strict=True):
            self._remember(task)
            if shared is not None and task.chips:
                self.state.share(task, node, mask.bit_length() - 1, shared.share_of(self.job, task))
            else:
                self.state.assign(task, node, mask)
            self.bound.append(task)
        self.notes |= placement.notes

    def undo(self) -> None:
        """Put every pod back where it was."""
        for task, node, mask, last_node, state in reversed(self._undo):
            if task.node is not None:
                self.state.release(task, state)
            if node is not None:
                self.state.assign(task, node, mask)
            task.last_node, task.state = last_node, state
        self._undo.clear()
        self.bound.clear()
        self.notes.clear()

    def _release(self, task: Task) -> None:
        assert not self.state.nodes[task.node or ""].shares, f"{task.name}: a pod that shares a chip is not moved"
        self._remember(task)
        self.state.release(task)

    def _remember(self, task: Task) -> None:
        self._undo.append((task, task.node, task.held, task.last_node, task.state))
