"""How many jobs a run has and who picks their nodes: of a WorkloadRun, and of a Workflow's overrides.

Source: NVIDIA/cluster-readiness-engine, WorkloadRun and Workflow. `diagnose` on a WorkloadRun is ours: there it is an
option of a Certification only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from distsim.errors import InputError
from distsim.measure.units import parse_duration_s
from distsim.quantities import StrictModel

from .target import Target

PINNED, UNPINNED = "Pinned", "Unpinned"
INTRA_NODE, INTRA_RACK, FULL_SCALE = "intra-node", "intra-rack", "full-scale"
CLIQUE = "nvidia.com/gpu.clique"                     # label of the rack, where nothing else is said
DEFAULT_TIMEOUT = "1h"
_UNPINNED = "orchestration.placement: Unpinned is incompatible with"
_DOMAINS = ("runs one job per topology domain, Unpinned runs exactly one job; to confine a single unpinned job to one "
            "domain, name the domain label in target.matchExpressions instead")
_REFUSED_SCALES = {
    INTRA_NODE: f'{_UNPINNED} orchestration.testScale "{INTRA_NODE}": intra-node runs one job per target node, '
                "Unpinned runs exactly one job; drop one of the two",
    INTRA_RACK: f'{_UNPINNED} orchestration.testScale "{INTRA_RACK}": intra-rack {_DOMAINS}',
}
_REFUSED_DIAGNOSE = (f"{_UNPINNED} orchestration.diagnose: diagnose isolates faults by partitioning nodes into "
                     "groups and bisecting the failures, which requires the node pinning Unpinned removes; drop one of "
                     "the two")
_REFUSED_STRICT_DOMAIN = f"{_UNPINNED} orchestration.topology.strictDomain: strictDomain {_DOMAINS}"


def positive_duration(text: str) -> str:
    """A Go duration above zero; ValueError if it is none."""
    if parse_duration_s(text) <= 0:
        raise ValueError(f"{text!r} is out of range; valid: more than 0s (default {DEFAULT_TIMEOUT})")
    return text


class Diagnose(StrictModel):
    """Find the bad nodes: test groups of nodes, halve those that fail."""

    minGroupSize: int = Field(2, strict=True, ge=1, description="nodes of the smallest group that is halved no more")
    topologyKey: str = Field("", description="label that names a node's domain; empty: groups by name")


class Orchestration(StrictModel):
    """How a WorkloadRun's nodes are grouped and tested."""

    testScale: Literal["", "intra-node", "intra-rack", "full-scale"] = Field(
        "", description="grouping: each node alone, each rack, or groups of numNodes")
    placement: Literal["", "Pinned", "Unpinned"] = Field(
        "Pinned", description="Pinned: groups of numNodes; Unpinned: one job, the scheduler picks its nodes")
    repeatCount: int = Field(1, strict=True, ge=1, description="times that all jobs are run")
    maxConcurrent: int = Field(0, strict=True, ge=0, description="jobs that run at the same time; 0: no limit")
    timeoutPerJob: str = Field(DEFAULT_TIMEOUT, description="longest time of a job, a Go duration")
    diagnose: Diagnose | None = Field(None, description="find the bad nodes among those that fail")

    @field_validator("placement")
    @classmethod
    def _placement(cls, given: str) -> str:
        return given or PINNED

    @field_validator("timeoutPerJob")
    @classmethod
    def _timeout(cls, text: str) -> str:
        return positive_duration(text) if text else DEFAULT_TIMEOUT

    @model_validator(mode="after")
    def _fits(self) -> Orchestration:
        try:
            check_placement(self.model_dump())
        except InputError as error:
            raise ValueError(error.message) from None
        return self


class Topology(StrictModel):
    """Domains of the nodes."""

    topologyKey: str = Field(min_length=1, description="label that names a node's domain")
    strictDomain: bool = Field(False, strict=True, description="one group per domain, of its own size")


class Execution(StrictModel):
    """How a Workflow's jobs are run."""

    maxConcurrent: int = Field(0, strict=True, ge=0, description="jobs that run at the same time; 0: no limit")
    timeoutPerJob: str = Field(DEFAULT_TIMEOUT, description="longest time of a job, a Go duration")
    retryFailedGroups: int = Field(0, strict=True, ge=0, description="times that a failed group's job is run again")

    @field_validator("timeoutPerJob")
    @classmethod
    def _timeout(cls, text: str) -> str:
        return positive_duration(text)


class OrchestrationOverride(StrictModel):
    """What an override puts in the place of a part of the Workflow's orchestration."""

    target: Target | None = Field(None, description="other nodes")
    topology: Topology | None = Field(None, description="other domains")
    execution: Execution | None = Field(None, description="another way to run the jobs")
    iterations: int | None = Field(None, strict=True, ge=1, description="times that all jobs are run")


def check_placement(orchestration: Mapping[str, Any]) -> None:
    """InputError if an orchestration, of a run or of a Workflow, asks for one unpinned job and for several at once.

    A topologyKey alone is no reason: an unpinned job has no groups, so the key is left unused.
    """
    if orchestration.get("placement") != UNPINNED:
        return
    text = _REFUSED_SCALES.get(orchestration.get("testScale") or "")
    if text is None and orchestration.get("diagnose") is not None:
        text = _REFUSED_DIAGNOSE
    if text is None and (orchestration.get("topology") or {}).get("strictDomain"):
        text = _REFUSED_STRICT_DOMAIN
    if text is not None:
        raise InputError(text, where="spec.orchestration")
