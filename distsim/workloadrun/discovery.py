"""Which nodes a run may use: the target, then cordons, one GPU architecture, and GPUs per node, in that order.

Source of the order and of the texts: NVIDIA/cluster-readiness-engine, node discovery of a Workflow; the target's fields
are those of a WorkloadRun. The simulator stands in for the API server: it sees every node of the cluster file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from distsim.cluster.labels import GPU, GPU_PRESENT, GPU_PRODUCT, OPERATORS, architecture
from distsim.cluster.labels import expression_holds as label_holds
from distsim.errors import InputError

from .orchestration import UNPINNED

if TYPE_CHECKING:
    from distsim.cluster import Node

UNKNOWN = "unknown"
DEFAULT_SELECTOR = {GPU_PRESENT: "true"}


@dataclass(frozen=True)
class Discovery:
    """What was found.

    nodes : the eligible nodes, by name. platform, gpu_architecture : of them all; the architecture is `unknown` when no
    node has the label. gpus_per_node : what the job asks of each node, 0 as long as capacity was not looked at.
    cordoned, other_architecture : names of nodes that matched the target and were left out. short_of_gpus : (name,
    allocatable GPUs) of those that have too few.
    """

    nodes: tuple[Node, ...]
    platform: str
    gpu_architecture: str
    gpus_per_node: int = 0
    cordoned: tuple[str, ...] = ()
    other_architecture: tuple[str, ...] = ()
    short_of_gpus: tuple[tuple[str, int], ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the eligible nodes, sorted."""
        return [node.name for node in self.nodes]

    @property
    def gpu_products(self) -> list[str]:
        """The product labels of the eligible nodes, each once, sorted."""
        return sorted({node.labels[GPU_PRODUCT] for node in self.nodes if node.labels.get(GPU_PRODUCT)})

    def excluded(self) -> list[dict[str, str]]:
        """Nodes that matched the target and were left out, each with its reason."""
        found = [(name, "cordoned") for name in self.cordoned]
        found += [(name, f"not GPU architecture {self.gpu_architecture}") for name in self.other_architecture]
        found += [(name, f"has {gpus} of {self.gpus_per_node} {GPU}") for name, gpus in self.short_of_gpus]
        return [{"node": name, "reason": reason} for name, reason in found]

    def exclusion_reason(self) -> str:
        """One text for all of them, empty when none was left out."""
        reasons = []
        if self.cordoned:
            reasons.append(f"{len(self.cordoned)} node(s) matched the target but were unschedulable (cordoned): "
                           f"{', '.join(self.cordoned)}")
        if self.other_architecture:
            reasons.append("target set has more than one GPU architecture; certified "
                           f"{self.gpu_architecture} only")
        if self.short_of_gpus:
            reasons.append(f"{len(self.short_of_gpus)} node(s) matched the target but have insufficient GPU capacity, "
                           f"the workload requests {self.gpus_per_node} {GPU} per node: {self._shortfall()}")
        return ". ".join(reasons)

    def shortage(self, needed: int, placement: str = "") -> str:
        """Why `needed` nodes cannot be had, with what would help; under Unpinned the size is not to be lowered."""
        text = f"Not enough schedulable nodes: need {needed}, found {len(self.nodes)}"
        causes, remedies = [], []
        if self.other_architecture:
            causes.append(f"{len(self.other_architecture)} node(s) matched the target but were excluded for not being "
                          f"GPU architecture {self.gpu_architecture}: {', '.join(self.other_architecture)}")
            remedies.append("narrow the target to one architecture")
        if self.short_of_gpus:
            causes.append(f"{len(self.short_of_gpus)} node(s) matched the target but were excluded for having fewer "
                          f"than the {self.gpus_per_node} allocatable {GPU} the workload requests per node: "
                          f"{self._shortfall()}")
            remedies.append("lower gpusPerNode")
        if not causes:
            return text
        text = ". ".join([text, *causes])
        remedy = f". Set numNodes to {len(self.nodes)}, or {', or '.join(remedies)}"
        return text if placement == UNPINNED else text + remedy

    def _shortfall(self) -> str:
        return ", ".join(f"{name} has {gpus}" for name, gpus in self.short_of_gpus)


def eligible(nodes: Iterable[Node], target: Mapping[str, Any] | None, gpus_per_node: int, *,
             platform: str = "sim") -> Discovery:
    """All steps at once: `targeted`, then `with_capacity`."""
    return with_capacity(targeted(nodes, target, platform=platform), gpus_per_node)


def targeted(nodes: Iterable[Node], target: Mapping[str, Any] | None, *, platform: str = "sim") -> Discovery:
    """The nodes that a target matches, without cordoned ones, of one GPU architecture.

    target : nodeSelector, matchExpressions, nodeNames, taintSelectors as in a WorkloadRun, all of which must hold; an
    empty one is the selector `nvidia.com/gpu.present: "true"`, and with nodeNames the selector is ignored.
    platform : of nodes that say none.

    Raises InputError when nothing matches, when the nodes are of several platforms, or for a bad match expression.
    """
    matched = sorted(filter(_matcher(target or {}), nodes), key=lambda node: node.name)
    usable = [node for node in matched if not node.cordoned]
    cordoned = tuple(node.name for node in matched if node.cordoned and _has_gpus(node))
    if not usable:
        raise InputError("No target nodes found matching orchestration target" + (
            f"; {len(cordoned)} node(s) matched but are cordoned: {', '.join(cordoned)}" if cordoned else ""),
            where="spec.target")
    found = Counter(node.platform or platform for node in usable)
    if len(found) > 1:
        counts = " ".join(f"{name}:{count}" for name, count in sorted(found.items()))
        raise InputError(f"heterogeneous platforms detected: map[{counts}]", where="spec.target")
    kinds = [architecture(node.labels.get(GPU_PRODUCT, "")) for node in usable]
    chosen = majority(kinds)
    kept = tuple(node for node, kind in zip(usable, kinds, strict=True) if kind == chosen)
    others = tuple(node.name for node, kind in zip(usable, kinds, strict=True) if kind != chosen)
    return Discovery(kept, next(iter(found)), chosen, cordoned=cordoned, other_architecture=others)


def with_capacity(discovery: Discovery, gpus_per_node: int) -> Discovery:
    """Without the nodes that have fewer GPUs than a job asks of a node; InputError when none is left."""
    kept = tuple(node for node in discovery.nodes if node.gpus >= gpus_per_node)
    short = tuple((node.name, node.gpus) for node in discovery.nodes if node.gpus < gpus_per_node)
    if not kept:
        raise InputError(f"No node can supply the {gpus_per_node} {GPU} the workload requests per node; best "
                         f"available is {max(gpus for _, gpus in short)}", where="spec.gpusPerNode")
    return replace(discovery, nodes=kept, gpus_per_node=gpus_per_node, short_of_gpus=short)


def majority(architectures: Iterable[str]) -> str:
    """The architecture of most nodes, the earliest of equals; nodes without a label do not vote."""
    votes = Counter(one for one in architectures if one != UNKNOWN)      # in order of first appearance
    return max(votes, key=votes.__getitem__) if votes else UNKNOWN


def _has_gpus(node: Node) -> bool:
    return node.gpus > 0 or node.labels.get(GPU_PRESENT) == "true"


def _matcher(target: Mapping[str, Any]) -> Callable[[Node], bool]:
    """Whether a node is in the target."""
    names = frozenset(target.get("nodeNames") or ())
    expressions = tuple(target.get("matchExpressions") or ())
    taints = tuple(target.get("taintSelectors") or ())
    selector: Mapping[str, str] = target.get("nodeSelector") or {}
    if not (names or expressions or taints or selector):
        selector = DEFAULT_SELECTOR

    def matches(node: Node) -> bool:
        chosen = node.name in names if names else all(node.labels.get(key) == selector[key] for key in selector)
        return (chosen and all(expression_holds(node.labels, one) for one in expressions)
                and all(_has_taint(node, one) for one in taints))

    return matches


def expression_holds(labels: Mapping[str, str], expression: Mapping[str, Any]) -> bool:
    """One match expression of plain data; InputError for an operator that there is not."""
    operator = expression["operator"]
    if operator not in OPERATORS:
        raise InputError(f"operator {operator!r} is not valid; valid values: {', '.join(OPERATORS)}",
                         where="spec.target.matchExpressions")
    return label_holds(labels, expression["key"], operator, expression.get("values") or ())


def _has_taint(node: Node, selected: Mapping[str, Any]) -> bool:
    return any(taint.key == selected["key"] and selected.get("value") in (None, "", taint.value)
               and selected.get("effect") in (None, "", taint.effect) for taint in node.taints)
