"""The classes of jobs, and what makes a job impossible under tor-affinity.

What mind-cluster checks and what not (internal/nslb/frame.go): the label's value, and that a topology is there. Pods
need not ask for whole nodes, and need not be alike: each pod gets a node of its own (setNodeRankIndex gives every
server one rank), whatever is left of that node. The documentation allows whole chips only, no parts of chips.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import topology
from distsim.scheduler.types import INVALID_ARGUMENT, INVALID_REQUEST, NOT_SUPPORT_POLICY, VALIDATE_FAILED, Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State

LARGE_LABEL, NORMAL_LABEL, NULL_LABEL = "large-model-schema", "normal-schema", "null"
LARGE_FROM = 4                          # nodes; fillJobMaxNPUTaskNum of mind-cluster
SOFT_SHARE = "chip1-softShareDev"


class Kind(StrEnum):
    """Class of a job. A filler stays at one switch; a large one is placed by the rules of slices or not at all; a
    normal one is placed by them if that can be, else on what there is."""

    LARGE = "large"
    FILLER = "filler"
    NORMAL = "normal"


def kind_of(job: Job) -> Kind:
    """The class of a job. One without the label that is placed by this policy all the same (--policy) is normal."""
    if job.settings.tor_affinity != LARGE_LABEL:
        return Kind.NORMAL
    return Kind.LARGE if len(job.npu_tasks) >= LARGE_FROM else Kind.FILLER


def invalid(job: Job, state: State) -> Refusal | None:
    """Why a job cannot be placed however empty the cluster is, or None."""
    label = job.settings.tor_affinity
    if label not in (None, LARGE_LABEL, NORMAL_LABEL, NULL_LABEL):
        return _refusal(INVALID_ARGUMENT, f"label tor-affinity of job {job.name} is {label!r}; valid values: "
                                          f"{LARGE_LABEL}, {NORMAL_LABEL}, {NULL_LABEL}")
    if not topology.loaded(state):
        return _refusal(INVALID_ARGUMENT, f"tor-affinity of job {job.name} needs a basic-tor-node-cm; cluster "
                                          f"{state.cluster.name} has none: no node names its switch")
    if job.settings.schedule_policy == SOFT_SHARE:
        return _refusal(NOT_SUPPORT_POLICY, f"job {job.name} asks for parts of chips ({SOFT_SHARE}); tor-affinity "
                                            f"places whole chips")
    return _too_large(job, state)


def _too_large(job: Job, state: State) -> Refusal | None:
    """A job that has to stay at one switch and has more pods than a switch has nodes."""
    pods, size = len(job.npu_tasks), topology.switch_size(state)
    if pods <= size:
        return None
    if topology.single_layer(state):
        why = "tor_level is single_layer"
    elif kind_of(job) is Kind.FILLER:
        why = f"it is a filler, {LARGE_LABEL} with fewer than {LARGE_FROM} pods"
    else:
        return None
    return _refusal(INVALID_REQUEST, f"job {job.name} has {pods} pods and stays at one switch ({why}); a switch has "
                                     f"{size} nodes")


def _refusal(reason: str, message: str) -> Refusal:
    return Refusal(VALIDATE_FAILED, message, reason=reason, final=True)
