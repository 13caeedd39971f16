"""The ConfigMaps of mind-cluster that say what is broken and what was done: plain data, and manifests of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from distsim.scheduler.faults.care import Care, Ward
from distsim.scheduler.faults.clock import unix_s
from distsim.scheduler.faults.fault import CHIP, HEALTHY, NODE, NODE_UNHEALTHY, Fault
from distsim.scheduler.faults.reset_json import config_name

FAULT_NPU_CM, FAULT_NPU_NAMESPACE = "vcjob-fault-npu-cm", "volcano-system"
REASON_CM, REASON_NAMESPACE = "job-reschedule-reason", "mindx-dl"
_GRAVE = ("UnHealthy", "PreSeparate", "SubHealthy")      # the first that a fault says is the node's state


def fault_devices(ward: Ward, node: str) -> dict[str, Any]:
    """The fault information of a node (seed 001, FaultDeviceList; FaultNodeInfoToCm in rescheduling/type.go)."""
    active = ward.health.on(node)
    faults = [one.fault for one in active if one.fault.target in (CHIP, NODE)]
    prefix = next((fault.prefix for fault in faults), "chip")
    barred, cut = 0, 0
    for one in active:
        barred |= one.effects.barred
        cut |= one.effects.cut
    cut |= ward.state.nodes[node].cut
    watched = all(fault.detection for fault in faults)
    states = [fault.state for fault in faults if fault.detection]
    return {"FaultDeviceList": [_entry(fault) for fault in faults if fault.fault_type], "NodeName": node,
            "UnhealthyNPU": _names(prefix, barred), "NetworkUnhealthyNPU": _names(prefix, cut), "NodeDEnable": watched,
            "NodeHealthState": next((state for state in _GRAVE if state in states), HEALTHY),
            "UpdateTime": unix_s(max((one.since_ms for one in active), default=0), ward.start_s)}


def configmaps(ward: Ward, cares: Iterable[Care]) -> list[dict[str, Any]]:
    """Manifests: the faults of nodes with remain-retry-times, the reasons of reschedules, reset-config of each job. The
    values are JSON texts, as in a cluster."""
    nodes = [fault_devices(ward, name) for name in ward.state.nodes if ward.health.on(name)]
    npu = {"fault-node": nodes, "remain-retry-times": ward.retries.document()}
    found = [_manifest(FAULT_NPU_CM, FAULT_NPU_NAMESPACE, npu),
             _manifest(REASON_CM, REASON_NAMESPACE, ward.reasons.document())]
    for care in cares:
        manifest = _manifest(config_name(care.job), care.job.namespace, care.reset.document())
        manifest["metadata"]["labels"] = {"reset": "true"}
        found.append(manifest)
    return found


def _manifest(name: str, namespace: str, data: dict[str, Any]) -> dict[str, Any]:
    texts = {key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
             for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": texts}


def _entry(fault: Fault) -> dict[str, str]:
    names = ",".join(_names(fault.prefix, fault.mask))
    level = "" if fault.fault_type == NODE_UNHEALTHY else fault.level
    return {"fault_type": fault.fault_type, "npu_name": names, "fault_level": level, "fault_handling": level,
            "large_model_fault_level": level, "fault_code": ",".join(fault.codes)}


def _names(prefix: str, mask: int) -> list[str]:
    return [f"{prefix}-{chip}" for chip in range(mask.bit_length()) if mask >> chip & 1]
