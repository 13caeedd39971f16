"""From a WorkloadRun to the Workflow that its controller would make.

Source: NVIDIA/cluster-readiness-engine, the WorkloadRun's controller. Of the overrides that it generates for platforms
only the topology key of intra-rack is made here; the others set up drivers, which a simulation has none of.
"""

from __future__ import annotations

from typing import Any

from distsim.cluster.labels import RACK_OF_PLATFORM, rack_key

from .framework import trainer_command
from .gang import composed_labels, resolved_intent
from .hardware import SIMULATED, Hardware, hardware_of
from .labels import MANAGED_BY
from .names import (
    API_VERSION,
    ARCHITECTURE_NOTE,
    LAUNCHER,
    MANAGER,
    PATCH_MANAGER,
    PLATFORM_NOTE,
    RUN_LABEL,
    RUNTIME_KIND,
    WORKER,
    checkpoint_claim,
    config_map_name,
    runtime_name,
)
from .orchestration import INTRA_RACK, Execution
from .pods import plain
from .runtime import training_runtime
from .spec import WorkloadRun, WorkloadRunSpec

Data = dict[str, Any]


def build_workflow(run: WorkloadRun, hardware: Hardware | None = None) -> Data:
    """The Workflow document of a run, its overrides not yet applied.

    hardware : what a node has; without it what the run itself says. Raises InputError when the labels of the workload
    are not valid or disagree with the gangScheduler.
    """
    spec = run.spec
    hardware = hardware or hardware_of(spec)
    intent = resolved_intent(spec.gangScheduler)
    labels = composed_labels(spec.workloadMetadata.labels if spec.workloadMetadata is not None else {}, intent)
    made: Data = {"jobTemplate": {"spec": _job(run, hardware, labels)}, "orchestration": _orchestration(spec),
                  "dependencies": _dependencies(run, hardware)}
    overrides = generated_overrides(spec) + [plain(override) for override in spec.overrides]
    if overrides:
        made["overrides"] = overrides
    if spec.thresholds:
        made["validation"] = {"performance": {"enabled": True, "thresholds": {"thresholds": dict(spec.thresholds)}}}
    if intent is not None:
        made["gangScheduler"] = intent
    return {"apiVersion": API_VERSION, "kind": "Workflow", "metadata": _metadata(run, hardware), "spec": made}


def generated_overrides(spec: WorkloadRunSpec) -> list[Data]:
    """Overrides that come before the run's own: for intra-rack, the label by which each platform names a rack."""
    if spec.orchestration.testScale != INTRA_RACK:
        return []
    found: list[Data] = []
    for platform in (*RACK_OF_PLATFORM, SIMULATED):
        topology = {"topologyKey": rack_key(platform), "strictDomain": True}
        found.append({"when": {"platform": {"equals": platform}}, "orchestration": {"topology": topology}})
    return found


def _metadata(run: WorkloadRun, hardware: Hardware) -> Data:
    metadata: Data = {"name": run.name}
    if run.metadata.namespace:
        metadata["namespace"] = run.metadata.namespace
    metadata["labels"] = {MANAGED_BY: MANAGER, RUN_LABEL: run.name}
    notes = {ARCHITECTURE_NOTE: hardware.architecture, PLATFORM_NOTE: hardware.platform}
    if any(notes.values()):
        metadata["annotations"] = {key: value for key, value in notes.items() if value}
    return metadata


def _job(run: WorkloadRun, hardware: Hardware, labels: dict[str, str]) -> Data:
    spec = run.spec
    job: Data = {"workload": {"trainJob": _train_job(run, hardware)}}
    if labels:
        job["workloadMetadata"] = {"labels": labels}
    job["nodeHealthMonitor"] = {"cel": {"expression": "node.spec.unschedulable == true"}}
    if spec.goodputMeasurement is not None:
        job["goodputMeasurement"] = plain(spec.goodputMeasurement)
    if spec.bandwidthMeasurement is not None:
        job["bandwidthMeasurement"] = plain(spec.bandwidthMeasurement)
    if spec.checkpoint is not None:
        job["checkpoint"] = {"pvcName": checkpoint_claim(run.name), "maxRestarts": spec.checkpoint.maxRestarts}
    return job


def _train_job(run: WorkloadRun, hardware: Hardware) -> Data:
    spec = run.spec
    command, args = trainer_command(spec.framework, hardware.gpus, hardware.multi_node_nvlink)
    found: Data = {
        "runtimeRef": {"name": runtime_name(run.name), "kind": RUNTIME_KIND},
        "trainer": {"image": spec.image, "command": command, "args": args, "numNodes": spec.nodes_per_job,
                    "numProcPerNode": hardware.gpus},
    }
    patches = _patches(spec)
    if patches:
        template = {"spec": {"replicatedJobs": patches}}
        found["runtimePatches"] = [{"manager": PATCH_MANAGER, "trainingRuntimeSpec": {"template": template}}]
    return found


def _patches(spec: WorkloadRunSpec) -> list[Data]:
    """Replicated jobs that are to be patched: those of an mpi run by name, the workers with the image's secrets."""
    worker: Data = {"name": WORKER}
    if spec.imagePullSecrets:
        secrets = [plain(secret) for secret in spec.imagePullSecrets]
        worker["template"] = {"spec": {"template": {"spec": {"imagePullSecrets": secrets}}}}
    if spec.framework.mpi is not None:
        return [worker, {"name": LAUNCHER}]
    return [worker] if spec.imagePullSecrets else []


def _orchestration(spec: WorkloadRunSpec) -> Data:
    given = spec.orchestration
    found: Data = {"target": plain(spec.target), "placement": given.placement}
    if given.testScale == INTRA_RACK:
        found["topology"] = {"strictDomain": True}
    if given.diagnose is not None:
        found["diagnose"] = given.diagnose.model_dump()
    found["execution"] = Execution(maxConcurrent=given.maxConcurrent, timeoutPerJob=given.timeoutPerJob).model_dump()
    found["iterations"] = given.repeatCount
    return found


def _dependencies(run: WorkloadRun, hardware: Hardware) -> list[Data]:
    """The runtime, then the ConfigMap of an inline configuration, then the storage of checkpoints."""
    found = [training_runtime(run, hardware)]
    config, checkpoint = run.spec.config, run.spec.checkpoint
    labels = {"app": run.name}
    if config is not None and config.inline:
        found.append({"apiVersion": "v1", "kind": "ConfigMap",
                      "metadata": {"name": config_map_name(run.name), "labels": labels}, "data": dict(config.inline)})
    if checkpoint is not None:
        claim: Data = {"accessModes": ["ReadWriteMany"],
                       "resources": {"requests": {"storage": checkpoint.storageSize}}}
        if checkpoint.storageClassName is not None:
            claim["storageClassName"] = checkpoint.storageClassName
        found.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                      "metadata": {"name": checkpoint_claim(run.name), "labels": labels}, "spec": claim})
    return found
