"""The cluster of cluster.md section 3 for the tests of policy multilevel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sched_cases import cluster, job, node, request

from distsim.cluster import Node
from distsim.scheduler.policies import policy
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, Placement, Refusal, Task, TaskState

RACK, SPINE, TREE = "net/rack", "net/spine", "huawei.com/topotree"
MULTILEVEL = policy("multilevel")


def levels(reserve: int = 0, **more: tuple[tuple[str, int], ...]) -> SchedulerSettings:
    """resource-level-config of a tree `default` with racks and spines. more : further trees."""
    return SchedulerSettings(levels={"default": ((RACK, reserve), (SPINE, 0)), **more})


def rack(name: str, spine: str, names: Sequence[str], tree: str = "", chips: int = 8) -> list[Node]:
    """Nodes of a rack below a spine."""
    labels = {RACK: name, SPINE: spine} | ({TREE: tree} if tree else {})
    return [node(one, chips, dict(labels)) for one in names]


def numbered(letter: str, *numbers: int) -> list[str]:
    """Names such as a0, a1."""
    return [f"{letter}{number}" for number in numbers]


def two_spines(busy: Iterable[str] = (), reserve: int = 0, settings: SchedulerSettings | None = None) -> State:
    """Spine A = racks r0 (a0-3), r1 (a4-7); spine B = r2 (b0-3), r3 (b4-7)."""
    nodes = [*rack("r0", "A", numbered("a", 0, 1, 2, 3)), *rack("r1", "A", numbered("a", 4, 5, 6, 7)),
             *rack("r2", "B", numbered("b", 0, 1, 2, 3)), *rack("r3", "B", numbered("b", 4, 5, 6, 7))]
    return state_of(cluster(nodes), settings or levels(reserve), busy)


def wanted(pods: int, *sizes: int, name: str = "job", chips: int = 8) -> Job:
    """A job under policy multilevel with these group sizes of level 1, 2, ..."""
    return job(pods, chips, name, schedule_policy="multilevel", affinity_levels=sizes)


def placed(state: State, one: Job, tasks: Sequence[Task] | None = None) -> Placement | Refusal:
    """What the policy says."""
    return MULTILEVEL.place(request(state, one, tasks))


def groups(state: State, one: Job, tasks: Sequence[Task] | None = None) -> str:
    """The groups of a placement, as cluster.md writes them: "a0a1 a2a3"; AssertionError for a refusal."""
    found = placed(state, one, tasks)
    assert isinstance(found, Placement), found
    return " ".join("".join(group) for group in found.notes["groups"])


def refused(state: State, one: Job, tasks: Sequence[Task] | None = None) -> Refusal:
    """The refusal; AssertionError for a placement."""
    found = placed(state, one, tasks)
    assert isinstance(found, Refusal), found
    return found


def fail(state: State, one: Job, *pods: int, nodes: Sequence[str] = ()) -> list[Task]:
    """Take pods off their nodes, which are unhealthy from then on, and others too; the pods."""
    lost = [one.tasks[index] for index in pods]
    for task in lost:
        assert task.node is not None
        break_node(state, task.node)
        state.release(task, TaskState.PENDING)
    for name in nodes:
        break_node(state, name)
    return lost


def break_node(state: State, name: str) -> None:
    """No chip of the node can be used."""
    state.nodes[name].barred = state.nodes[name].all_chips
