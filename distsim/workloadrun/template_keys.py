"""The keys that a job template may hold, so that a misspelt one in an override is refused.

Source: the Job of NVIDIA/cluster-readiness-engine and the TrainJob of kubeflow/trainer. What a pod holds is passed on
unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distsim.config.names import nearest
from distsim.config.yaml_reader import Place

# key -> keys below it, a list of them, one of the kinds of value, or None: anything
Keys = Mapping[str, Any]
TEXTS, WORDS = "a section of texts", "a list of texts"
PROCESSES = "a whole number of 1 or more, auto or gpu"
_META: Keys = {"labels": TEXTS, "annotations": TEXTS}
_POD: Keys = {"metadata": _META, "spec": None}
_REPLICATED: Keys = {"name": None, "template": {"metadata": _META, "spec": {"template": _POD}}}
_PATCH: Keys = {
    "manager": None, "time": None,
    "trainingRuntimeSpec": {"template": {"metadata": _META, "spec": {"replicatedJobs": [_REPLICATED]}}},
}
_TRAIN_JOB: Keys = {
    "runtimeRef": {"apiGroup": None, "kind": None, "name": None},
    "initializer": None,
    "trainer": {"image": None, "command": WORDS, "args": WORDS, "env": None, "numNodes": None, "resourcesPerNode": None,
                "numProcPerNode": PROCESSES},
    "labels": TEXTS, "annotations": TEXTS, "runtimePatches": [_PATCH], "podTemplateOverrides": None,
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
        "thresholds": TEXTS, "measurementTimeout": None,
    },
}


def problems(data: Any, keys: Keys = JOB_TEMPLATE, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """What in `data` is not valid there: its place, and what is wrong with it. A null is fine: it deletes its key."""
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
        else:
            yield from _below(value, keys[key], (*place, key))


def _below(value: Any, keys: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """What is wrong with a key's value."""
    if isinstance(keys, Mapping):
        yield from problems(value, keys, place)
    elif isinstance(keys, str):
        if value is not None and not _is(keys, value):
            yield place, f"{value!r} is not {keys}"
    elif keys is not None and value is not None:
        if not isinstance(value, list):
            yield place, f"{value!r} is not a list"
            return
        for index, entry in enumerate(value):
            yield from problems(entry, keys[0], (*place, index))


def _is(kind: str, value: Any) -> bool:
    if kind == TEXTS:
        return isinstance(value, dict) and all(isinstance(one, str) or one is None for one in value.values())
    if kind == WORDS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return value in ("auto", "gpu") or (isinstance(value, int) and not isinstance(value, bool) and value > 0)
