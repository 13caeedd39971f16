"""What is scheduled: jobs with their pods (tasks), what their labels and annotations ask for, and why one has to wait.

Words are those of volcano-sh/volcano and Ascend/mind-cluster (seed 001): a Job has Tasks, one a pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class TaskState(StrEnum):
    """Where a pod stands. A Releasing pod still holds its chips (graceful end)."""

    PENDING = "Pending"
    RUNNING = "Running"
    RELEASING = "Releasing"
    FAILED = "Failed"
    SUCCEEDED = "Succeeded"


class JobPhase(StrEnum):
    """Where a job (its PodGroup) stands. Completed and Failed are final."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"


# Reasons of the condition Unschedulable (seed 001, PodGroup Table 3; cluster.md section 5).
ENQUEUE_FAILED = "JobEnqueueFailed"
VALIDATE_FAILED = "JobValidateFailed"
PREDICATE_FAILED = "NodePredicateFailed"
ORDER_FAILED = "BatchOrderFailed"
# Reasons inside the message of JobValidateFailed, "<reason>: <message>".
NOT_ENOUGH_POD, INVALID_REQUEST, INVALID_ARGUMENT, NOT_SUPPORT_POLICY = (
    "NotEnoughPod", "InvalidResourceRequest", "InvalidArgument", "NotSupportPolicy")


@dataclass(frozen=True)
class Refusal:
    """Why a job was not placed.

    condition : one of the four reasons above. message : one sentence with name, reason and figures. reason : for
    JobValidateFailed one of NotEnoughPod, ... nodes : reason -> names of the nodes that it keeps out.
    final : whether waiting cannot help (the job has failed).
    """

    condition: str
    message: str
    reason: str = ""
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    final: bool = False


@dataclass(frozen=True)
class Placement:
    """Where tasks go, in the order of the tasks of the request: task i on nodes[i] with the chips of the mask chips[i]
    (bit c: chip c of the node). notes : figures for --explain, by name (fragment score, blocks, slices).

    moves : names of pods of the job that run and cannot stay (a logical SuperPoD that leaves its SuperPoD moves as a
    whole). They are released before the tasks take their nodes, and stand pending then: the next request has them as
    its tasks, and finds their nodes beside those given here.
    """

    nodes: tuple[str, ...]
    chips: tuple[int, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobSettings:
    """What the labels and annotations of a job mean, checked (keys.py has the table of all keys).

    None or False : the key is absent or off. affinity_levels : N of level 1, 2, ... of huawei.com/affinity-config.
    """

    schedule_policy: str | None = None
    tor_affinity: str | None = None               # normal-schema, large-model-schema
    sp_block: int | None = None                   # chips of a logical SuperPoD
    sp_fit: str | None = None                     # "idlest" or anything else
    ra_block: int | None = None
    super_pod_affinity: str | None = None         # "soft"
    affinity_levels: tuple[int, ...] | None = None
    atlas: str | None = None                      # ring-controller.atlas
    fault_scheduling: str = "off"                 # grace, force, off
    elastic: bool = False
    fault_retry_times: int | None = None          # 0..100
    pod_rescheduling: bool = False
    process_recover: bool = False
    sub_healthy: str = "ignore"                   # ignore, graceExit, forceExit, hotSwitch
    aicore_quota: int | None = None               # percent
    hbm_quota_mb: int | None = None
    share_policy: str | None = None               # fixed-share, elastic, best-effort
    npu_310_strategy: str | None = None           # card, chip
    skip_ascend: bool = False
    distributed: bool = False
    min_available: int | None = None              # huawei.com/schedule_minAvailable
    min_replicas: int = 1                         # minReplicas: fewest pods of an elastic job
    recover_pod_only: bool = False                # huawei.com/recover_policy_path: pod
    enable_dequeue: bool = False


@dataclass
class Task:
    """A pod.

    name : of the pod, job-role-index. role : name of its task or replica type. index : its place in the job, 0 first;
    pods of a placement take ranks in this order. chips : how many it asks for. request : every amount by resource name
    (cpu in milli, memory in bytes, chips included). node_selector, affinity, tolerations : as in the pod's spec.
    spread : whether two pods of the job may not share a node (required podAntiAffinity on the hostname).
    node, held : where it runs, and the mask of its chips there; a shared chip is in `held` too.
    rank : place in the job's rank order once placed, -1 before.
    """

    job: str
    name: str
    role: str
    index: int
    chips: int
    request: dict[str, int] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: dict[str, Any] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    spread: bool = False
    state: TaskState = TaskState.PENDING
    node: str | None = None
    held: int = 0
    rank: int = -1
    last_node: str | None = None                   # where it ran before, None if it never did
    policies: tuple[tuple[str, str, int | None], ...] = ()    # as Job.policies, of its own task; they come first


@dataclass(frozen=True)
class FullSize:
    """What an elastic job asked for: all its tasks, the chips of each by task name, and its min_available."""

    tasks: tuple[Task, ...]
    chips: Mapping[str, int]
    min_available: int


@dataclass
class Condition:
    """A condition of the PodGroup: type Unschedulable, status "True", and the reason."""

    reason: str
    message: str
    time_ms: int
    type: str = "Unschedulable"
    status: str = "True"


@dataclass
class Job:
    """A job and its PodGroup.

    uid : "namespace/name". resource : name of the chips' resource, "" for a job without chips. labels, annotations : of
    the PodGroup (those of the pods' templates folded in where the job has none). image, command : of the first
    container, by which the map `workloads` is searched. network_topology : spec.networkTopology (mode,
    highestTierAllowed, highestTierName, ...), None without. policies : [(event, action, exit code or None)] of a
    VolcanoJob. max_retry : its maxRetry. file, line : where it stands, for messages.
    """

    name: str
    namespace: str
    kind: str
    tasks: list[Task]
    settings: JobSettings = JobSettings()
    queue: str = "default"
    priority: int = 0
    min_available: int = 1
    resource: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    image: str = ""
    command: tuple[str, ...] = ()
    network_topology: dict[str, Any] | None = None
    policies: tuple[tuple[str, str, int | None], ...] = ()
    max_retry: int = 3
    file: str = ""
    line: int | None = None
    phase: JobPhase = JobPhase.PENDING
    created_ms: int = 0
    conditions: dict[str, Condition] = field(default_factory=dict)
    reason: str = ""                               # why it is in its final phase
    notes: dict[str, Any] = field(default_factory=dict)       # of its last placement
    level_up: int = 0                              # steps by which a reschedule has widened its scope
    refusal: Refusal | None = None                 # what is wrong with its keys, found when it was read (keys/)
    full: FullSize | None = None                   # what it asked for, while it runs with less (elastic.py)

    @property
    def uid(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    @property
    def npu_tasks(self) -> list[Task]:
        """The tasks that ask for chips, in order."""
        return [task for task in self.tasks if task.chips]

    @property
    def several(self) -> bool:
        """Whether more than one of its tasks asks for chips; asked once a node, so it stops at the second."""
        found = False
        for task in self.tasks:
            if task.chips:
                if found:
                    return True
                found = True
        return False

    @property
    def placed(self) -> list[Task]:
        """The tasks that hold a node, by rank."""
        return sorted((task for task in self.tasks if task.node is not None), key=lambda task: (task.rank, task.index))


@dataclass(frozen=True)
class Happening:
    """Something that the scheduler or the recovery from faults did.

    kind : one word, e.g. enqueued, dequeued, scheduled, unschedulable, failed, fault, recovered, evicted, released,
    escalated. job : its uid. pod, node : names, or "".
    """

    time_ms: int
    kind: str
    job: str = ""
    pod: str = ""
    node: str = ""
    message: str = ""
