"""The cluster as the scheduler sees it: nodes with their chips, who holds them, what is broken; the jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.types import Job, Task, TaskState

if TYPE_CHECKING:
    from distsim.cluster import Cluster, Node

TOR_ID, SLICE_ID = "distsim/tor-id", "distsim/slice-id"         # annotations, as distsim/cluster/tor_node.py sets them


@dataclass(frozen=True)
class Share:
    """A part of a chip that a task of a soft-share job holds."""

    task: str
    aicore: int
    hbm_mb: int
    policy: str


@dataclass
class NodeState:
    """A node. Chips are bits of int masks.

    all_chips : mask of the chips that it has. used : those given to tasks (a shared chip too, see `shares`).
    barred : those that take no new task (isolated by a fault). cut : those without a network, barred for jobs of
    several pods. healthy, enabled : NodeHealthState and NodeDEnable; no new tasks otherwise. sub_healthy : has a
    SubHealthFault. bad_score : taken off its score (64 where pods failed before). free : what is left of each resource,
    in the units of `Task.request`.
    """

    node: Node
    index: int
    all_chips: int
    free: dict[str, int]
    used: int = 0
    barred: int = 0
    cut: int = 0
    healthy: bool = True
    enabled: bool = True
    sub_healthy: bool = False
    bad_score: int = 0
    shares: dict[int, list[Share]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)          # by "job uid/pod name"
    tor: int = -1
    slice: int = -1

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.node.name

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the node."""
        return self.node.labels

    @property
    def chips(self) -> int:
        """How many chips it has."""
        return self.all_chips.bit_count()

    def idle(self, several_pods: bool = False) -> int:
        """Mask of the chips that a new task may get. several_pods : its job has more than one pod."""
        return self.all_chips & ~(self.used | self.barred | (self.cut if several_pods else 0))


@dataclass
class State:
    """Everything a policy may look at. nodes, in cluster order, and jobs by name and by uid; now_ms : the clock."""

    cluster: Cluster
    nodes: dict[str, NodeState]
    settings: SchedulerSettings = field(default_factory=SchedulerSettings)
    jobs: dict[str, Job] = field(default_factory=dict)
    now_ms: int = 0

    def assign(self, task: Task, node: str, mask: int) -> None:
        """Give a task its node and chips (a mask). AssertionError if another holds one of them."""
        at = self.nodes[node]
        assert task.node is None and mask.bit_count() == task.chips and not mask & ~at.all_chips
        assert not mask & at.used, f"{node}: chips {mask & at.used:b} are given twice"
        at.used |= mask
        self._take(at, task, 1)
        task.node, task.held, task.state = node, mask, TaskState.RUNNING
        at.tasks[_key(task)] = task

    def share(self, task: Task, node: str, chip: int, share: Share) -> None:
        """Give a task a part of a chip."""
        at = self.nodes[node]
        assert task.node is None
        at.shares.setdefault(chip, []).append(share)
        at.used |= 1 << chip
        self._take(at, task, 1)
        task.node, task.held, task.state = node, 1 << chip, TaskState.RUNNING
        at.tasks[_key(task)] = task

    def release(self, task: Task, state: TaskState = TaskState.PENDING) -> None:
        """Take node and chips back from a task; a task without a node only changes its state."""
        if task.node is not None:
            at = self.nodes[task.node]
            del at.tasks[_key(task)]
            for chip in list(at.shares):
                at.shares[chip] = [one for one in at.shares[chip] if one.task != _key(task)]
                if not at.shares[chip]:
                    del at.shares[chip]
            at.used &= ~task.held
            for chip in at.shares:
                at.used |= 1 << chip
            self._take(at, task, -1)
            task.last_node, task.node, task.held = task.node, None, 0
        task.state = state

    def running_on(self, node: str) -> Iterator[Job]:
        """The jobs that hold something on a node, each once."""
        return iter({task.job: self.jobs[task.job] for task in self.nodes[node].tasks.values()
                     if task.job in self.jobs}.values())

    def _take(self, at: NodeState, task: Task, sign: int) -> None:
        for name, amount in task.request.items():
            if name in at.free:
                at.free[name] -= sign * amount


def _in_units_of_tasks(resources: Mapping[str, int]) -> dict[str, int]:
    """Amounts as a cluster file counts them, with whole cpus, in the units of `Task.request`, cpu in milli."""
    return {name: amount * 1000 if name == "cpu" else amount for name, amount in resources.items()}


def task_key(task: Task) -> str:
    """How a node knows a task."""
    return f"{task.job}/{task.name}"


_key = task_key


def state_of(cluster: Cluster, settings: SchedulerSettings | None = None, busy: Iterable[str] = ()) -> State:
    """The state of an idle cluster. busy : names of nodes whose chips others hold for good."""
    nodes: dict[str, NodeState] = {}
    for index, node in enumerate(cluster.nodes):
        nodes[node.name] = NodeState(
            node, index, (1 << node.gpus) - 1, _in_units_of_tasks(node.resources),
            tor=int(node.annotations.get(TOR_ID, -1)), slice=int(node.annotations.get(SLICE_ID, -1)))
    for name in busy:
        nodes[name].used = nodes[name].all_chips
    return State(cluster, nodes, settings or SchedulerSettings())
