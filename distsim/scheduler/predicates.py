"""Which nodes a pod may stand on at all: the ordinary filters of plugin `predicates`, before any topology.

As Kubernetes reads a pod's spec: nodeSelector, required node affinity, taints, cordon, resources, required
anti-affinity on the host name, and nodes that are unhealthy. With plugin volcano-npu also, as mind-cluster's
plugin/node.go: sub-healthy nodes for jobs whose subHealthyStrategy shuns them, and ring-controller.atlas. Chips are the
rule's business; only that a node's chips are of the kind that a job asks for is checked here, whatever plugins are on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from distsim.cluster.labels import OPERATORS, expression_holds
from distsim.scheduler.atlas import atlas_allows
from distsim.scheduler.types import Job, Task

if TYPE_CHECKING:
    from distsim.cluster import Node, Taint
    from distsim.scheduler.state import NodeState, State

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
CORDON = "node.kubernetes.io/unschedulable"
UNHEALTHY, DISABLED = "NodeHealthState is not healthy", "NodeDEnable is false"
SUB_HEALTHY = "sub-healthy, which subHealthyStrategy {} shuns"
HOST_TAKEN = "holds a pod of the job already (required podAntiAffinity)"
_BLOCKING = ("NoSchedule", "NoExecute")


def usable(state: State, job: Job, task: Task) -> tuple[list[NodeState], dict[str, list[str]]]:
    """The nodes that a task may stand on, in cluster order, and reason -> names of the others."""
    return Filters(state).usable(job, task)


class Filters:
    """The filters of a cluster, which remember what the fixed part of it (labels, taints, cordons) says to each shape
    of pod: nodes keep their labels for a whole run."""

    def __init__(self, state: State):
        self.state = state
        self._fixed: dict[tuple[str, ...], list[str | None]] = {}

    def usable(self, job: Job, task: Task) -> tuple[list[NodeState], dict[str, list[str]]]:
        """As the function of this name."""
        found: list[NodeState] = []
        refused: dict[str, list[str]] = {}
        for node, reason in zip(self.state.nodes.values(), self.reasons(job, task)):
            if reason is None:
                found.append(node)
            else:
                refused.setdefault(reason, []).append(node.name)
        return found, refused

    def reasons(self, job: Job, task: Task) -> list[str | None]:
        """By node, in cluster order, why a task may not stand there; None where it may."""
        settings = self.state.settings
        checked, ascend = settings.has("predicates"), settings.has("volcano-npu")
        shuns = ascend and job.settings.sub_healthy != "ignore"
        atlas = ascend and job.settings.atlas is not None and task.chips
        amounts = [(name, amount) for name, amount in task.request.items() if amount and name != job.resource]
        taken = {one.node for one in job.tasks} if task.spread else set()
        kind = job.resource if task.chips else ""
        fixed = self._fixed_reasons(task) if checked else [None] * len(self.state.nodes)
        found: list[str | None] = []
        for node, reason in zip(self.state.nodes.values(), fixed):
            if kind and not node.node.resources.get(kind):
                reason = f"has no {kind}"
            elif shuns and node.sub_healthy:
                reason = SUB_HEALTHY.format(job.settings.sub_healthy)
            else:
                reason = reason or (atlas_allows(job, node) if atlas else None)
            if reason is None and checked:
                reason = _standing(node, amounts, taken)
            found.append(reason)
        return found

    def _fixed_reasons(self, task: Task) -> list[str | None]:
        key = (json.dumps(task.node_selector, sort_keys=True), json.dumps(task.affinity, sort_keys=True),
               json.dumps(task.tolerations, sort_keys=True))
        if key not in self._fixed:
            self._fixed[key] = [fixed_reason(node.node, task) for node in self.state.nodes.values()]
        return self._fixed[key]


def fixed_reason(node: Node, task: Task) -> str | None:
    """Why a task may never stand on a node, by cordon, taints, selector and required affinity; None if it may."""
    if node.cordoned and not tolerates_key(task.tolerations, CORDON, "", "NoSchedule"):
        return "cordoned"
    for taint in node.taints:
        if taint.effect in _BLOCKING and not tolerates(task.tolerations, taint):
            return f"taint {taint.key}={taint.value}:{taint.effect} is not tolerated"
    for key, value in task.node_selector.items():
        if node.labels.get(key) != value:
            return f"nodeSelector {key}={value}, the node has {_has(node, key)}"
    terms = required_terms(task)
    if terms is not None and not any(term_holds(node, term) for term in terms):
        return f"required node affinity: {' or '.join(map(_text, terms)) or 'no term'}"
    return None


def required_terms(task: Task) -> list[Mapping[str, Any]] | None:
    """The terms of the required node affinity, of which one must hold; None without one."""
    required = (task.affinity.get("nodeAffinity") or {}).get(REQUIRED)
    return list(required.get("nodeSelectorTerms") or ()) if required else None


def term_holds(node: Node, term: Mapping[str, Any]) -> bool:
    """Whether a nodeSelectorTerm holds for a node; one without any condition holds for none (as in Kubernetes)."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    by_field = {"metadata.name": node.name}
    return bool(expressions or fields) and (all(_holds(node.labels, one) for one in expressions)
                                            and all(_holds(by_field, one) for one in fields))


def tolerates(tolerations: Iterable[Mapping[str, Any]], taint: Taint) -> bool:
    """Whether one of the tolerations is for a taint."""
    return tolerates_key(tolerations, taint.key, taint.value, taint.effect)


def tolerates_key(tolerations: Iterable[Mapping[str, Any]], key: str, value: str, effect: str) -> bool:
    """The same by key, value and effect. A toleration without a key and with operator Exists is for every taint, one
    without an effect for every effect; the operator is Equal unless it is given."""
    for one in tolerations:
        if one.get("effect") not in (None, "", effect):
            continue
        exists = one.get("operator") == "Exists"
        if (exists and not one.get("key")) or (one.get("key") == key and (exists or (one.get("value") or "") == value)):
            return True
    return False


def _standing(node: NodeState, amounts: Iterable[tuple[str, int]], taken: set[str | None]) -> str | None:
    """What of a node's present state keeps a pod out: its health, what is left of its resources, a pod of its job."""
    if not node.healthy:
        return UNHEALTHY
    if not node.enabled:
        return DISABLED
    for name, amount in amounts:
        left = node.free.get(name)
        if left is None and "/" in name:
            return f"has no {name}"
        # A cluster file that says nothing of cpu or memory limits neither.
        if left is not None and left < amount:
            return f"{name}: {left} free, {amount} requested"
    return HOST_TAKEN if node.name in taken else None


def _holds(labels: Mapping[str, str], expression: Mapping[str, Any]) -> bool:
    key, operator = str(expression.get("key")), str(expression.get("operator"))
    values = [str(value) for value in expression.get("values") or ()]
    if operator in OPERATORS:
        return expression_holds(labels, key, operator, values)
    if operator not in ("Gt", "Lt") or len(values) != 1:
        return False
    try:
        have, limit = int(labels[key]), int(values[0])
    except (KeyError, ValueError):
        return False
    return have > limit if operator == "Gt" else have < limit


def _has(node: Node, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else "no such label"


def _text(term: Mapping[str, Any]) -> str:
    parts = [f"{one.get('key')} {one.get('operator')}"
             + (f" {', '.join(map(str, one['values']))}" if one.get("values") else "")
             for one in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))]
    return "(" + " and ".join(parts) + ")"
