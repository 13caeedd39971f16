"""What a job asks of the HyperNodes: how far it, and each of its partitions, may reach.

`Job.network_topology` as distsim/scheduler/read/ gives it: mode, highestTierAllowed or highestTierName, and
partitionPolicy: task -> {totalPartitions, partitionSize, minPartitions, networkTopology}. Rules: volcano-sh/volcano,
docs/design/Network Topology Aware Scheduling.md; webhooks/admission/jobs (totalPartitions x partitionSize = replicas);
an unknown tier name is an error, not "no constraint" (volcano-sh/volcano#5189).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.config.names import nearest
from distsim.scheduler.policies.hyper.tiers import Tiers
from distsim.scheduler.types import INVALID_ARGUMENT, VALIDATE_FAILED, Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State

MODES = ("hard", "soft")
ALLOWED, NAMED = "highestTierAllowed", "highestTierName"


class Wrong(ValueError):
    """A networkTopology that is not valid; the text says what and gives the valid values."""


@dataclass(frozen=True)
class Partitions:
    """partitionPolicy of a task. size : pods of a partition, total : partitions, least : minPartitions, 0 without.
    tier : highest tier that a partition may span."""

    size: int
    total: int
    least: int
    tier: int


@dataclass(frozen=True)
class Asks:
    """What a job asks for. tier : the highest that it may span. limited : whether a job that finds no HyperNode of that
    tier waits; else it may span the cluster. partitions : by task."""

    tier: int
    limited: bool
    partitions: Mapping[str, Partitions]


def asks_of(job: Job, tiers: Tiers) -> Asks:
    """What a job asks for. Raises Wrong."""
    section = job.network_topology or {}
    limited, tier = _reach(section, tiers, "networkTopology")
    return Asks(tier, limited, {role: _partitions(job, role, policy, tiers)
                                for role, policy in (section.get("partitionPolicy") or {}).items()})


def invalid(job: Job, state: State) -> Refusal | None:
    """JobValidateFailed for what `asks_of` says is wrong, None for a job that can be placed."""
    try:
        for role, policy in asks_of(job, Tiers(state.cluster)).partitions.items():
            _check_replicas(job, role, policy)
    except Wrong as error:
        return refused(job, error)
    return None


def refused(job: Job, error: Wrong) -> Refusal:
    """JobValidateFailed for what is wrong."""
    return Refusal(VALIDATE_FAILED, f"job {job.name}: {error}", INVALID_ARGUMENT, final=True)


def _reach(section: Mapping[str, Any], tiers: Tiers, where: str) -> tuple[bool, int]:
    """(limited, highest tier) of a networkTopology. Soft, or hard without a highest tier, is no limit: volcano's
    IsHardTopologyMode says so of the latter."""
    mode = section.get("mode", "hard")
    if mode not in MODES:
        raise Wrong(f"{where}.mode {mode!r} is not valid; valid values: {', '.join(MODES)}")
    if ALLOWED in section and NAMED in section:
        raise Wrong(f"{where}: {ALLOWED} and {NAMED} stand together; give one of them")
    if ALLOWED in section:
        tier = _by_number(section[ALLOWED], tiers, f"{where}.{ALLOWED}")
    elif NAMED in section:
        tier = _by_name(section[NAMED], tiers, f"{where}.{NAMED}")
    else:
        return False, tiers.top
    return (True, tier) if mode == "hard" else (False, tiers.top)


def _by_number(given: Any, tiers: Tiers, where: str) -> int:
    low, high = tiers.numbers[0], tiers.numbers[-1]
    if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
        valid = ", ".join(map(str, tiers.numbers))
        raise Wrong(f"{where} {given!r} is not valid; tiers of the cluster: {valid}")
    return given


def _by_name(given: Any, tiers: Tiers, where: str) -> int:
    found = tiers.named(given) if isinstance(given, str) else []
    if len(found) > 1:
        raise Wrong(f"{where} {given!r} is the name of tiers {' and '.join(map(str, found))}; give {ALLOWED} instead")
    if not found:
        valid, near = ", ".join(tiers.names), nearest(str(given), tiers.names)
        raise Wrong(f"{where} {given!r} is not valid; "
                    + (f"valid values: {valid}" if valid else f"no tier of the cluster has a name, give {ALLOWED}")
                    + (f"; nearest: {near}" if near else ""))
    return found[0]


def _partitions(job: Job, role: str, policy: Mapping[str, Any], tiers: Tiers) -> Partitions:
    where = f"partitionPolicy of task {role}"
    if all(task.role != role for task in job.tasks):
        roles = ", ".join(dict.fromkeys(task.role for task in job.tasks))
        raise Wrong(f"{where}: the job has no such task; its tasks: {roles}")
    total, size = policy.get("totalPartitions"), policy.get("partitionSize")
    for name, given in (("totalPartitions", total), ("partitionSize", size)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise Wrong(f"{where}: {name} {given!r} is not valid; valid: 1 or more")
    assert isinstance(total, int) and isinstance(size, int)
    least = policy.get("minPartitions", 0)
    if not isinstance(least, int) or isinstance(least, bool) or not 0 <= least <= total:
        raise Wrong(f"{where}: minPartitions {least!r} is not valid; valid: 0 to {total}")
    _, tier = _reach(policy.get("networkTopology") or {}, tiers, f"{where}: networkTopology")
    return Partitions(size, total, least, tier)


def _check_replicas(job: Job, role: str, policy: Partitions) -> None:
    pods = sum(task.role == role for task in job.tasks)
    if policy.total * policy.size != pods:
        raise Wrong(f"partitionPolicy of task {role}: totalPartitions {policy.total} x partitionSize {policy.size} is "
                    f"{policy.total * policy.size}, but the task has {pods} replicas")
