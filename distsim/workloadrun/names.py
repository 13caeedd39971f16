"""Names that several documents of a run share."""

from __future__ import annotations

API_VERSION = "nvcre.nvidia.com/v1alpha1"
MANAGER = "nvcre"                                   # value of the label app.kubernetes.io/managed-by
RUN_LABEL = "nvcre.nvidia.com/workload-run"
PLATFORM_NOTE = "nvcrectl.nvidia.com/detected-platform"
ARCHITECTURE_NOTE = "nvcrectl.nvidia.com/detected-gpu-architecture"
PATCH_MANAGER = "nvcre.nvidia.com/controller"       # of the runtimePatches that a Workflow makes itself
TRAINER_GROUP = "trainer.kubeflow.org"
RUNTIME_KIND, CLUSTER_RUNTIME_KIND = "TrainingRuntime", "ClusterTrainingRuntime"
WORKER, LAUNCHER = "node", "launcher"               # replicated jobs; the container of either is named `node`
GPU_RESOURCE = "nvidia.com/gpu"
STEP_LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"


def runtime_name(run: str) -> str:
    """Name of the TrainingRuntime that a run's Workflow brings."""
    return f"{run}-runtime"


def config_map_name(run: str) -> str:
    """Name of the ConfigMap that holds a run's inline configuration."""
    return f"{run}-config"


def checkpoint_claim(run: str) -> str:
    """Name of the PersistentVolumeClaim of a run's checkpoints."""
    return f"{run}-checkpoint-pvc"
