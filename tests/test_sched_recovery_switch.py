"""subHealthyStrategy hotSwitch: where the backup starts, when it takes over, when there is none."""

from __future__ import annotations

import sched_cases as cases
from sched_fault_cases import World, card, node_down, running, state_with

from distsim.scheduler.faults import Times
from distsim.scheduler.policies.blocks.pods import SUPER_POD_KEYS
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import Share, State, state_of
from distsim.scheduler.types import Job, JobPhase


def nodes_of(job: Job) -> list[str | None]:
    return [task.node for task in job.tasks]


def switching(state: State, nodes: list[str], **settings: object) -> Job:
    return running(state, nodes, fault_scheduling="force", sub_healthy="hotSwitch", **settings)


def test_the_backup_runs_before_the_old_pod_goes() -> None:
    state = state_with(3)
    job = switching(state, ["n0", "n1"])
    world = World(state, [card("n1", [0], "SubHealthFault", at_s=10)], Times(backup=20_000)).run(29)
    assert nodes_of(job) == ["n0", "n1"] and world.recovery.trains(job)
    assert world.said("backup") == [(10_000, "backup", "job-worker-1-backup")]
    assert state.nodes["n2"].used == 255                                  # held by the backup
    world.run(30)
    assert nodes_of(job) == ["n0", "n2"] and state.nodes["n1"].used == 0
    assert list(state.nodes["n2"].tasks) == ["default/job/job-worker-1"] and job.tasks[1].rank == 1
    assert world.said("switched") == [(30_000, "switched", "job-worker-1")]
    (stop,) = world.recovery.stops(job)
    assert (stop.began_ms, stop.ended_ms, stop.keeps) == (30_000, 30_000, True)
    reason = world.recovery.reschedule_reasons()["recent-reschedule-records"]["default/job"]["RescheduleRecords"][0]
    assert reason["ReasonOfTask"] == [{"RescheduleReason": "SubHealthFault", "PodName": "job-worker-1",
                                       "NodeName": "n1", "NodeRankIndex": "1"}]


def test_without_a_standby_node_the_fault_is_ignored() -> None:
    state = state_with(2)
    job = switching(state, ["n0", "n1"])
    world = World(state, [card("n1", [0], "SubHealthFault", at_s=10)]).run(30)
    assert nodes_of(job) == ["n0", "n1"] and world.recovery.stops(job) == []
    assert world.said("ignored") == [(10_000, "ignored", "job-worker-1")]
    assert world.message("ignored").startswith("sub-health: no standby node: ")


def test_rank_0_is_not_switched() -> None:
    state = state_with(3)
    job = switching(state, ["n0", "n1"])
    world = World(state, [card("n0", [0], "SubHealthFault", at_s=10)]).run(30)
    assert nodes_of(job) == ["n0", "n1"]
    assert world.message("ignored") == "sub-health: a hot switch is not for rank 0"


def test_a_backup_that_is_not_needed_any_more_ends() -> None:
    state = state_with(3)
    job = switching(state, ["n0", "n1"])
    world = World(state, [card("n1", [0], "SubHealthFault", at_s=10, for_s=5)], Times(backup=20_000)).run(40)
    assert nodes_of(job) == ["n0", "n1"] and state.nodes["n2"].used == 0
    assert world.said("backup-ended") == [(15_000, "backup-ended", "job-worker-1-backup")]


def test_a_hard_fault_before_the_backup_is_there() -> None:
    """The backup gives its node back, and the pod is replaced as a process-level reschedule would."""
    state = state_with(3)
    job = switching(state, ["n0", "n1"])
    faults = [card("n1", [0], "SubHealthFault", at_s=10), node_down("n1", 15, index=1)]
    world = World(state, faults, Times(backup=20_000)).run(20)
    assert nodes_of(job) == ["n0", "n2"] and list(state.nodes["n2"].tasks) == ["default/job/job-worker-1"]
    assert [stop.why for stop in world.recovery.stops(job)] == ["process"]


def test_two_sub_healthy_pods_are_switched_one_after_the_other() -> None:
    state = state_with(5)
    job = switching(state, ["n0", "n1", "n2"])
    faults = [card("n1", [0], "SubHealthFault", at_s=10), card("n2", [0], "SubHealthFault", at_s=10, index=1)]
    World(state, faults, Times(backup=5_000)).run(30)
    assert nodes_of(job) == ["n0", "n3", "n4"]


def test_the_backup_stays_in_the_super_pod() -> None:
    """SuperPoD 1 has free nodes, but the pod is in SuperPoD 0."""
    nodes = [cases.node(f"s{pod}n{number}", labels={SUPER_POD_KEYS[0]: str(pod)}) for pod, size in ((1, 3), (0, 3))
             for number in range(size)]
    for spare, expected in ((True, "s0n2"), (False, "s0n1")):
        state = state_of(cases.cluster(nodes), SchedulerSettings(reserve_nodes=0))
        job = switching(state, ["s0n0", "s0n1"], sp_block=16, schedule_policy="chip8-node8-sp")
        state.nodes["s0n2"].barred = 0 if spare else 1
        World(state, [card("s0n1", [0], "SubHealthFault", at_s=10)]).run(12)
        assert nodes_of(job) == ["s0n0", expected]


def test_the_backup_stays_in_the_level_1_domain() -> None:
    settings = SchedulerSettings(levels={"default": (("rack", 0), ("spine", 0))})
    nodes = [cases.node(f"r{rack}n{number}", labels={"rack": f"r{rack}", "spine": "a"}) for rack in (1, 0)
             for number in range(3)]
    for spare, expected in ((True, "r0n2"), (False, "r0n1")):
        state = state_of(cases.cluster(nodes), settings)
        job = switching(state, ["r0n0", "r0n1"], schedule_policy="multilevel", affinity_levels=(2,))
        state.nodes["r0n2"].used = 0 if spare else 1
        World(state, [card("r0n1", [0], "SubHealthFault", at_s=10)]).run(12)
        assert nodes_of(job) == ["r0n0", expected]


def test_the_backup_of_a_tor_job_takes_the_slice_of_the_old_pod() -> None:
    """Nodes n(4t+s): a large-model job of 4 on T0; slice 1 is sub-healthy, and only T1's slice 1 may replace it."""
    state = cases.tor_state(2, 4)
    job = switching(state, ["n0", "n1", "n2", "n3"], tor_affinity="large-model-schema")
    World(state, [card("n1", [0], "SubHealthFault", at_s=10)]).run(12)
    assert nodes_of(job) == ["n0", "n5", "n2", "n3"]


def test_a_soft_share_pod_is_switched_with_its_share() -> None:
    state = state_with(2)
    job = cases.job(2, 1, fault_scheduling="force", sub_healthy="hotSwitch", schedule_policy="chip1-softShareDev",
                    aicore_quota=50, hbm_quota_mb=1000, share_policy="elastic")
    state.jobs[job.uid] = job
    for rank, (task, node) in enumerate(zip(job.tasks, ("n0", "n1"))):
        state.share(task, node, 0, Share(f"{job.uid}/{task.name}", 50, 1000, "elastic"))
        task.rank = rank
    job.phase = JobPhase.RUNNING
    World(state, [card("n1", [0], "SubHealthFault", at_s=10)]).run(12)
    assert nodes_of(job) == ["n0", "n0"]
    assert sorted(one.aicore for shares in state.nodes["n0"].shares.values() for one in shares) == [50, 50]
    assert state.nodes["n1"].shares == {} and state.nodes["n1"].used == 0
