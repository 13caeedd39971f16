"""The simulator as the cluster's scheduler: which jobs run together, and on which nodes a job's pods start.

Decision: jobs run in waves. A wave takes the pending groups in their order, as many as maxConcurrent allows and none
that shares a node with another of the wave; the next wave starts when all jobs of this one have ended. On a real
cluster a group starts as soon as there is room, so it may overlap with other groups than here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .discovery import expression_holds

if TYPE_CHECKING:
    from distsim.cluster import Node

    from .jobs import Job

REPELS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True)
class Placed:
    """Where the pods of a job are. nodes : those that started, sorted. complete : whether all have."""

    nodes: tuple[str, ...]
    complete: bool


def waves(jobs: Sequence[Job], max_concurrent: int = 0) -> list[list[Job]]:
    """The jobs of one iteration by the time at which they start. max_concurrent : 0 is no limit."""
    pending = list(jobs)
    made: list[list[Job]] = []
    while pending:
        wave: list[Job] = []
        taken: set[str] = set()
        left = []
        for job in pending:
            if (max_concurrent and len(wave) >= max_concurrent) or not taken.isdisjoint(job.group.nodes):
                left.append(job)
            else:
                wave.append(job)
                taken.update(job.group.nodes)
        made.append(wave)
        pending = left
    return made


def place(job: Job, nodes: Iterable[Node], gpus_per_node: int, busy: Iterable[str] = ()) -> Placed:
    """Start the pods of a job, one a node, on the nodes that are free and that its affinity and tolerations allow.

    nodes : of the cluster. busy : names of those whose accelerators others have. Nodes are taken in order of name. A
    gang starts whole or not at all; without one, as many pods start as there are nodes, and the rest stay pending.
    """
    occupied = set(busy)
    terms = terms_of(job.affinity)
    free = sorted(node.name for node in nodes if node.name not in occupied and not node.cordoned
                  and node.gpus >= gpus_per_node and tolerates(job.tolerations, node) and allows(terms, node))
    complete = len(free) >= job.num_nodes
    return Placed(tuple(free[:job.num_nodes]) if complete or not job.gang else (), complete)


def terms_of(affinity: Mapping[str, Any] | None) -> list[list[Mapping[str, Any]]]:
    """The expressions of each required term of a node affinity; none constrain nothing."""
    required = (affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return [list(term["matchExpressions"]) for term in required.get("nodeSelectorTerms") or ()]


def allows(terms: Sequence[Sequence[Mapping[str, Any]]], node: Node) -> bool:
    """Whether one of the terms holds for a node, all of its expressions; no terms hold for every node."""
    return not terms or any(all(expression_holds(node.labels, one) for one in term) for term in terms)


def tolerates(tolerations: Sequence[Mapping[str, Any]], node: Node) -> bool:
    """Whether every taint of a node that keeps pods off is tolerated."""
    return all(any(_answers(one, taint) for one in tolerations) for taint in node.taints if taint.effect in REPELS)


def _answers(toleration: Mapping[str, Any], taint: Any) -> bool:
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    if toleration.get("key") not in (None, "", taint.key):
        return False
    return toleration.get("operator", "Equal") == "Exists" or (toleration.get("value") or "") == taint.value
