"""Which jobs hold nodes of which switch, and which of them span switches.

mind-cluster asks the PodGroups that run (plugin/tor.go, HasAcrossJob) and marks the nodes that it has given away in
the same session (IsUsedByMulJob). Here a job counts from the moment that its pods have nodes, which covers both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor.classes import NORMAL_LABEL, Kind, kind_of
from distsim.scheduler.types import Job, Task, TaskState

if TYPE_CHECKING:
    from distsim.scheduler.state import State


@dataclass(frozen=True)
class Usage:
    """users : tor_id -> the jobs that hold chips at the switch, in order of the jobs. spanning : those that span."""

    users: dict[int, list[Job]] = field(default_factory=dict)
    spanning: dict[int, list[Job]] = field(default_factory=dict)

    def spanned_by(self, tor: int) -> str:
        """uid of the first job that spans and uses the switch, "" without one."""
        jobs = self.spanning.get(tor)
        return jobs[0].uid if jobs else ""

    def only_normal(self, tor: int) -> bool:
        """Whether none but normal jobs (by their label) use the switch."""
        return all(job.settings.tor_affinity == NORMAL_LABEL for job in self.users.get(tor, ()))

    def large_spans(self, tor: int) -> bool:
        """Whether a large job that spans uses the switch."""
        return any(kind_of(job) is Kind.LARGE for job in self.spanning.get(tor, ()))


def usage_of(state: State, but: Job | None = None) -> Usage:
    """Who uses the switches. but : a job that is left out."""
    usage = Usage()
    for job in state.jobs.values():
        if but is not None and job.uid == but.uid:
            continue
        held = held_switches(job, state)
        spans = bool(held) and len(reach(job, state)) > 1
        for tor in held:
            usage.users.setdefault(tor, []).append(job)
            if spans:
                usage.spanning.setdefault(tor, []).append(job)
    return usage


def held_switches(job: Job, state: State) -> list[int]:
    """tor_ids of the switches at which a job holds chips, in order of its pods."""
    nodes = state.nodes
    tors = dict.fromkeys(nodes[task.node].tor for task in job.tasks if task.chips and task.node is not None)
    tors.pop(-1, None)
    return list(tors)


def reach(job: Job, state: State) -> set[int]:
    """tor_ids over which a job goes; -1 stands for the nodes at no switch.

    A pod that waits for a new node counts with its old one, so that a job whose pods of one switch have failed still
    spans for the others."""
    return {state.nodes[name].tor for task in job.tasks if task.chips and (name := _place(task)) in state.nodes}


def _place(task: Task) -> str | None:
    if task.node is not None or task.state is not TaskState.PENDING:
        return task.node
    return task.last_node
