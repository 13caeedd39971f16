"""Policy hypernode: partitions of tasks, and pods that lost their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sched_cases import CHIP, request, run_on
from sched_hyper import HYPERNODE, eight, hard, hyper_state, nodes_of, parts, placed, refused, soft, wanted

from distsim.scheduler.policies.hypernode import POLICY
from distsim.scheduler.state import State
from distsim.scheduler.types import ORDER_FAILED, Job, Task


def two_racks(left: int, right: int, busy: Sequence[str] = ()) -> State:
    """h0 of so many nodes (a0, a1, ...) and h1 (b0, b1, ...) in the HyperNode `top` of tier 2."""
    return hyper_state({"h0": [f"a{at}" for at in range(left)], "h1": [f"b{at}" for at in range(right)]},
                       {"top": ["h0", "h1"]}, busy=busy)


def test_each_partition_in_a_hypernode_of_its_own() -> None:
    """The user guide's example: 8 pods in 2 partitions, the job in tier 2 and each partition in tier 1."""
    one = wanted(8, hard(2, partitionPolicy=parts(2, 4, hard(1))))
    found = placed(two_racks(4, 4), one)
    assert " ".join(found.nodes) == "a0 a1 a2 a3 b0 b1 b2 b3"
    assert found.notes == {"hypernode": "top", "tier": 2, "members": {"h0": 4, "h1": 4},
                           "partitions": [["a0", "a1", "a2", "a3"], ["b0", "b1", "b2", "b3"]]}


def test_partitions_fill_the_tightest_hypernode_first() -> None:
    policy = parts(3, 2, hard(1))
    # h0 has 4 nodes free, h1 5: two partitions in h0, one in h1.
    assert nodes_of(two_racks(4, 5), wanted(6, hard(2, partitionPolicy=policy))) == "a0 a1 a2 a3 b0 b1"
    # h1 has 2 nodes free and is filled first; numbers follow the tree all the same.
    assert nodes_of(two_racks(3, 2), wanted(4, hard(2, partitionPolicy=parts(2, 2, hard(1))))) == "a0 a1 b0 b1"
    assert placed(two_racks(5, 4), wanted(6, hard(2, partitionPolicy=policy))).notes["members"] == {"h0": 2, "h1": 4}


def test_a_partition_may_span_what_its_own_tier_allows() -> None:
    racks, spines = {"a": ["a0"], "b": ["b0"], "c": ["c0"], "d": ["d0"]}, {"x": ["a", "b"], "y": ["c", "d"]}
    state = hyper_state(racks, spines)
    one = wanted(4, {"mode": "hard", "partitionPolicy": parts(2, 2, hard(2))})
    assert placed(state, one).notes["partitions"] == [["a0", "b0"], ["c0", "d0"]]
    tight = wanted(4, {"mode": "hard", "partitionPolicy": parts(2, 2, hard(1))})
    found = refused(state, tight)
    assert found.condition == ORDER_FAILED and found.message == (
        "hypernode finds no nodes for 4 pods of job job: partition 0 of task worker needs 2 pods in one HyperNode of "
        "tier 1 or lower in <cluster> (tier 3); the roomiest, a (tier 1), takes 1")
    relaxed = wanted(4, {"mode": "hard", "partitionPolicy": parts(2, 2, soft())})
    assert placed(state, relaxed).notes["partitions"] == [["a0", "b0"], ["c0", "d0"]]


def test_a_job_takes_the_lowest_tier_in_which_its_partitions_fit() -> None:
    # s4 has 3 nodes free, s5 4: a job of 2 x 2 in tier 2 goes to s5; with a tier 1 job nothing holds it.
    policy = parts(2, 2, hard(1))
    assert nodes_of(eight(["n0"]), wanted(4, hard(2, partitionPolicy=policy))) == "n4 n5 n6 n7"
    # s4 and s5 have 3 nodes free and one whole pair each: only s6 holds both partitions.
    state = eight(["n0", "n4"])
    assert nodes_of(state, wanted(4, hard(3, partitionPolicy=policy))) == "n2 n3 n6 n7"
    assert refused(state, wanted(4, hard(2, partitionPolicy=policy))).message.endswith(
        "no HyperNode of tier 2 or lower takes 4 pods; the roomiest, s4 (tier 2), takes 3")
    # `top` takes 6 pods, but only one pair in each rack.
    assert refused(two_racks(3, 3), wanted(6, hard(2, partitionPolicy=parts(3, 2, hard(1))))).message.endswith(
        "partition 2 of task worker needs 2 pods in one HyperNode of tier 1 or lower in top (tier 2); the roomiest, h0 "
        "(tier 1), takes 3")


def test_pods_of_other_tasks_beside_partitions() -> None:
    one = wanted(4, hard(2, partitionPolicy=parts(2, 2, hard(1))))
    one.tasks.insert(0, Task(one.uid, "job-master-0", "master", 0, 8, {CHIP: 8}))
    for index, task in enumerate(one.tasks):
        task.index = index
    assert nodes_of(two_racks(3, 2), one) == "a2 a0 a1 b0 b1"
    assert refused(two_racks(2, 2), one).message.endswith(
        "no HyperNode of tier 2 or lower takes 5 pods; the roomiest, top (tier 2), takes 4")


def follow(state: State, one: Job, *pods: int) -> list[str]:
    """Break the nodes of these pods and place them again; the job's nodes by rank."""
    lost = [one.tasks[index] for index in pods]
    for task in lost:
        state.nodes[task.node or ""].barred = 0xFF
        state.release(task)
    found = placed(state, one, lost)
    for task, name, mask in zip(lost, found.nodes, found.chips, strict=True):
        state.assign(task, name, mask)
    return [task.node or "" for task in one.tasks]


def running(state: State, topology: dict[str, object], *names: str) -> Job:
    return run_on(state, wanted(len(names), topology), names)


def test_a_lost_pod_goes_as_near_to_its_node_as_it_can() -> None:
    state = eight()
    one = running(state, hard(3), "n0", "n4")
    assert follow(state, one, 1) == ["n0", "n5"]                 # s2 first
    assert follow(state, one, 1) == ["n0", "n6"]                 # then s5
    assert follow(state, one, 1) == ["n0", "n7"]
    assert follow(state, one, 1) == ["n0", "n1"]                 # then s6: s0, where a node is left over


def test_a_lost_pod_may_not_take_the_job_beyond_its_tier() -> None:
    state = eight()
    one = running(state, hard(1), "n0", "n1")
    state.nodes["n1"].barred = 0xFF
    state.release(one.tasks[1])
    found = refused(state, one, one.tasks[1:])
    assert found.message.endswith("for 1 pod of job job: the job may not leave s0 (tier 1), which takes 0 of 1 lost "
                                  "pods")
    one.network_topology = hard(2)
    assert nodes_of(state, one, one.tasks[1:]) == "n2"
    for name in ("n2", "n3"):
        state.nodes[name].barred = 0xFF
    assert "s4 (tier 2), which takes 0" in refused(state, one, one.tasks[1:]).message
    one.network_topology = soft()
    assert nodes_of(state, one, one.tasks[1:]) == "n4"


def test_a_lost_pod_returns_to_its_node_once_that_is_sound() -> None:
    state = eight()
    one = running(state, hard(3), "n0", "n5")
    state.release(one.tasks[1])
    assert nodes_of(state, one, one.tasks[1:]) == "n5"
    state.settings = replace(state.settings, prefer_previous_node=False)
    assert nodes_of(state, one, one.tasks[1:]) == "n4"
    state.settings = replace(state.settings, prefer_previous_node=True)
    state.nodes["n5"].bad_score = 64
    assert nodes_of(state, one, one.tasks[1:]) == "n4"


def test_lost_pods_stay_with_their_partition() -> None:
    state = two_racks(3, 3)
    one = running(state, hard(2, partitionPolicy=parts(2, 2, hard(1))), "a0", "a1", "b0", "b1")
    assert follow(state, one, 1, 2) == ["a0", "a2", "b2", "b1"]
    for index in (0, 3):
        state.nodes[one.tasks[index].node or ""].barred = 0xFF
        state.release(one.tasks[index])
    found = refused(state, one, [one.tasks[0], one.tasks[3]])
    assert found.message.endswith("partition 0 of task worker runs in h0 (tier 1), which takes 0 of 1 lost pods")


def test_a_backup_pod_stays_with_the_partition_of_its_pod() -> None:
    state = two_racks(3, 3)
    one = running(state, hard(2, partitionPolicy=parts(2, 2, hard(1))), "a0", "a1", "b0", "b1")
    backup = replace(one.tasks[2], name="job-worker-2-backup", node=None, held=0, last_node="b0")
    assert nodes_of(state, one, [backup]) == "b2"
    state.nodes["b2"].barred = 0xFF
    assert "partition 1 of task worker runs in h1 (tier 1), which takes 0 of 1 lost pods" in refused(
        state, one, [backup]).message


def test_a_partition_that_is_lost_as_a_whole_goes_anywhere_in_the_job() -> None:
    state = two_racks(2, 5)
    one = running(state, hard(2, partitionPolicy=parts(2, 2, hard(1))), "a0", "a1", "b0", "b1")
    assert follow(state, one, 0, 1) == ["b2", "b3", "b0", "b1"]


def test_fewer_pods_for_a_gang_that_needs_not_all() -> None:
    """The user guide, 3.3.1: 8 pods, minAvailable 4, a HyperNode of tier 1 with 4 nodes: 4 pods run."""
    state = two_racks(2, 4)
    one = wanted(8, hard(1), least=4)
    assert "takes 4" in refused(state, one).message
    found = POLICY.fewer(request(state, one), 4)
    assert found is not None and list(found[0]) == one.tasks[:4] and found[1].nodes == ("b0", "b1", "b2", "b3")
    assert POLICY.fewer(request(state, one), 5) is None


@pytest.mark.parametrize(("least", "pods"), [(0, 2), (1, 2), (2, None), (3, None)])
def test_fewer_partitions(least: int, pods: int | None) -> None:
    one = wanted(6, hard(2, partitionPolicy=parts(3, 2, hard(1), least)))
    state = two_racks(1, 2)
    found = POLICY.fewer(request(state, one), 1)
    assert (None if found is None else len(found[0])) == pods
    assert HYPERNODE.validate(one, state) is None


def test_pods_that_come_later_join_the_job() -> None:
    state = eight(["n1", "n3"])
    one = wanted(3, hard(2))
    state.jobs[one.uid] = one
    state.assign(one.tasks[0], "n4", 0xFF)
    assert nodes_of(state, one, one.tasks[1:]) == "n5 n6"
