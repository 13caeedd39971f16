"""Queues: shares by weight, which queue and which job is served next."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sched_cases import CHIP
from sched_session_cases import chip_job, cpu_job, lab, nodes_of, rounds, settings, start

from distsim.cluster import Queue
from distsim.scheduler.session.order import dominant_share, in_order
from distsim.scheduler.session.queues import Queues, fair_shares
from distsim.scheduler.types import JobPhase


def jobs_of(*names):
    """Jobs of one node each, in the queue that the first letter names."""
    jobs = [chip_job(1, name=name) for name in names]
    for job in jobs:
        job.queue = job.name[0]
    return jobs


def running(jobs):
    return [job.name for job in jobs if job.phase is JobPhase.RUNNING]


@pytest.mark.parametrize("total, weights, asked, shares", [
    (12, (1, 2), (100, 100), (4, 8)),
    (10, (1, 1, 2), (1, 9, 9), (1, 3, 6)),            # what the first leaves goes to the others by weight
    (10, (1, 1), (2, 3), (2, 3)),                     # nobody gets more than asked
    (9, (1, 1), (100, 100), (Fraction(9, 2), Fraction(9, 2))),
    (12, (1, 1, 1), (2, 5, 100), (2, 5, 5)),
    (8, (0, 1), (8, 2), (0, 2)),
    (0, (1, 1), (3, 3), (0, 0)),
])
def test_fair_shares(total, weights, asked, shares):
    names = "abc"[:len(weights)]
    found = fair_shares(Fraction(total), dict(zip(names, weights)), dict(zip(names, map(Fraction, asked))))
    assert tuple(found.values()) == shares


def test_queues_get_nodes_by_weight():
    # 6 nodes, weights 1 and 2: 2 and 4, though all of a's jobs are older.
    jobs = jobs_of(*(f"a{number}" for number in range(5)), *(f"b{number}" for number in range(5)))
    start(lab(6, queues=[Queue("a", 1), Queue("b", 2)]), *jobs)
    assert running(jobs) == ["a0", "a1", "b0", "b1", "b2", "b3"]


def test_what_a_queue_does_not_ask_for_goes_to_the_other():
    jobs = jobs_of("a0", "a1", "a2", "a3", "b0")
    start(lab(4, queues=[Queue("a", 1), Queue("b", 3)]), *jobs)
    assert running(jobs) == ["a0", "a1", "a2", "b0"]


def test_a_queue_below_its_share_may_take_a_gang_that_lifts_it_above():
    # volcano-sh/volcano#3725: 3 nodes, two queues that each deserve one and a half, jobs of two nodes.
    jobs = [chip_job(2, name=name) for name in ("a0", "b0")]
    for job in jobs:
        job.queue = job.name[0]
    scheduler, _ = start(lab(3, queues=[Queue("a"), Queue("b")]), *jobs)
    assert running(jobs) == ["a0"]
    scheduler.finish(jobs[0], JobPhase.COMPLETED, "done", 1500)
    rounds(scheduler, 1500)
    assert running(jobs) == ["b0"]


def test_a_queue_that_waited_is_served_when_pods_end():
    jobs = jobs_of("a0", "a1", "a2", "b0", "b1")
    scheduler, _ = start(lab(4, queues=[Queue("a"), Queue("b")]), *jobs)
    assert running(jobs) == ["a0", "a1", "b0", "b1"]
    scheduler.finish(jobs[3], JobPhase.COMPLETED, "done", 1500)
    rounds(scheduler, 1500)
    assert running(jobs) == ["a0", "a1", "a2", "b1"]


def test_a_greater_queue_priority_is_served_first():
    jobs = jobs_of("a0", "b0")
    start(lab(1, queues=[Queue("a"), Queue("b", priority=5)]), *jobs)
    assert running(jobs) == ["b0"]


def test_without_declared_queues_every_name_is_one_queue():
    jobs = jobs_of("a0", "b0", "c0")
    start(lab(3), *jobs)
    assert running(jobs) == ["a0", "b0", "c0"]


def test_pending_jobs_do_not_count_as_demand():
    # b's only job can never be enqueued (it asks for 5 of 4 nodes), so a may have all.
    jobs = [*jobs_of("a0", "a1", "a2", "a3"), large := chip_job(5, name="b0")]
    large.queue = "b"
    start(lab(4, queues=[Queue("a"), Queue("b")]), *jobs)
    assert running(jobs) == ["a0", "a1", "a2", "a3"]


def test_cpu_counts_for_queues_too():
    # 192 cpus a node; a's jobs ask for cpu only: it deserves half of 384.
    jobs = [cpu_job(1, 96_000, name=name) for name in ("a0", "a1", "a2", "b0", "b1")]
    for job in jobs:
        job.queue = job.name[0]
    start(lab(2, queues=[Queue("a"), Queue("b")], resources={CHIP: 8, "cpu": 192}), *jobs)
    assert running(jobs) == ["a0", "a1", "b0", "b1"]
    assert jobs[2].conditions["JobEnqueueFailed"].message == (
        "queue a (weight 1 of 2) holds 192000 cpu and deserves 192000; job a2 waits")


def test_soft_share_pods_count_by_their_quota():
    state = lab(1, queues=[Queue("a"), Queue("b")])
    job = chip_job(3, 1, name="a0", schedule_policy="chip1-softShareDev", aicore_quota=25, hbm_quota_mb=1,
                   share_policy="elastic")
    job.queue = "a"
    for task in job.tasks:
        task.request.clear()
    start(state, job)
    queues = Queues(state)
    assert queues.total[CHIP] == 8 and queues.of(job).held == {CHIP: Fraction(3, 4)}


def test_turns_go_to_the_queue_with_the_smallest_share():
    # a holds 2 of 4 nodes, b none: b first, then a.
    jobs = jobs_of("a0", "a1", "a2", "b0", "b1")
    state = lab(5, queues=[Queue("a"), Queue("b")])
    scheduler, _ = start(state, *jobs[:2])
    for job in jobs[2:]:
        scheduler.submit(job, 1500)
        job.phase = JobPhase.INQUEUE
    queues = Queues(state)
    served = []
    for job in queues.turns(jobs[2:]):
        served.append(job.name)
        queues.take(job, job.tasks)
    # Deserved: 24 of the 40 chips for a, 16 for b. Shares: b 0, then 8/16, before a's 16/24.
    assert served == ["b0", "b1", "a2"]


def test_order_of_jobs():
    state = lab(8)
    stranded, ready_one = chip_job(2, name="stranded"), chip_job(2, name="ready", min_available=1)
    start(state, stranded, ready_one)
    state.release(stranded.tasks[0])
    state.release(ready_one.tasks[0])
    high, young, old = chip_job(1, name="high"), chip_job(1, name="a-young"), chip_job(1, name="old")
    high.priority, young.created_ms, high.created_ms = 3, 50, 60
    jobs = [young, old, ready_one, stranded, high]
    assert [job.name for job in in_order(jobs, state)] == ["high", "stranded", "old", "a-young", "ready"]
    # Without gang and drf priority and the time of creation are left, then the name (stranded 0 ms, ready 1 ms).
    plain = lab(1, chosen=settings(without=["gang", "drf"]))
    assert [job.name for job in in_order(jobs, plain)] == ["high", "old", "stranded", "ready", "a-young"]
    bare = lab(1, chosen=settings(without=["priority", "gang", "volcano-npu", "drf"]))
    assert [job.name for job in in_order(jobs, bare)] == ["old", "stranded", "ready", "a-young", "high"]


def test_jobs_at_risk_come_before_jobs_with_pods_to_spare():
    # Both ready: one runs with 2 of at least 1, the other with 1 of at least 1.
    state = lab(3, chosen=settings(without=["gang", "drf"]))
    spare, risk = chip_job(3, name="a-spare", min_available=1), chip_job(2, name="b-risk", min_available=1)
    start(state, spare)
    state.release(spare.tasks[2])
    start(state, risk)
    assert nodes_of(spare)[:2] == ["n0", "n1"]
    risk.created_ms = spare.created_ms
    assert [job.name for job in in_order([spare, risk], state)] == ["b-risk", "a-spare"]


def test_the_order_of_the_plugins_counts():
    # drf before priority: the job that holds less goes first although its priority is lower.
    holds, fresh = chip_job(2, name="holds", min_available=1), chip_job(1, name="fresh")
    state = lab(4)
    start(state, holds)
    state.release(holds.tasks[1])
    holds.priority = 5
    assert [job.name for job in in_order([fresh, holds], state)] == ["holds", "fresh"]
    state.settings = settings(without=["gang", "volcano-npu"])
    state.settings = type(state.settings)(plugins={"drf": {}, "priority": {}})
    assert [job.name for job in in_order([fresh, holds], state)] == ["fresh", "holds"]


def test_dominant_share():
    held = {"cpu": Fraction(50), CHIP: Fraction(4)}
    assert dominant_share(held, {"cpu": Fraction(100), CHIP: Fraction(32)}) == Fraction(1, 2)
    assert dominant_share({}, {"cpu": Fraction(100)}) == 0
    assert dominant_share({"rdma/ib": Fraction(1)}, {"cpu": Fraction(100)}) == 0
