"""A WorkloadRun document, field by field.

Source: NVIDIA/cluster-readiness-engine, WorkloadRun. Ours: `orchestration.diagnose`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from distsim.cluster.labels import GPU_PRESENT
from distsim.config.yaml_reader import Document, Place
from distsim.measure.manifest import MeasurementConfig
from distsim.measure.units import parse_duration_s
from distsim.quantities import StrictModel

from .framework import Framework
from .gang_spec import GangScheduler
from .labels import Texts
from .names import config_map_name
from .orchestration import Orchestration
from .override_spec import Override
from .pods import EnvVar, Named, Reference, Resources, VolumeMount
from .target import Target, or_every_gpu_node

_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NIC = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/"
                  r"[a-zA-Z0-9]([-A-Za-z0-9_.]{0,61}[a-zA-Z0-9])?")
_STORAGE = re.compile(r"[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|Pi|Ei)?")


class Metadata(BaseModel):
    """Name, namespace, labels and annotations; what a cluster adds is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field(description="name of the run")
    namespace: str = Field("", description="namespace of the run")
    labels: Texts = Field({}, description="labels of the run")
    annotations: Texts = Field({}, description="annotations of the run")

    @field_validator("name")
    @classmethod
    def _named(cls, name: str) -> str:
        if len(name) > 63 or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name: 1 to 63 small letters, digits, '-' and '.', every part "
                             "beginning and ending with a letter or digit")
        return name


class Config(StrictModel):
    """Files of configuration, mounted at /config."""

    inline: Texts | None = Field(None, description="file name -> content")
    configMapRef: Reference | None = Field(None, description="a ConfigMap that exists")

    @model_validator(mode="after")
    def _one(self) -> Config:
        if self.inline is not None and self.configMapRef is not None:
            raise ValueError("inline and configMapRef are mutually exclusive")
        return self


class Checkpoint(StrictModel):
    """Storage of checkpoints, and how often a failed job starts again from one."""

    storageSize: str = Field(description="size of the storage, e.g. 500Gi")
    storageClassName: str | None = Field(None, description="class of the storage")
    maxRestarts: int = Field(0, strict=True, ge=0, description="times that a failed job starts again")

    @field_validator("storageSize")
    @classmethod
    def _size(cls, text: str) -> str:
        if not _STORAGE.fullmatch(text):
            raise ValueError(f"{text!r} is not a size such as 500Gi or 10Ti")
        return text


class GoodputConfig(StrictModel):
    """How a job's goodput is measured."""

    logProfileRef: str = Field(min_length=1, description="name of the LogProfile, e.g. megatron-training")
    sampleInterval: str = Field("60s", description="time between two samples of a running job, a Go duration")

    @field_validator("sampleInterval")
    @classmethod
    def _interval(cls, text: str) -> str:
        if parse_duration_s(text) <= 0:
            raise ValueError(f"{text!r} is out of range; valid: more than 0s (default 60s)")
        return text


class WorkloadMetadata(StrictModel):
    """Labels of the workload object."""

    labels: Texts = Field({}, description="labels of the workload object, not of its pods")


class WorkloadRunSpec(StrictModel):
    """What is run, on how many nodes, and what it has to reach."""

    image: str = Field(min_length=1, description="container image of the workload")
    framework: Framework = Field(description="how the workload is started: torch, mpi or exec")
    numNodes: int = Field(strict=True, ge=1, description="nodes of a job; under Unpinned of the one job")
    target: Annotated[Target, BeforeValidator(or_every_gpu_node)] = Field(
        Target(nodeSelector={GPU_PRESENT: "true"}), description="nodes that are eligible")
    gpusPerNode: int | None = Field(None, strict=True, ge=1, description="GPUs of a node; by their kind if not set")
    mlnxPerNode: int | None = Field(None, strict=True, ge=0, description="NICs of a node; 0: none are asked for")
    nicResourceName: str | None = Field(None, max_length=253, description="resource name of the NICs, e.g. rdma/ib")
    enableMNNVL: bool | None = Field(None, strict=True, description="NVLink between nodes; by kind of GPU if not set")
    imagePullSecrets: list[Reference] = Field([], description="secrets for the image")
    env: list[EnvVar] = Field([], description="further variables of the workload's containers")
    config: Config | None = Field(None, description="files mounted at /config")
    volumes: list[Named] = Field([], description="further volumes of the pods")
    volumeMounts: list[VolumeMount] = Field([], description="where the container mounts them")
    checkpoint: Checkpoint | None = Field(None, description="storage of checkpoints")
    resources: Resources | None = Field(None, description="requests and limits of the container")
    initContainers: list[Named] = Field([], description="containers that run before the workload")
    orchestration: Orchestration = Field(Orchestration(), description="grouping and placement of the jobs")
    thresholds: Texts = Field({}, description="quantity -> CEL expression over value that must hold")
    bandwidthMeasurement: MeasurementConfig | None = Field(None, description="measure the bandwidth of every job")
    goodputMeasurement: GoodputConfig | None = Field(None, description="measure the goodput of every job")
    overrides: list[Override] = Field([], description="changes for platforms and kinds of GPU")
    gangScheduler: GangScheduler | None = Field(None, description="scheduler that starts all pods of a job or none")
    workloadMetadata: WorkloadMetadata | None = Field(None, description="labels of the workload object")

    @field_validator("nicResourceName")
    @classmethod
    def _nic(cls, name: str | None) -> str | None:
        if name is None:
            return None
        if not _NIC.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of an extended resource, e.g. rdma/ib or nvidia.com/mlnxnics")
        if "kubernetes.io/" in name or name.startswith("k8s.io/") or ".k8s.io/" in name:
            raise ValueError("nicResourceName must not use the reserved kubernetes.io or k8s.io domains")
        return name

    @property
    def nodes_per_job(self) -> int:
        """Nodes of one job: one for intra-node, else numNodes."""
        return 1 if self.orchestration.testScale == "intra-node" else self.numNodes


class WorkloadRun(StrictModel):
    """A WorkloadRun. A status in the file is what a cluster has said; it is passed over."""

    apiVersion: Literal["nvcre.nvidia.com/v1alpha1"] = Field(description="version of this kind of document")
    kind: Literal["WorkloadRun"] = Field(description="kind of document")
    metadata: Metadata = Field(description="name and labels")
    spec: WorkloadRunSpec = Field(description="what is run")
    status: dict[str, Any] = Field({}, description="what a cluster said of it")

    _document: Document | None = PrivateAttr(None)
    _beside: tuple[Document, ...] = PrivateAttr(())

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def config_map(self) -> str:
        """Name of the ConfigMap that is mounted at /config; empty without one."""
        config = self.spec.config
        if config is None or (config.configMapRef is None and not config.inline):
            return ""
        return config.configMapRef.name if config.configMapRef is not None else config_map_name(self.name)

    @property
    def beside(self) -> tuple[Document, ...]:
        """LogProfile documents that stand in the same file."""
        return self._beside

    def came_from(self, document: Document, beside: tuple[Document, ...] = ()) -> WorkloadRun:
        """Remember the file, for the places of errors."""
        self._document, self._beside = document, beside
        return self

    def locate(self, place: Place) -> tuple[str | None, int | None]:
        """File and line of a place of the document, e.g. ("spec", "numNodes"); None if it came from no file."""
        return self._document.locate(place) if self._document is not None else (None, None)
