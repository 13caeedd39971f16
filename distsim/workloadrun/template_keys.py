"""The keys that a job template may hold, so that a misspelt one in an override is refused.

Source: the Job of NVIDIA/cluster-readiness-engine and the TrainJob of kubeflow/trainer. What a pod holds is passed on
unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distsim.config.names import nearest
from distsim.config.yaml_reader import Place

Keys = Mapping[str, Any]                             # key -> keys below it, None: anything
_META: Keys = {"labels": None, "annotations": None}
_POD: Keys = {"metadata": _META, "spec": None}
_REPLICATED: Keys = {"name": None, "template": {"metadata": _META, "spec": {"template": _POD}}}
_PATCH: Keys = {
    "manager": None, "time": None,
    "trainingRuntimeSpec": {"template": {"metadata": _META, "spec": {"replicatedJobs": _REPLICATED}}},
}
_TRAIN_JOB: Keys = {
    "runtimeRef": {"apiGroup": None, "kind": None, "name": None},
    "initializer": None,
    "trainer": {"image": None, "command": None, "args": None, "env": None, "numNodes": None, "resourcesPerNode": None,
                "numProcPerNode": None},
    "labels": None, "annotations": None, "runtimePatches": _PATCH, "podTemplateOverrides": None,
    "podSpecOverrides": None, "suspend": None, "managedBy": None, "activeDeadlineSeconds": None,
}
_MEASUREMENT: Keys = {"logProfileRef": None, "sampleInterval": None}
JOB_TEMPLATE: Keys = {
    "metadata": {"name": None, "namespace": None, **_META},
    "spec": {
        "workload": {"trainJob": _TRAIN_JOB},
        "workloadMetadata": {"labels": None},
        "nodeHealthMonitor": {"cel": {"expression": None}},
        "checkpoint": {"pvcName": None, "maxRestarts": None},
        "stallMultiplier": None, "startupStallTimeoutSeconds": None, "schedulingStallGraceSeconds": None,
        "goodputMeasurement": _MEASUREMENT,
        "bandwidthMeasurement": {**_MEASUREMENT, "testType": None},
        "thresholds": None, "measurementTimeout": None,
    },
}


def problems(data: Any, keys: Keys = JOB_TEMPLATE, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """What in `data` is not valid there: its place, and what is wrong with it. A null is fine: it deletes its key."""
    if isinstance(data, list):
        for index, entry in enumerate(data):
            yield from problems(entry, keys, (*place, index))
        return
    if data is None:
        return
    if not isinstance(data, dict):
        yield place, f"{data!r} is not a section of keys; valid names: {', '.join(keys)}"
        return
    for key, value in data.items():
        if key not in keys:
            close = nearest(str(key), list(keys))
            names = f"nearest valid name: {close}" if close else f"valid names: {', '.join(keys)}"
            yield (*place, key), f"unknown key {key!r}; {names}"
        elif keys[key] is not None:
            yield from problems(value, keys[key], (*place, key))
