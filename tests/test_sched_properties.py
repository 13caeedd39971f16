"""Properties of any sequence of jobs, sessions, faults, repairs and ends: what must hold after every session.

No chip is given twice, gangs are whole or nothing, every job is final with a reason, runs, or waits with a condition
(`verify`); slices of large-model jobs differ by at most one; blocks and levels are whole; the same input gives the
same output.
"""

from __future__ import annotations

import copy
from collections import Counter

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sched_cases import cluster, node
from sched_session_cases import CHIP, chip_job, cpu_job, fail_node, nodes_of, verify, with_tasks

from distsim.cluster import Queue
from distsim.scheduler.session import Scheduler, min_available, ready
from distsim.scheduler.settings import PLUGINS, SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, JobPhase, Task

QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
KINDS = ("plain", "small", "mixed", "light", "best-effort", "large", "normal", "blocks", "levels", "share")
LEVELS = {"default": (("rack", 0), ("pod", 0))}


def machine_cluster(chosen: SchedulerSettings, queues: bool) -> State:
    """16 nodes of 8 chips: switches and racks of 4, SuperPoDs and pods of 8."""
    nodes = [node(f"n{number}", 8, number=number, rack=f"rack-{number // 4}",
                  labels={"rack": f"r{number // 4}", "pod": f"p{number // 8}",
                          "huawei.com/topotree.superpodid": str(number // 8)},
                  annotations={"distsim/tor-id": str(number // 4), "distsim/slice-id": str(number % 4)})
             for number in range(16)]
    made = cluster(nodes)
    declared = (Queue("default", 1), Queue("other", 2)) if queues else ()
    return state_of(type(made)("lab", "sim", tuple(nodes), declared, {}, {}, {}), chosen)


@st.composite
def some_job(draw, number: int, kinds: tuple[str, ...] = KINDS) -> Job:
    """A job of any kind, some of them impossible."""
    name = f"job{number}"
    kind = draw(st.sampled_from(kinds))
    pods = draw(st.integers(1, 6))
    least = draw(st.sampled_from([pods, pods, 1]))
    if kind == "plain":
        job = chip_job(pods, 8, name, min_available=least)
    elif kind == "small":
        policy = draw(st.sampled_from([None, "chip4-node8", "chip2-node8", "chip8-node8"]))
        chips = draw(st.sampled_from([1, 2, 2, 3, 4, 8]))
        job = chip_job(pods, chips, name, min_available=least, schedule_policy=policy)
        cpu = draw(st.sampled_from([0, 70_000_000, 90_000_000]))             # a node has 192,000,000
        for task in job.tasks:
            task.request["cpu"] = cpu
    elif kind == "mixed":
        extra = [Task(f"default/{name}", f"{name}-extra-{index}", "extra", pods + index, 0,
                      {"cpu": draw(st.sampled_from([0, 150_000_000]))}) for index in range(draw(st.integers(1, 4)))]
        job = with_tasks(chip_job(pods, 4, name), *extra)
        job.min_available = draw(st.sampled_from([len(job.tasks), pods]))
    elif kind in ("light", "best-effort"):
        job = cpu_job(pods, 50_000_000 if kind == "light" else 0, name, least)
    elif kind in ("large", "normal"):
        schema = "large-model-schema" if kind == "large" else "normal-schema"
        job = chip_job(draw(st.integers(1, 12)), 8, name, tor_affinity=schema)
    elif kind == "blocks":
        block = draw(st.sampled_from([8, 16, 32]))
        job = chip_job(draw(st.sampled_from([4, 8, 12])), 8, name, schedule_policy="chip8-node8-sp", sp_block=block)
    elif kind == "levels":
        job = chip_job(draw(st.sampled_from([4, 8])), 8, name, schedule_policy="multilevel", affinity_levels=(2, 4))
    else:
        quota = draw(st.integers(1, 100))
        job = chip_job(pods, 1, name, schedule_policy="chip1-softShareDev", aicore_quota=quota, hbm_quota_mb=1000,
                       share_policy="fixed-share")
        for task in job.tasks:
            task.request.clear()
    job.priority = draw(st.integers(0, 2))
    job.queue = draw(st.sampled_from(["default", "other"]))
    spread = kind in ("plain", "small", "light") and draw(st.booleans())
    for task in job.tasks:
        task.spread = spread
    return job


class Scheduling(RuleBasedStateMachine):
    """Jobs come, nodes break and come back, jobs end, sessions run."""

    @initialize(without=st.sets(st.sampled_from(["priority", "drf", "proportion", "nodeorder", "binpack"])),
                queues=st.booleans(), force=st.booleans())
    def begin(self, without, queues, force):
        plugins = {name: {} for name in PLUGINS if name not in without}
        settings = SchedulerSettings(plugins=plugins, force_enqueue=force, levels=LEVELS, reserve_nodes=0)
        self.state = machine_cluster(settings, queues)
        self.scheduler = Scheduler(self.state)
        self.now_ms, self.number = 0, 0

    @rule(data=st.data())
    def submit(self, data):
        self.number += 1
        self.scheduler.submit(data.draw(some_job(self.number)), self.now_ms)

    @rule(seconds=st.sampled_from([1, 1, 1, 400]))
    def session(self, seconds):
        self.now_ms += 1000 * seconds
        before = {job.uid: ready(job) for job in self.state.jobs.values()}
        self.scheduler.session(self.now_ms)
        verify(self.state)
        for job in self.state.jobs.values():
            # A session takes no pods away, and starts no part of a gang.
            assert ready(job) >= before[job.uid]
            assert before[job.uid] or ready(job) == 0 or ready(job) >= min_available(job)
            check_topology(job, self.state)

    @rule(number=st.integers(0, 15), whole=st.booleans())
    def node_fails(self, number, whole):
        """A node breaks; its pods are lost, or the whole jobs of them."""
        jobs = list(self.state.running_on(f"n{number}"))
        fail_node(self.state, f"n{number}")
        for job in jobs if whole else ():
            for task in job.tasks:
                self.state.release(task)

    @rule(number=st.integers(0, 15))
    def node_comes_back(self, number):
        self.state.nodes[f"n{number}"].healthy = True

    @rule(number=st.integers(0, 15), chip=st.integers(0, 7))
    def chip_breaks(self, number, chip):
        self.state.nodes[f"n{number}"].barred ^= 1 << chip

    @precondition(lambda self: any(job.phase is JobPhase.RUNNING for job in self.state.jobs.values()))
    @rule(data=st.data(), phase=st.sampled_from([JobPhase.COMPLETED, JobPhase.FAILED]))
    def job_ends(self, data, phase):
        running = [job for job in self.state.jobs.values() if job.phase is JobPhase.RUNNING]
        self.scheduler.finish(data.draw(st.sampled_from(running)), phase, "over", self.now_ms)

    @invariant()
    def no_job_is_lost(self):
        assert len(getattr(self, "state", State(None, {})).jobs) == getattr(self, "number", 0)


def check_topology(job: Job, state: State) -> None:
    """What the policy of a job promises, for jobs that have lost no pod."""
    if job.phase is not JobPhase.RUNNING or any(task.last_node is not None or task.node is None for task in job.tasks):
        return
    names = [task.node for task in job.placed]
    if job.settings.tor_affinity == "large-model-schema":
        tors = {state.nodes[name].tor for name in names}
        slices = Counter(state.nodes[name].slice for name in names)
        counts = [slices[number] for number in range(4)]
        assert len(tors) == 1 or max(counts) - min(counts) <= 1, names
        assert len(names) >= 4 or len(tors) == 1
    if job.settings.sp_block is not None:
        check_groups(names, job.settings.sp_block // 8, [state.nodes[name].labels["pod"] for name in names])
    if job.settings.affinity_levels is not None:
        check_groups(names, 2, [state.nodes[name].labels["rack"] for name in names])
        check_groups(names, 4, [state.nodes[name].labels["pod"] for name in names])


def check_groups(names: list[str], size: int, domains: list[str]) -> None:
    """Each group of `size` successive ranks is in one domain."""
    for first in range(0, len(names), size):
        assert len(set(domains[first:first + size])) == 1, (size, names)


Scheduling.TestCase.settings = hypothesis_settings(max_examples=150, stateful_step_count=30, deadline=None,
                                                   suppress_health_check=QUIET)
TestScheduling = Scheduling.TestCase


@given(busy=st.sets(st.integers(0, 15), max_size=9), data=st.data())
@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
def test_topologies_on_a_cluster_in_use(busy, data):
    state = machine_cluster(SchedulerSettings(levels=LEVELS, reserve_nodes=0), queues=False)
    for number in busy:
        state.nodes[f"n{number}"].used = 255
    scheduler = Scheduler(state)
    for number in range(3):
        scheduler.submit(data.draw(some_job(number, ("large", "normal", "blocks", "levels"))), 0)
    scheduler.session(1000)
    for job in state.jobs.values():
        check_topology(job, state)


@st.composite
def some_jobs(draw) -> list[Job]:
    return [draw(some_job(number)) for number in range(draw(st.integers(1, 8)))]


@given(jobs=some_jobs(), broken=st.sets(st.integers(0, 15), max_size=4))
@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
def test_the_same_input_gives_the_same_output(jobs, broken):
    def once(those):
        state = machine_cluster(SchedulerSettings(levels=LEVELS), queues=True)
        scheduler = Scheduler(state)
        for number, job in enumerate(those):
            scheduler.submit(job, number % 3)
        happened = scheduler.session(1000)
        for number in sorted(broken):
            fail_node(state, f"n{number}")
        for now_ms in (2000, 3000):
            happened += scheduler.session(now_ms)
        return happened, [(job.phase, job.reason, nodes_of(job), [task.held for task in job.tasks], job.conditions,
                           job.notes) for job in those]

    assert once(copy.deepcopy(jobs)) == once(jobs)


@given(jobs=some_jobs())
@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
def test_a_try_that_is_not_made_again_would_have_failed(jobs):
    # One scheduler remembers tries in vain, the other begins anew at each session.
    def standing(fresh, those):
        state = machine_cluster(SchedulerSettings(levels=LEVELS), queues=False)
        scheduler = Scheduler(state)
        for job in those:
            scheduler.submit(job, 0)
        for now_ms in range(1000, 5000, 1000):
            if now_ms == 3000:
                state.nodes["n3"].barred = 1
            scheduler.session(now_ms)
            if fresh:
                scheduler = Scheduler(state)
        return [(job.phase, nodes_of(job), list(job.conditions)) for job in those]

    assert standing(True, copy.deepcopy(jobs)) == standing(False, jobs)


def test_what_the_machine_builds():
    state = machine_cluster(SchedulerSettings(), True)
    assert state.nodes["n5"].tor == 1 and state.nodes["n5"].slice == 1 and state.nodes["n5"].free[CHIP] == 8
