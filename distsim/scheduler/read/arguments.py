"""The arguments that a volcano-scheduler-configmap may hold, with their values.

Sources: mind-cluster, docs/en/scheduling, "Installing Volcano" (init-params); volcano-sh/volcano, pkg/scheduler/conf
and pkg/scheduler/plugins (switches and arguments of plugins).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distsim.scheduler.settings import PLUGINS

Parse = Callable[[Any], Any]
SWITCHES = (
    "enableJobOrder", "enableNamespaceOrder", "enableHierarchy", "enableJobReady", "enableJobPipelined",
    "enableTaskOrder", "enablePreemptable", "enableReclaimable", "enableQueueOrder", "enablePredicate",
    "enableBestNode", "enableNodeOrder", "enableJobEnqueued", "enableJobStarving", "enableTargetJob",
    "enableReservedNodes", "enabledVictim", "enabledOverused", "enabledAllocatable", "enabledHyperNodeOrder",
    "enabledHyperNodeGradient", "enabledSubJobReady", "enabledSubJobPipelined", "enabledSubJobOrder")
# Plugins of which one function is modelled: without it they are off.
MAIN_SWITCH = {"priority": "enableJobOrder", "drf": "enableJobOrder", "predicates": "enablePredicate",
               "nodeorder": "enableNodeOrder", "binpack": "enableNodeOrder"}
# Functions of the others; those that cannot be had apart are named when they are switched off.
PARTS = {"gang": ("enableJobOrder", "enableJobReady", "enableJobPipelined"),
         "volcano-npu": ("enablePredicate", "enableNodeOrder", "enableJobOrder", "enableJobEnqueued"),
         "proportion": ("enableQueueOrder", "enableJobEnqueued", "enabledOverused", "enabledAllocatable")}
NPU_PLUGIN = re.compile(r"volcano-npu(_.*)?", re.ASCII)      # volcano-npu_{version}_linux-{arch}


@dataclass(frozen=True)
class Argument:
    """An argument. valid : its values, for people. parse : from the file's value; ValueError for a wrong one. acts :
    whether it changes something; if not, every value but `quiet` is named. does : what it does. field : of
    SchedulerSettings."""

    valid: str
    parse: Parse
    acts: bool = True
    does: str = ""
    field: str = ""
    quiet: Any = False


def integer(low: int, high: int | None = None) -> Parse:
    """A parser of integers, as a number or as text."""
    valid = f"{low} to {high}" if high is not None else f"{low} or more"

    def parse(given: Any) -> int:
        text = str(given)
        if isinstance(given, bool) or not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise ValueError(f"{given!r} is not an integer; valid: {valid}")
        value = int(text)
        if value < low or (high is not None and value > high):
            raise ValueError(f"{value} is out of range; valid: {valid}")
        return value

    return parse


def boolean(given: Any) -> bool:
    """true or false, as such or as text."""
    if isinstance(given, bool):
        return given
    if given in ("true", "false"):
        return bool(given == "true")
    raise ValueError(f"{given!r} is not valid; valid: true, false")


def true_only(given: Any) -> bool:
    """true; every other value is false (mind-cluster's page on forceEnqueue)."""
    return given is True or given == "true"


def rate(given: Any) -> float:
    """A number of 0 or more."""
    if isinstance(given, bool) or not re.fullmatch(r"[0-9]+(\.[0-9]*)?", str(given)):
        raise ValueError(f"{given!r} is not a number of 0 or more")
    return float(given)


def choice(*options: str) -> Parse:
    """A parser of some texts; 1.0 as a number is the text 1.0."""

    def parse(given: Any) -> str:
        if str(given) not in options:
            raise ValueError(f"{given!r} is not valid; valid: {', '.join(options)}")
        return str(given)

    return parse


def names(given: Any) -> str:
    """Names of resources joined by commas."""
    if not isinstance(given, str):
        raise ValueError(f"{given!r} is not text; valid: names of resources joined by commas")
    return ", ".join(name.strip() for name in given.split(",") if name.strip())


_WEIGHT = Argument("integer of 0 or more", integer(0))
_IDLE_WEIGHT = Argument("integer of 0 or more", integer(0), acts=False)
_ALWAYS_ON = Argument("true, false", boolean, acts=False, quiet=True)
_IDLE_ON = Argument("true, false", boolean, acts=False)
_NAMES = Argument("names of resources joined by commas", names)
PLUGIN_ARGUMENTS: dict[str, dict[str, Argument]] = {name: {} for name in PLUGINS} | {
    "predicates": {
        **{f"predicate.{name}Enable": _ALWAYS_ON for name in ("NodeAffinity", "TaintToleration", "PodAffinity")},
        **{f"predicate.{name}Enable": _IDLE_ON for name in (
            "GPUSharing", "GPUNumber", "NodePorts", "NodeVolumeLimits", "VolumeZone", "PodTopologySpread",
            "VolumeBinding", "DynamicResourceAllocation", "Cache", "Proportional")},
        "predicate.resources": Argument("names of resources joined by commas", names, acts=False),
        "predicate.resources.<name>.cpu": Argument("number of 0 or more", rate, acts=False),
        "predicate.resources.<name>.memory": Argument("number of 0 or more", rate, acts=False),
    },
    "nodeorder": {
        **{f"{name}.weight": _WEIGHT for name in (
            "nodeaffinity", "leastrequested", "mostrequested", "tainttoleration")},
        **{f"{name}.weight": _IDLE_WEIGHT for name in (
            "balancedresource", "podaffinity", "imagelocality", "podtopologyspread", "volumebinding",
            "selectorspread")},
    },
    "binpack": {"binpack.weight": _WEIGHT, "binpack.cpu": _WEIGHT, "binpack.memory": _WEIGHT,
                "binpack.resources": _NAMES, "binpack.resources.<name>": _WEIGHT},
}
INIT_PARAMS: dict[str, Argument] = {
    "grace-over-time": Argument("2 to 3600 seconds (900)", integer(2, 3600), field="grace_over_time_s",
                                does="From the graceful end of a pod to its forced one."),
    "nslb-version": Argument("1.0, 2.0 (1.0)", choice("1.0", "2.0"), field="nslb_version",
                             does="Rules of tor-affinity."),
    "shared-tor-num": Argument("1, 2 (2)", integer(1, 2), field="shared_tor_num",
                               does="Shared switches that a job may use, nslb-version 2.0."),
    "super-pod-size": Argument("1 or more nodes (48)", integer(1), field="super_pod_size",
                               does="Nodes of a SuperPoD."),
    "reserve-nodes": Argument("0 or more nodes (2)", integer(0), field="reserve_nodes",
                              does="Nodes of a SuperPoD that are taken last; beyond super-pod-size it is 2, or 0 in "
                                   "one of at most 2 nodes."),
    "forceEnqueue": Argument("true; any other value: false (true)", true_only, field="force_enqueue",
                             does="Enqueue a job as soon as its chips are free, whatever else is lacking."),
    "prefer-previous-node": Argument("true, false (true)", boolean, field="prefer_previous_node",
                                     does="A rescheduled pod goes back to its node if it can."),
    "self-maintain-available-card": Argument("true, false (true)", boolean, False, quiet=True,
                                             does="The scheduler works out itself which chips are free.",
                                             field="self_maintain_available_card"),
    "useClusterInfoManager": Argument("true, false (true)", boolean, False, "Faults come from ClusterD.",
                                      "use_cluster_info_manager", True),
    "presetVirtualDevice": Argument("true, false (true)", boolean, False, "Virtual chips are static.",
                                    "preset_virtual_device", True),
    "resource-level-config": Argument("JSON: tree -> levelN -> {label, reservedNode}", lambda given: given,
                                      field="levels", does="Levels of the network for schedule_policy multilevel."),
}


def plugin_of(name: str) -> str:
    """The name of a plugin without version and architecture."""
    return "volcano-npu" if NPU_PLUGIN.fullmatch(name) else name


def argument_of(plugin: str, name: str) -> Argument | None:
    """The row of an argument of a plugin, None if it has no such argument."""
    rows = PLUGIN_ARGUMENTS[plugin]
    if name in rows:
        return rows[name]
    for pattern, row in rows.items():
        start, placeholder, end = pattern.partition("<name>")
        if placeholder and name.startswith(start) and name.endswith(end) and len(name) > len(start) + len(end):
            return row
    return None
