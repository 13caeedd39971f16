"""What the plugins `binpack` and `nodeorder` of a volcano-scheduler-configmap say about the order of nodes.

Arguments and defaults as in volcano-sh/volcano, pkg/scheduler/plugins: binpack/binpack.go (weight, cpu, memory,
resources) and nodeorder/nodeorder.go (leastrequested, mostrequested, nodeaffinity, tainttoleration). For pods with
chips they choose between the plain policies binpack and spread (`plain_name`); pods without are ranked by the plugins'
own formulas (`score`). Scores run from 0 to 100 times their weight, in whole numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.predicates import PREFERRED, term_holds, tolerates
from distsim.scheduler.types import Task

if TYPE_CHECKING:
    from distsim.scheduler.settings import SchedulerSettings
    from distsim.scheduler.state import NodeState

# Defaults of the arguments; a plugin that is off has weight 0.
DEFAULTS = {
    "binpack": {"binpack.weight": 1, "binpack.cpu": 1, "binpack.memory": 1},
    "nodeorder": {"leastrequested.weight": 1, "mostrequested.weight": 0, "nodeaffinity.weight": 2,
                  "tainttoleration.weight": 3},
}
_BASIC = ("cpu", "memory")                        # what leastrequested and mostrequested look at
_MOST = 100


def weight(settings: SchedulerSettings, plugin: str, name: str) -> int:
    """An argument of a plugin, its default where the file is silent, 0 when the plugin is off."""
    if not settings.has(plugin):
        return 0
    return int(settings.plugins[plugin].get(name, DEFAULTS[plugin][name]))


def plain_name(settings: SchedulerSettings) -> str:
    """binpack or spread for pods with chips: whichever the weights pull to; binpack, if it is on, when they balance
    (as they do by default) [our decision: volcano would then go by cpu and memory, which chips outweigh]."""
    packing = weight(settings, "binpack", "binpack.weight")
    pull = packing + weight(settings, "nodeorder", "mostrequested.weight") \
        - weight(settings, "nodeorder", "leastrequested.weight")
    return "binpack" if pull > 0 or (pull == 0 and packing > 0) else "spread"


def dislike(node: NodeState, task: Task, settings: SchedulerSettings) -> int:
    """What nodeorder takes off a node for a task: taints PreferNoSchedule that it does not tolerate, less the weights
    of its preferred node affinities that hold there."""
    if not (task.affinity or node.node.taints) or not settings.has("nodeorder"):
        return 0
    unwanted = sum(taint.effect == "PreferNoSchedule" and not tolerates(task.tolerations, taint)
                   for taint in node.node.taints)
    wanted = sum(int(one.get("weight", 0))
                 for one in (task.affinity.get("nodeAffinity") or {}).get(PREFERRED) or ()
                 if term_holds(node.node, one.get("preference") or {}))
    return (_MOST * unwanted * weight(settings, "nodeorder", "tainttoleration.weight")
            - wanted * weight(settings, "nodeorder", "nodeaffinity.weight"))


def score(node: NodeState, task: Task, settings: SchedulerSettings) -> int:
    """How well a node suits a task without chips, by cpu and memory in use with the task there; higher is better."""
    use = {name: _percent(node, task, name) for name in _BASIC}
    known = [amount for amount in use.values() if amount is not None]
    mean = sum(known) // len(known) if known else 0
    free = _MOST - mean if known else 0
    return (mean * weight(settings, "nodeorder", "mostrequested.weight")
            + free * weight(settings, "nodeorder", "leastrequested.weight")
            + _packed(node, task, settings) - dislike(node, task, settings))


def _packed(node: NodeState, task: Task, settings: SchedulerSettings) -> int:
    """The binpack score: use of what the task asks for, weighted by resource."""
    total, weights = 0, 0
    for name, share in _resource_weights(settings).items():
        use = _percent(node, task, name) if task.request.get(name) else None
        if use is not None:
            total, weights = total + use * share, weights + share
    return total * weight(settings, "binpack", "binpack.weight") // weights if weights else 0


def _resource_weights(settings: SchedulerSettings) -> dict[str, int]:
    if not settings.has("binpack"):
        return {}
    arguments = settings.plugins["binpack"]
    names = [name.strip() for name in str(arguments.get("binpack.resources", "")).split(",") if name.strip()]
    extra = {name: int(arguments.get(f"binpack.resources.{name}", 1)) for name in names}
    return extra | {name: weight(settings, "binpack", f"binpack.{name}") for name in _BASIC}


def _percent(node: NodeState, task: Task, name: str) -> int | None:
    """Percent of a resource in use once the task is there; None where the node does not say how much it has."""
    free = node.free.get(name)
    total = node.node.resources.get(name, 0) * (1000 if name == "cpu" else 1)
    if free is None or total <= 0:
        return None
    return _MOST * (total - free + task.request.get(name, 0)) // total
