"""Measure rounds of the scheduler on a large cluster: seconds a job, and memory at its peak.

    python launch/bench_schedule.py                          10,000 nodes, 500 queued jobs, all policies in turn
    python launch/bench_schedule.py --policies tor-affinity --jobs 50 --profile

Four rounds of one process: all jobs are new; those that got nothing once more; again, with nothing moved in between;
one job in ten has ended. A third of the nodes have some of their 8 chips in use before. Seconds a job are those of a
round over the jobs that waited when it began.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import sys
import time
from collections.abc import Iterator
from typing import Any

from distsim.cluster import Cluster, Node
from distsim.cluster.types import HyperNodeInfo
from distsim.scheduler.session import Scheduler
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, JobPhase, JobSettings, Task

CHIP, CHIPS = "huawei.com/Ascend910", 8
PER_TOR, PER_POD = 16, 160
LEVELS: dict[str, tuple[tuple[str, int], ...]] = {"default": (("rack", 1), ("superpod", 0))}
# What jobs of each kind ask for, and their sizes in pods, in turn.
KINDS: dict[str, tuple[dict[str, Any], tuple[int, ...], int]] = {
    "plain": ({}, (1, 4, 32, 128), 8),
    "small": ({"schedule_policy": "chip4-node8"}, (1, 3, 8), 2),
    "tor-affinity": ({"tor_affinity": "large-model-schema"}, (8, 64, 256), 8),
    "multilevel": ({"schedule_policy": "multilevel", "affinity_levels": (2, 4)}, (8, 64, 256), 8),
    "super-pod": ({"schedule_policy": "chip8-node8-sp", "sp_block": 64}, (8, 64, 256), 8),
    "hypernode": ({}, (8, 64, 256), 8),
}
TOPOLOGY = {"mode": "hard", "highestTierAllowed": 3}


def main() -> None:
    """Measure, then print a table or one JSON object."""
    options = _options()
    state = _cluster(options.nodes)
    scheduler = Scheduler(state)
    for job in _jobs(options.jobs, options.policies):
        scheduler.submit(job, 0)
    profiler = cProfile.Profile()
    if options.profile:
        profiler.enable()
    rounds = [_round(scheduler, what, now_ms)
              for what, now_ms in (("all new", 1000), ("once more", 2000), ("quiet", 3000))]
    _free_some(state)
    rounds.append(_round(scheduler, "nodes freed", 4000))
    profiler.disable()
    report = {"nodes": options.nodes, "jobs": options.jobs, "rounds": rounds, "memory_mb": _peak_mb()}
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _print_table(report)
    if options.profile:
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(25)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000, help="nodes of the cluster (default 10000)")
    parser.add_argument("--jobs", type=int, default=500, help="jobs in the queue (default 500)")
    parser.add_argument("--policies", type=lambda text: text.split(","), default=list(KINDS),
                        help=f"kinds of jobs, in turn: {', '.join(KINDS)} (default all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--profile", action="store_true", help="print where the time goes as well")
    return parser.parse_args()


def _cluster(count: int) -> State:
    """Nodes of 8 chips, 16 at a switch, 160 in a SuperPoD; every third has 1 to 7 chips in use."""
    nodes = []
    for number in range(count):
        name, tor = f"node{number:05d}", number // PER_TOR
        amounts = {CHIP: CHIPS, "cpu": 192, "memory": 2**41}
        labels = {"kubernetes.io/hostname": name, "rack": f"rack{tor}", "superpod": f"pod{number // PER_POD}",
                  "huawei.com/topotree.superpodid": str(number // PER_POD)}
        nodes.append(Node(name, labels, {"distsim/tor-id": str(tor), "distsim/slice-id": str(number % PER_TOR)}, (),
                          CHIPS, tuple(range(CHIPS * number, CHIPS * (number + 1))), False, "npu", dict(amounts),
                          dict(amounts), f"rack{tor}"))
    made = Cluster("bench", "sim", tuple(nodes), (), {}, {}, {}, hyper_nodes=_hyper_nodes([one.name for one in nodes]))
    state = state_of(made, SchedulerSettings(levels=LEVELS))
    for index, node in enumerate(state.nodes.values()):
        if index % 3 == 0:
            node.used = (1 << 1 + index % 7) - 1
    return state


def _hyper_nodes(names: list[str]) -> dict[str, HyperNodeInfo]:
    """Switches, SuperPoDs, and the whole cluster."""
    tors = {f"tor{first // PER_TOR}": HyperNodeInfo(1, "", f"super{first // PER_POD}",
                                                    tuple(names[first:first + PER_TOR]))
            for first in range(0, len(names), PER_TOR)}
    pods = {f"super{first // PER_POD}": HyperNodeInfo(2, "", "all", tuple(names[first:first + PER_POD]))
            for first in range(0, len(names), PER_POD)}
    return tors | pods | {"all": HyperNodeInfo(3, "", "", tuple(names))}


def _jobs(count: int, kinds: list[str]) -> Iterator[Job]:
    for number in range(count):
        kind = kinds[number % len(kinds)]
        settings, sizes, chips = KINDS[kind]
        pods = sizes[number // len(kinds) % len(sizes)]
        name, uid = f"job{number:03d}", f"default/job{number:03d}"
        tasks = [Task(uid, f"{name}-worker-{index}", "worker", index, chips,
                      {CHIP: chips, "cpu": 16_000, "memory": 2**36}) for index in range(pods)]
        yield Job(name, "default", "VolcanoJob", tasks, JobSettings(**settings), min_available=pods, resource=CHIP,
                  network_topology=TOPOLOGY if kind == "hypernode" else None)


def _round(scheduler: Scheduler, what: str, now_ms: int) -> dict[str, Any]:
    waiting = [job for job in scheduler.state.jobs.values() if job.phase in (JobPhase.PENDING, JobPhase.INQUEUE)]
    begin = time.perf_counter()
    happenings = scheduler.session(now_ms)
    seconds = time.perf_counter() - begin
    return {"round": what, "waiting": len(waiting), "placed": sum(one.kind == "scheduled" for one in happenings),
            "failed": sum(one.kind == "failed" for one in happenings), "seconds": round(seconds, 3),
            "seconds_a_job": round(seconds / len(waiting), 5) if waiting else 0.0}


def _free_some(state: State) -> None:
    """End every tenth of the jobs that run."""
    running = [job for job in state.jobs.values() if job.phase is JobPhase.RUNNING][::10]
    for job in running:
        for task in job.tasks:
            state.release(task)
        del state.jobs[job.uid]


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _print_table(report: dict[str, Any]) -> None:
    print(f"{report['nodes']} nodes, {report['jobs']} jobs; memory at its peak {report['memory_mb']} MB")
    print(f"{'round':<14} {'waiting':>8} {'placed':>7} {'failed':>7} {'seconds':>9} {'s a job':>9}")
    for one in report["rounds"]:
        print(f"{one['round']:<14} {one['waiting']:>8} {one['placed']:>7} {one['failed']:>7} {one['seconds']:>9.3f} "
              f"{one['seconds_a_job']:>9.5f}")


if __name__ == "__main__":
    main()
