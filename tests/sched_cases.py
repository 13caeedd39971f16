"""Small clusters and jobs for the tests of the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from distsim.cluster import Cluster, Node
from distsim.scheduler.chips import rule_of
from distsim.scheduler.policies import Request
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import NodeState, State, state_of
from distsim.scheduler.types import Job, JobSettings, Task

CHIP = "huawei.com/Ascend910"


def node(name: str, chips: int = 8, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None,
         rack: str = "", number: int = 0) -> Node:
    """A node whose NICs are numbered from chips * number."""
    amounts = {CHIP: chips, "cpu": 192_000, "memory": 2**41}
    return Node(name, {"kubernetes.io/hostname": name, **(labels or {})}, annotations or {}, (), chips,
                tuple(range(chips * number, chips * (number + 1))), False, "pool", dict(amounts), dict(amounts), rack)


def cluster(nodes: Sequence[Node]) -> Cluster:
    """A cluster of these nodes, with no fabric to speak of."""
    return Cluster("lab", "sim", tuple(nodes), (), {}, {}, {})


def tor_state(tors: int = 4, per_tor: int = 4, chips: int = 8, settings: SchedulerSettings | None = None,
              busy: Iterable[int] = ()) -> State:
    """`tors` switches T0, T1, ... of `per_tor` nodes: node n{per_tor * t + s} has tor_id t and slice_id s."""
    nodes = [node(f"n{per_tor * t + s}", chips, rack=f"tor-{t}", number=per_tor * t + s,
                  annotations={"distsim/tor-id": str(t), "distsim/slice-id": str(s)})
             for t in range(tors) for s in range(per_tor)]
    return state_of(cluster(nodes), settings, [f"n{index}" for index in busy])


def job(pods: int, chips: int = 8, name: str = "job", namespace: str = "default", min_available: int | None = None,
        **settings: object) -> Job:
    """A job of pods that all ask for the same chips. settings : fields of JobSettings."""
    uid = f"{namespace}/{name}"
    tasks = [Task(uid, f"{name}-worker-{index}", "worker", index, chips, {CHIP: chips} if chips else {})
             for index in range(pods)]
    return Job(name, namespace, "VolcanoJob", tasks, JobSettings(**settings),   # type: ignore[arg-type]
               min_available=pods if min_available is None else min_available, resource=CHIP if chips else "")


def request(state: State, wanted: Job, tasks: Sequence[Task] | None = None) -> Request:
    """What the allocate action would ask a policy, by chips alone (no other filters)."""
    todo = list(tasks) if tasks is not None else [task for task in wanted.npu_tasks if task.node is None]
    ask = Request(state, wanted, todo, [], rule_of(wanted))
    usable: list[NodeState] = []
    for one in state.nodes.values():
        found = ask.chips_on(one, todo[0])
        if isinstance(found, str):
            ask.refused.setdefault(found, []).append(one.name)
        else:
            usable.append(one)
    ask.nodes = usable
    return ask


def run_on(state: State, running: Job, names: Sequence[str]) -> Job:
    """Put a job on nodes as a running one, pod i on names[i], with its lowest idle chips."""
    from distsim.scheduler.chips.any import lowest
    from distsim.scheduler.types import JobPhase

    state.jobs[running.uid] = running
    for rank, (task, name) in enumerate(zip(running.tasks, names, strict=True)):
        state.assign(task, name, lowest(state.nodes[name].idle(), task.chips))
        task.rank = rank
    running.phase = JobPhase.RUNNING
    return running
