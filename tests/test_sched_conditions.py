"""The four conditions of a PodGroup: their reasons, and messages that name nodes, causes and figures."""

from __future__ import annotations

from sched_cases import CHIP, tor_state
from sched_session_cases import chip_job, cpu_job, fail_node, lab, rounds, settings, start

from distsim.cluster import Queue
from distsim.scheduler.session import Scheduler
from distsim.scheduler.session.conditions import message_of
from distsim.scheduler.types import Condition, Refusal

NO_ENQUEUE = settings(without=["enqueue"])


def test_predicate_names_each_reason_with_its_nodes():
    state = lab(5, chosen=NO_ENQUEUE)
    state.nodes["n0"].healthy = False
    state.nodes["n1"].enabled = False
    state.nodes["n2"].used = 0b111111
    state.nodes["n3"].used = 0b111111
    job = chip_job(2)
    start(state, job)
    assert job.conditions == {"NodePredicateFailed": Condition(
        "NodePredicateFailed", "1 of 2 pods of job job find a node: 1 node with chips for one; 2 of 8 chips free, 8 "
        "requested: 2 nodes, n2, n3; NodeHealthState is not healthy: 1 node, n0; NodeDEnable is false: 1 node, n1",
        1000, "Unschedulable", "True")}


def test_predicate_names_no_more_than_twenty_nodes_a_reason():
    state = lab(25, chosen=NO_ENQUEUE)
    for node in state.nodes.values():
        node.used = 255
    job = chip_job(1)
    start(state, job)
    named = ", ".join(f"n{number}" for number in range(20))
    assert job.conditions["NodePredicateFailed"].message == (
        f"0 of 1 pod of job job find a node: 0 nodes with chips for one; 0 of 8 chips free, 8 requested: 25 nodes, "
        f"{named}, ...")


def test_predicate_names_no_more_than_twenty_reasons():
    state = lab(25, chosen=NO_ENQUEUE, resources={CHIP: 8, "cpu": 192})
    for number, node in enumerate(state.nodes.values()):
        node.free["cpu"] = number
    job = chip_job(1)
    job.tasks[0].request["cpu"] = 1000
    scheduler = Scheduler(state)
    scheduler.submit(job, 0)
    scheduler.session(1000)
    message = job.conditions["NodePredicateFailed"].message
    assert "; cpu: 19 free, 1000 requested: 1 node, n19; 5 further reasons: 5 nodes" in message
    assert "cpu: 20 free" not in message


def test_batch_order_keeps_what_the_filters_said_apart():
    # No switch has a node of slice 0; n15 is unhealthy.
    state = tor_state(busy=[0, 4, 8, 12])
    state.nodes["n15"].healthy = False
    job = chip_job(8, tor_affinity="large-model-schema")
    start(state, job)
    assert list(job.conditions) == ["BatchOrderFailed", "NodePredicateFailed"]
    assert "n15" not in job.conditions["BatchOrderFailed"].message
    assert job.conditions["NodePredicateFailed"].message == (
        "nodes that no pod of job job can have; 0 of 8 chips free, 8 requested: 4 nodes, n0, n4, n8, n12; "
        "NodeHealthState is not healthy: 1 node, n15")


def test_enqueue_says_required_and_available():
    state = lab(3)
    state.nodes["n0"].used = 255
    job = chip_job(3)
    start(state, job)
    assert job.conditions["JobEnqueueFailed"].message == (
        f"job job requires 24 {CHIP} for 3 pods, 16 are idle and healthy on 2 of 3 nodes")


def test_validate_gives_reason_and_message():
    job = chip_job(2, min_available=5)
    start(lab(2), job)
    assert job.conditions == {"JobValidateFailed": Condition(
        "JobValidateFailed", "NotEnoughPod: job job has 2 pods, its minAvailable is 5", 1000)}


def test_an_unknown_queue_is_refused_by_name():
    job = chip_job(1)
    job.queue = "teem-a"
    start(lab(1, queues=[Queue("team-a"), Queue("team-b")]), job)
    assert job.reason == ("JobValidateFailed: InvalidArgument: queue 'teem-a' of job job is not a queue of cluster "
                          "lab; valid: team-a, team-b")


def test_a_queue_over_its_share_says_what_it_holds_and_deserves():
    queues = [Queue("a", weight=1), Queue("b", weight=3)]
    jobs = [chip_job(1, name="a0"), chip_job(1, name="a1"), *(chip_job(1, name=f"b{number}") for number in range(3))]
    for job in jobs:
        job.queue = job.name[0]
    start(lab(4, queues=queues), *jobs)
    assert jobs[1].conditions["JobEnqueueFailed"].message == (
        f"queue a (weight 1 of 4) holds 8 {CHIP} and deserves 8; job a1 waits")


def test_conditions_are_those_of_the_last_session():
    # JobEnqueueFailed goes when the job is enqueued, NodePredicateFailed when it runs.
    state = lab(2)
    state.nodes["n0"].used = 255
    job = chip_job(2)
    scheduler, _ = start(state, job)
    assert list(job.conditions) == ["JobEnqueueFailed"]
    state.nodes["n0"].used, state.nodes["n0"].enabled = 0, True
    job.tasks[0].request["cpu"] = 10**12
    rounds(scheduler, 1000)
    assert list(job.conditions) == ["NodePredicateFailed"]
    del job.tasks[0].request["cpu"]
    state.nodes["n0"].bad_score = 1
    rounds(scheduler, 2000)
    assert job.conditions == {}


def test_a_condition_keeps_its_time_while_its_message_stays():
    state = lab(1)
    job = chip_job(2)
    scheduler, happened = start(state, job)
    happened += rounds(scheduler, 1000, 3)
    assert job.conditions["JobEnqueueFailed"].time_ms == 1000
    assert [one.time_ms for one in happened if one.kind == "unschedulable"] == [1000]
    state.nodes["n0"].used = 1
    happened = rounds(scheduler, 4000)
    assert job.conditions["JobEnqueueFailed"].time_ms == 5000
    assert [one.message for one in happened] == [
        f"JobEnqueueFailed: job job requires 16 {CHIP} for 2 pods, 7 are idle and healthy on 1 of 1 node"]


def test_a_gang_that_runs_with_fewer_pods_has_a_condition_and_one_with_enough_has_none():
    state = lab(3)
    tight, loose = chip_job(1, name="tight", min_available=1), chip_job(2, name="loose", min_available=1)
    scheduler, _ = start(state, tight, loose)
    fail_node(state, "n2")
    rounds(scheduler, 1000)
    assert loose.conditions == {}
    gang = chip_job(2, name="gang", min_available=2)
    other = lab(2)
    scheduler, _ = start(other, gang)
    fail_node(other, "n1")
    rounds(scheduler, 1000)
    assert gang.conditions["NodePredicateFailed"].message == (
        "0 of 1 pod of job gang find a node: 0 nodes with chips for one; 0 of 8 chips free, 8 requested: 1 node, n0; "
        "NodeHealthState is not healthy: 1 node, n1")


def test_a_job_that_no_action_looks_at_says_so():
    job = cpu_job(1, cpu=0)
    start(lab(1, chosen=settings(without=["backfill"])), job)
    assert job.conditions["NodePredicateFailed"].message == (
        "job cpu is Inqueue, and no action has looked for nodes since (actions: enqueue, allocate)")


def test_message_of_a_refusal():
    refusal = Refusal("NodePredicateFailed", "no node", nodes={"cordoned": ("a",), "full": ("b", "c"), "never": ()})
    assert message_of(refusal) == "no node; full: 2 nodes, b, c; cordoned: 1 node, a"
    assert message_of(Refusal("JobValidateFailed", "so", "InvalidArgument")) == "InvalidArgument: so"
