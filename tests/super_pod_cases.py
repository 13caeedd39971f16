"""SuperPoDs of small nodes for the tests of policies/super_pod.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from distsim.scheduler.chips import rule_of
from distsim.scheduler.policies import policy
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, Placement, Refusal, Task
from tests.sched_cases import cluster, job, node, request, run_on

SP, RA = "chip8-node8-sp", "chip8-node8-ra64-sp"


def pods_of(sizes: Mapping[str, int], reserve: int = 2, size: int = 48, chips: int = 8) -> State:
    """SuperPoDs by name with that many free nodes: node "a0", "a1", ... of SuperPoD a, by the annotation superPodID."""
    nodes = [node(f"{name}{index}", chips, annotations={"superPodID": name})
             for name, count in sizes.items() for index in range(count)]
    return state_of(cluster(nodes), SchedulerSettings(super_pod_size=size, reserve_nodes=reserve))


def racks_of(racks: Mapping[str, Sequence[int]], reserve: int = 0) -> State:
    """SuperPoDs of racks with that many nodes: node "a-1-2" is node 2 of rack 1 of SuperPoD a."""
    nodes = [node(f"{name}-{rack}-{index}", labels={"huawei.com/topotree.superpodid": name,
                                                    "huawei.com/topotree.rackid": str(rack)})
             for name, counts in racks.items() for rack, count in enumerate(counts) for index in range(count)]
    return state_of(cluster(nodes), SchedulerSettings(super_pod_size=1000, reserve_nodes=reserve))


def sp_job(nodes: int, block: int | None = None, name: str = "job", rule: str = SP, **fields: object) -> Job:
    """A job of that many pods of 8 chips, with blocks of that many nodes."""
    return job(nodes, 8, name, schedule_policy=rule, sp_block=None if block is None else 8 * block, **fields)


def place(state: State, wanted: Job, tasks: Sequence[Task] | None = None) -> Placement | Refusal:
    """What the policy says, after both checks have passed the job."""
    found = policy("super-pod")
    assert found.validate(wanted, state) is None and rule_of(wanted).validate(wanted) is None
    return found.place(request(state, wanted, tasks))


def blocks(state: State, wanted: Job) -> list[list[str]]:
    """Names of the nodes by block; the placement must succeed and list them in rank order."""
    placed = place(state, wanted)
    assert isinstance(placed, Placement), placed
    assert [name for block in placed.notes["blocks"] for name in block] == list(placed.nodes)
    return list(placed.notes["blocks"])


def counts(state: State, wanted: Job) -> list[tuple[str, str]]:
    """(SuperPoD, step) of each block."""
    placed = place(state, wanted)
    assert isinstance(placed, Placement), placed
    return [(block[0].rstrip("0123456789"), step)
            for block, step in zip(placed.notes["blocks"], placed.notes["steps"], strict=True)]


def lose(state: State, running: Job, names: Iterable[str], keep_node: bool = False) -> list[Task]:
    """Evict the pods on these nodes, which break (or, if keep_node, stay usable); gives the pods."""
    gone = []
    for task in running.tasks:
        if task.node in set(names):
            if not keep_node:
                state.nodes[str(task.node)].barred = state.nodes[str(task.node)].all_chips
            state.release(task)
            gone.append(task)
    return gone


def start(state: State, wanted: Job, names: Sequence[str]) -> Job:
    """A running job, pod i on names[i]."""
    return run_on(state, wanted, names)
