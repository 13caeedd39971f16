"""From the labels and annotations of a job to its `JobSettings`, or why it cannot be valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distsim.scheduler.keys import values
from distsim.scheduler.keys.table import (
    AFFINITY,
    DISTRIBUTED,
    KEYS,
    LABEL,
    MIN_REPLICAS,
    POLICY,
    SHARE,
    Key,
)
from distsim.scheduler.keys.values import InvalidValue
from distsim.scheduler.types import INVALID_ARGUMENT, INVALID_REQUEST, VALIDATE_FAILED, JobSettings, Refusal

SOFT_SHARE, MULTILEVEL = "chip1-softShareDev", "multilevel"


def parse_settings(labels: Mapping[str, str], annotations: Mapping[str, str], pods: int,
                   chips: int = 0) -> JobSettings | Refusal:
    """What the keys of a job ask for, or the first thing that makes it invalid, with key, bad value and valid values.

    pods : its pods with chips, or all of them if none has any. chips : what each of them requests in the job's file.
    What can be told only from the cluster (memory of a chip, chips of a node, SuperPoDs, switches) is left to the rule
    that acts.
    """
    found: dict[str, Any] = {}
    for key, text in _given(labels, annotations):
        if key.parse is None or not key.field:
            continue
        try:
            found[key.field] = key.parse(text)
        except InvalidValue as error:
            return refused(key, str(error), error.reason)
    return _joined(found, labels, annotations, pods, chips)


def _joined(found: dict[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str], pods: int,
            chips: int) -> JobSettings | Refusal:
    """Settings of values that are valid each by itself, once they are held against each other and the job's size."""
    if isinstance(found.get("sp_block"), str):               # idlest or non-idlest: the default block, placed so
        how = found.pop("sp_block")
        found.setdefault("sp_fit", how)
    for check in (_levels(found, annotations, pods), _replicas(found, pods), _shares(found, labels, chips)):
        if check is not None:
            return check
    if DISTRIBUTED not in annotations:
        found["distributed"] = bool(found.get("elastic")) and pods > 1
    return JobSettings(**found)


def refused(key: Key, message: str, reason: str = INVALID_ARGUMENT) -> Refusal:
    """The JobValidateFailed of a key."""
    return Refusal(VALIDATE_FAILED, f"{key.place} {key.name}: {message}", reason, final=True)


def _given(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[tuple[Key, str]]:
    """The keys of the table that the job has, in the table's order."""
    for key in KEYS.values():
        where = labels if key.place == LABEL else annotations
        if key.name in where:
            yield key, where[key.name]


def _levels(found: Mapping[str, Any], annotations: Mapping[str, str], pods: int) -> Refusal | None:
    """affinity-config against the number of pods (cluster.md section 3); multilevel does not go without it."""
    sizes = found.get("affinity_levels")
    if sizes is None:
        if found.get("schedule_policy") != MULTILEVEL:
            return None
        return refused(KEYS[AFFINITY], f"missing; {POLICY}: {MULTILEVEL} needs it, e.g. level1=2,level2=4")
    try:
        values.check_replicas(annotations[AFFINITY], sizes, pods)
    except InvalidValue as error:
        return refused(KEYS[AFFINITY], str(error))
    return None


def _replicas(found: Mapping[str, Any], pods: int) -> Refusal | None:
    """minReplicas lies within the job."""
    least = found.get("min_replicas", 1)
    return refused(KEYS[MIN_REPLICAS], f"{least} is out of range; valid: 1 to {pods}, the job's replicas") \
        if least > max(pods, 1) else None


def _shares(found: Mapping[str, Any], labels: Mapping[str, str], chips: int) -> Refusal | None:
    """Soft share needs its three labels, and its pods request as many chips as the quota says, of one chip in fact
    (mind-cluster, docs/en/scheduling, Soft Partitioning); 1 chip is taken too [our decision]."""
    if found.get("schedule_policy") != SOFT_SHARE:
        return None
    for name in ("aicoreQuota", "hbmQuota", "policy"):
        if SHARE + name not in labels:
            return refused(KEYS[SHARE + name], f"missing; {POLICY}: {SOFT_SHARE} needs it")
    quota = found["aicore_quota"]
    if chips not in (1, quota):
        return refused(KEYS[SHARE + "aicoreQuota"], f"{quota}, but a pod requests {chips} chips; valid: {quota}, as "
                       "the quota, or 1", INVALID_REQUEST)
    return None

