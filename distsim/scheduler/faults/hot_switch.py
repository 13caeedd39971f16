"""subHealthyStrategy hotSwitch: a backup pod first, in the same SuperPoD or level-1 domain; then the old one goes.

Source: seed 001; cluster.md section 6; solutions_principles.md, "Hot Switching": not for rank 0, and without a standby
node the fault is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from distsim.scheduler.faults.care import Care, Cause, Switch, Ward
from distsim.scheduler.faults.fault import SUB_HEALTH
from distsim.scheduler.faults.health import Trouble
from distsim.scheduler.faults.processes import Processes
from distsim.scheduler.faults.scope import is_master
from distsim.scheduler.policies import Request, policy
from distsim.scheduler.policies.blocks.pods import Where
from distsim.scheduler.predicates import Filters
from distsim.scheduler.session.booking import Booking
from distsim.scheduler.session.chipped import chosen_policy, chosen_rule
from distsim.scheduler.session.offer import request_for
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.tries import Tries
from distsim.scheduler.state import NodeState
from distsim.scheduler.types import Job, Placement, Refusal, Task, TaskState

TREE_KEY, DEFAULT_TREE = "huawei.com/topotree", "default"


class HotSwitch:
    """Handles the hot switches of jobs, one pod of a job at a time."""

    def __init__(self, ward: Ward, processes: Processes):
        self.ward, self._processes = ward, processes

    def begin(self, care: Care, hits: Sequence[tuple[Task, Trouble]]) -> None:
        """Start a backup for the first of these sub-healthy pods, or give up."""
        if care.switch is not None:
            return
        task, trouble = hits[0]
        if is_master(care.job, task):
            self._give_up(care, task, "a hot switch is not for rank 0")
            return
        backup = replace(task, name=f"{task.name}-backup", node=None, held=0, state=TaskState.PENDING,
                         last_node=task.node, request=dict(task.request))
        found = self._place(care.job, task, backup)
        if isinstance(found, Refusal):
            self._give_up(care, task, f"no standby node: {found.message}")
            return
        self._bind(care.job, backup, found)
        care.switch = Switch(task, backup, trouble.faults, self.ward.now_ms + self.ward.times.backup)
        self.ward.say("backup", care.job, f"for {task.name} on {task.node}", backup)

    def advance(self, care: Care) -> bool:
        """Hand over to a backup that runs; whether something has changed."""
        switch = care.switch
        if switch is None:
            return False
        gone = switch.task.state is not TaskState.RUNNING or switch.task.name in care.causes or care.over
        if gone or not any(fault.index in self.ward.health.active for fault in switch.faults):
            self.ward.say("backup-ended", care.job, "not needed any more", switch.backup)
            self.ward.state.release(switch.backup, TaskState.SUCCEEDED)
            care.switch = None
            return True
        if self.ward.now_ms < switch.ready_ms:
            return False
        self._hand_over(care, switch)
        return True

    def due_ms(self, care: Care) -> list[int]:
        """Times at which `advance` has something to do."""
        return [care.switch.ready_ms] if care.switch is not None else []

    def _hand_over(self, care: Care, switch: Switch) -> None:
        task, backup = switch.task, switch.backup
        old, new, mask = task.node or "", backup.node or "", backup.held
        self._processes.halt(care, "hotSwitch", keeps=True)
        cause = Cause(task, SUB_HEALTH, old, faults=switch.faults, rank=task.rank)
        self.ward.reasons.add(care.job.uid, [cause.record()], self.ward.now_ms)
        self.ward.state.release(task)
        self.ward.state.release(backup, TaskState.SUCCEEDED)
        self._bind(care.job, task, Placement((new,), (mask,)))
        care.switch = None
        self.ward.say("switched", care.job, f"from {old}", task)

    def _bind(self, job: Job, task: Task, placement: Placement) -> None:
        Booking(self.ward.state, job).bind([task], placement, chosen_rule(job, self.ward.state))

    def _give_up(self, care: Care, task: Task, why: str) -> None:
        care.gave_up = True
        self.ward.say("ignored", care.job, f"sub-health: {why}", task)

    def _place(self, job: Job, task: Task, backup: Task) -> Placement | Refusal:
        """Where the backup goes. In a SuperPoD or level-1 domain any node of it does."""
        state = self.ward.state
        request = request_for(Round(state, Filters(state), Tries()), job, [backup], chosen_rule(job, state))
        name, old = chosen_policy(job, state), state.nodes[task.node or ""]
        if name in ("super-pod", "multilevel"):
            self._keep_domain(request, old, name)
            name = "binpack"
        return policy(name).place(request)

    def _keep_domain(self, request: Request, old: NodeState, name: str) -> None:
        """Leave the nodes of the old one's SuperPoD or level-1 domain."""
        where = Where(request.state)

        def domain(node: NodeState) -> str | None:
            return where.super_pod(node) if name == "super-pod" else self._level1(node)

        home, outside = domain(old), "in another " + ("SuperPoD" if name == "super-pod" else "level-1 domain")
        for node in request.nodes:
            if domain(node) != home:
                request.refused.setdefault(outside, []).append(node.name)
        request.nodes = [node for node in request.nodes if domain(node) == home]

    def _level1(self, node: NodeState) -> str | None:
        levels = self.ward.state.settings.levels.get(node.labels.get(TREE_KEY, DEFAULT_TREE), ())
        return node.labels.get(levels[0][0]) if levels else None
