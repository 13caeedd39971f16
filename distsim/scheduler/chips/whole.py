"""Whole nodes for schedule_policy multilevel: a node's free chips must be just what the pod asks for.

cluster.md section 3; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu/policy/multilevelscheduling/
frame.go, checkTaskNPU and CheckNodeNPUByTask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.types import INVALID_REQUEST, VALIDATE_FAILED, Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

SCHEDULER_ROLE = "scheduler"          # of MindSpore jobs: the one pod that may go without chips


class WholeNode:
    """See `ChipRule`."""

    name = "whole"

    def validate(self, job: Job) -> Refusal | None:
        """Every pod asks for chips, the scheduler of a MindSpore job apart, and all for the same number: a group of
        nodes cannot be chosen for pods that need different ones."""
        for task in job.tasks:
            if not task.chips and task.role.lower() != SCHEDULER_ROLE:
                return _refused(job, f"pod {task.name} asks for no chips; each pod needs those of a whole node")
        asked = job.npu_tasks
        for task in asked:
            if task.chips != asked[0].chips:
                return _refused(job, f"pod {asked[0].name} asks for {asked[0].chips} chips and pod {task.name} for "
                                     f"{task.chips}; all pods must ask for the same whole node")
        return None

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> tuple[int, int] | str:
        """All free chips of the node, if they are as many as the task asks for."""
        have = idle.bit_count()
        if have != task.chips:
            return f"{have} of {node.chips} chips free, multilevel needs exactly {task.chips}"
        return idle, 0


def _refused(job: Job, message: str) -> Refusal:
    return Refusal(VALIDATE_FAILED, f"job {job.name} (schedule_policy multilevel): {message}", INVALID_REQUEST,
                   final=True)


def rule(name: str) -> WholeNode:
    """The rule."""
    return WholeNode()
