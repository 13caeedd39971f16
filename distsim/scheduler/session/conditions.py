"""The conditions of a PodGroup: one a reason, written while fewer pods than minAvailable run.

cluster.md section 5; Ascend/mind-cluster, component/ascend-for-volcano/npu.go (OnSessionClose). A session replaces all
conditions of a job that it has considered: what held an hour ago and does not now is gone. A condition keeps its time
while its message stays the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from distsim.scheduler.session.gang import short
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.words import counted
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Condition, Job, JobPhase, Refusal

MOST_NODES = 20                 # named for a reason
MOST_REASONS = 20
_FINAL = (JobPhase.COMPLETED, JobPhase.FAILED)


def write_all(round_: Round) -> None:
    """Write the conditions of every job that an action has considered, and of those that wait for one that has not."""
    for uid, job in round_.state.jobs.items():
        if job.phase in _FINAL:
            continue
        refusals = round_.refusals.get(uid)
        if not refusals and job.phase is not JobPhase.RUNNING:
            refusals = [_not_looked(round_, job)]
        if refusals is not None:
            write(round_, job, refusals if short(job) or job.phase is not JobPhase.RUNNING else ())


def write(round_: Round, job: Job, refusals: Sequence[Refusal]) -> None:
    """Replace the conditions of a job; those with a new message are also recorded as happenings."""
    found: dict[str, Condition] = {}
    for refusal in _apart(job, refusals):
        if refusal.condition in found:
            continue
        text = message_of(refusal)
        before = job.conditions.get(refusal.condition)
        same = before is not None and before.message == text
        found[refusal.condition] = before if before is not None and same else Condition(
            refusal.condition, text, round_.state.now_ms)
        if not same:
            round_.happen("unschedulable", job, f"{refusal.condition}: {text}")
    job.conditions = found


def message_of(refusal: Refusal) -> str:
    """The message of a refusal's condition: "<reason>: <message>", then each reason of nodes with how many it keeps
    out and the first 20 of them."""
    text = f"{refusal.reason}: {refusal.message}" if refusal.reason else refusal.message
    return "; ".join((text, *_nodes(refusal.nodes)))


def _apart(job: Job, refusals: Sequence[Refusal]) -> Iterator[Refusal]:
    """The nodes that the filters kept out stand in NodePredicateFailed, whatever a policy then said of the others."""
    for refusal in refusals:
        if refusal.condition == ORDER_FAILED and refusal.nodes:
            yield replace(refusal, nodes={})
            yield Refusal(PREDICATE_FAILED, f"nodes that no pod of job {job.name} can have", nodes=refusal.nodes)
        else:
            yield refusal


def _not_looked(round_: Round, job: Job) -> Refusal:
    actions = ", ".join(round_.state.settings.actions) or "none"
    return Refusal(PREDICATE_FAILED, f"job {job.name} is {job.phase.value}, and no action has looked for nodes since "
                                     f"(actions: {actions})")


def _nodes(nodes: Mapping[str, Sequence[str]]) -> list[str]:
    """A part for each reason, those that keep most nodes out first."""
    ranked = sorted(((reason, names) for reason, names in nodes.items() if names), key=lambda one: -len(one[1]))
    parts = [f"{reason}: {counted(len(names), 'node')}, {_named(names)}"
             for reason, names in ranked[:MOST_REASONS]]
    rest = ranked[MOST_REASONS:]
    if rest:
        kept_out = sum(len(names) for _, names in rest)
        parts.append(f"{counted(len(rest), 'further reason')}: {counted(kept_out, 'node')}")
    return parts


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NODES]) + (", ..." if len(names) > MOST_NODES else "")
