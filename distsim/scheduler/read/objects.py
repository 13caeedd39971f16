"""The objects that jobs come from, field by field: VolcanoJob, AscendJob, PodGroup.

Sources: volcano-sh/volcano, apis batch/v1alpha1, scheduling/v1beta1 and bus/v1alpha1; Ascend/mind-cluster,
docs/en/scheduling, "Job YAML Configuration". Above the templates of pods an unknown key is an error; fields of type Any
are known and not acted on (notes.py names them).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from distsim.quantities import StrictModel
from distsim.scheduler.read.pod_model import Amounts, or_nothing
from distsim.scheduler.read.pod_objects import INT32, Metadata, Template

REPLICA_TYPES = ("Master", "Chief", "Scheduler", "Worker")      # pods in this order
Event = Literal["*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed"]
Action = Literal["AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob",
                 "CompleteJob", "ResumeJob"]


class Topology(StrictModel):
    """spec.networkTopology: how far up the tree of HyperNodes a job may reach."""

    mode: Literal["hard", "soft"] = Field("hard", description="hard: wait, soft: prefer")
    highestTierAllowed: int | None = Field(None, strict=True, ge=0, le=INT32, description="highest tier, by number")
    highestTierName: str | None = Field(None, min_length=1, max_length=253, description="highest tier, by name")

    @model_validator(mode="after")
    def _one(self) -> Topology:
        if self.highestTierAllowed is not None and self.highestTierName is not None:
            raise ValueError("highestTierAllowed and highestTierName stand together; give one of them")
        return self


class Partition(StrictModel):
    """partitionPolicy of a task: groups of its pods that stay together."""

    totalPartitions: int = Field(strict=True, ge=1, le=INT32, description="number of groups")
    partitionSize: int = Field(strict=True, ge=1, le=INT32, description="pods of a group")
    minPartitions: int = Field(0, strict=True, ge=0, le=INT32, description="groups that must be placed")
    networkTopology: Topology | None = Field(None, description="how far a group may reach")


class Policy(StrictModel):
    """What is done upon an event, or upon an exit code of a container."""

    action: Action = Field(description="what is done")
    event: Event | None = Field(None, description="upon which event")
    events: tuple[Event, ...] = Field((), description="upon which events")
    exitCode: int | None = Field(None, strict=True, ge=1, le=255, description="upon which exit code")
    timeout: str | None = Field(None, description="how long after it")

    @model_validator(mode="after")
    def _one(self) -> Policy:
        if (self.event is not None or bool(self.events)) == (self.exitCode is not None):
            raise ValueError("a policy needs either event (or events) or exitCode")
        return self


class VolcanoTask(StrictModel):
    """A task of a VolcanoJob: pods of one template."""

    name: str = Field("", max_length=63, description="name of the task")
    replicas: int = Field(1, strict=True, ge=0, le=1_000_000, description="number of its pods")
    minAvailable: int | None = Field(None, strict=True, ge=0, le=INT32, description="pods of it that a gang needs")
    template: Template = Field(description="its pods")
    policies: Annotated[tuple[Policy, ...], or_nothing(())] = Field((), description="what is done upon events")
    partitionPolicy: Partition | None = Field(None, description="groups of its pods")
    topologyPolicy: Any = Field(None, description="NUMA policy")
    maxRetry: Any = Field(None, description="retries of the task")
    dependsOn: Any = Field(None, description="tasks that go first")

    @model_validator(mode="after")
    def _sizes(self) -> VolcanoTask:
        if self.minAvailable is not None and self.minAvailable > self.replicas:
            raise ValueError(f"minAvailable {self.minAvailable} is more than replicas, {self.replicas}")
        parts = self.partitionPolicy
        if parts is not None and parts.totalPartitions * parts.partitionSize != self.replicas:
            raise ValueError(f"partitionPolicy: totalPartitions {parts.totalPartitions} x partitionSize "
                             f"{parts.partitionSize} is not replicas, {self.replicas}")
        return self


class VolcanoSpec(StrictModel):
    """The spec of a VolcanoJob."""

    minAvailable: int | None = Field(None, strict=True, ge=0, le=INT32, description="pods that a gang needs")
    tasks: tuple[VolcanoTask, ...] = Field(min_length=1, description="its pods by task")
    policies: Annotated[tuple[Policy, ...], or_nothing(())] = Field((), description="what is done upon events")
    queue: str = Field("default", min_length=1, description="its queue")
    maxRetry: int = Field(3, strict=True, ge=0, le=INT32, description="how often it is restarted")
    priorityClassName: str = Field("", description="name of its PriorityClass")
    priority: int | None = Field(None, strict=True, description="its priority as a number (distsim's own key)")
    networkTopology: Topology | None = Field(None, description="how far it may reach")
    schedulerName: Any = Field(None, description="the scheduler")
    volumes: Any = Field(None, description="volumes of all pods")
    plugins: Any = Field(None, description="plugins of the controller")
    runningEstimate: Any = Field(None, description="estimate of its duration")
    ttlSecondsAfterFinished: Any = Field(None, description="when it is deleted")
    minSuccess: Any = Field(None, description="pods that must succeed")


class Replicas(StrictModel):
    """A replica type of an AscendJob."""

    replicas: int = Field(1, strict=True, ge=0, le=1_000_000, description="number of its pods")
    template: Template = Field(description="its pods")
    restartPolicy: Any = Field(None, description="restarts of containers")


class SchedulingPolicy(StrictModel):
    """spec.runPolicy.schedulingPolicy of an AscendJob."""

    minAvailable: int | None = Field(None, strict=True, ge=0, le=INT32, description="pods that a gang needs")
    queue: str = Field("default", min_length=1, description="its queue")
    priorityClass: str = Field("", description="name of its PriorityClass")
    minResources: Any = Field(None, description="resources that a gang needs")
    scheduleTimeoutSeconds: Any = Field(None, description="how long it may wait")


class RunPolicy(StrictModel):
    """spec.runPolicy of an AscendJob."""

    schedulingPolicy: Annotated[SchedulingPolicy, or_nothing({})] = Field(SchedulingPolicy(), description="gang")
    backoffLimit: int | None = Field(None, strict=True, le=INT32, description="how often it is rescheduled")
    activeDeadlineSeconds: Any = Field(None, description="how long it may run")
    cleanPodPolicy: Any = Field(None, description="what happens to its pods")
    ttlSecondsAfterFinished: Any = Field(None, description="when it is deleted")
    suspend: Any = Field(None, description="whether it is held back")


class ReplicaSpecs(StrictModel):
    """spec.replicaSpecs of an AscendJob."""

    Master: Replicas | None = Field(None, description="PyTorch's first pod")
    Chief: Replicas | None = Field(None, description="TensorFlow's first pod")
    Scheduler: Replicas | None = Field(None, description="MindSpore's pod without chips")
    Worker: Replicas | None = Field(None, description="the others")

    @model_validator(mode="after")
    def _some(self) -> ReplicaSpecs:
        if not self.model_fields_set:
            raise ValueError(f"it is empty; valid: {', '.join(REPLICA_TYPES)}")
        return self


class AscendSpec(StrictModel):
    """The spec of an AscendJob."""

    replicaSpecs: ReplicaSpecs = Field(description="its pods by type")
    runPolicy: Annotated[RunPolicy, or_nothing({})] = Field(RunPolicy(), description="how it is run")
    schedulerName: Any = Field(None, description="the scheduler")
    successPolicy: Any = Field(None, description="when it has succeeded")


class GroupSpec(StrictModel):
    """The spec of a PodGroup."""

    minMember: int = Field(1, strict=True, ge=1, le=1_000_000, description="pods that a gang needs")
    minResources: Amounts = Field({}, description="resources of these pods together")
    queue: str = Field("default", min_length=1, description="its queue")
    priorityClassName: str = Field("", description="name of its PriorityClass")
    priority: int | None = Field(None, strict=True, description="its priority as a number (distsim's own key)")
    networkTopology: Topology | None = Field(None, description="how far it may reach")
    minTaskMember: Any = Field(None, description="pods of each task that a gang needs")
    subGroupPolicy: Any = Field(None, description="groups of its pods")


class VolcanoJob(StrictModel):
    """A VolcanoJob."""

    apiVersion: str
    kind: str
    metadata: Metadata = Field(description="its metadata")
    spec: VolcanoSpec = Field(description="its spec")
    status: Any = Field(None, description="what a cluster says of it")


class AscendJob(StrictModel):
    """An AscendJob."""

    apiVersion: str
    kind: str
    metadata: Metadata = Field(description="its metadata")
    spec: AscendSpec = Field(description="its spec")
    status: Any = Field(None, description="what a cluster says of it")


class PodGroup(StrictModel):
    """A PodGroup."""

    apiVersion: str
    kind: str
    metadata: Metadata = Field(description="its metadata")
    spec: Annotated[GroupSpec, or_nothing({})] = Field(GroupSpec(), description="its spec")
    status: Any = Field(None, description="what a cluster says of it")
