"""chip1-softShareDev: quotas of AI cores and memory on shared chips (seed 001; cluster.md section 4)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distsim.cluster import Node
from distsim.scheduler.chips import rule_of, sharing
from distsim.scheduler.chips.soft_share import slowdown
from distsim.scheduler.policies import policy
from distsim.scheduler.session.validate import invalid
from distsim.scheduler.state import Share, State, state_of
from distsim.scheduler.types import Job, Placement
from tests.sched_cases import cluster, job, node, request


def soft_job(name: str, aicore: int = 50, hbm: int = 2048, share: str = "fixed-share", pods: int = 1) -> Job:
    """A soft-share job; its pods hold a part of one chip each."""
    return job(pods, 1, name, schedule_policy="chip1-softShareDev", aicore_quota=aicore, hbm_quota_mb=hbm,
               share_policy=share)


def run(state: State, wanted: Job) -> list[tuple[str, int]] | None:
    """Place a job with binpack and share its chips: (node, chip) of each pod; None if it finds no place."""
    placed = policy("binpack").place(request(state, wanted))
    if not isinstance(placed, Placement):
        return None
    shared = sharing(rule_of(wanted))
    assert shared is not None
    for task, at, mask in zip(wanted.tasks, placed.nodes, placed.chips, strict=True):
        state.share(task, at, mask.bit_length() - 1, shared.share_of(wanted, task))
    return [(at, mask.bit_length() - 1) for at, mask in zip(placed.nodes, placed.chips, strict=True)]


def one_node(chips: int = 4, **labels: str) -> State:
    return state_of(cluster([node("n", chips, labels=labels)]))


def test_the_fullest_chip_that_fits() -> None:
    state = one_node()
    assert run(state, soft_job("a", 70)) == [("n", 0)]
    assert run(state, soft_job("b", 40)) == [("n", 1)]       # 70 + 40 > 100
    assert run(state, soft_job("c", 30)) == [("n", 0)]       # 70 + 30 = 100 is tighter than 40 + 30
    assert run(state, soft_job("d", 60)) == [("n", 1)]       # 40 + 60 = 100
    assert run(state, soft_job("e", 1)) == [("n", 2)]
    assert state.nodes["n"].used == 0b111


def test_memory_counts_too() -> None:
    state = one_node(2)                                      # 65,536 MB a chip by default
    assert run(state, soft_job("a", 10, 40_000)) == [("n", 0)]
    assert run(state, soft_job("b", 10, 25_537)) == [("n", 1)]        # 65,537 MB
    assert run(state, soft_job("c", 10, 25_536)) == [("n", 0)]        # 65,536 MB
    found = request(state, soft_job("d", 10, 40_000))
    assert found.refused == {"no idle chip, and none of 2 chips shared fixed-share has 10 % and 40000 MB left": ["n"]}


def test_one_policy_a_chip() -> None:
    state = one_node(2)
    assert run(state, soft_job("a", 10, share="elastic")) == [("n", 0)]
    assert run(state, soft_job("b", 10, share="best-effort")) == [("n", 1)]
    assert run(state, soft_job("c", 10, share="elastic")) == [("n", 0)]
    assert run(state, soft_job("d", 10, share="fixed-share")) is None


def test_several_pods_of_a_job_share_chips() -> None:
    # 5 pods of 40 %: two a chip on 3 chips; the quota is kept within one placement too.
    assert run(one_node(3), soft_job("a", 40, pods=5)) == [("n", 0), ("n", 0), ("n", 1), ("n", 1), ("n", 2)]
    assert run(one_node(3), soft_job("b", 40, pods=6)) == [("n", chip) for chip in (0, 0, 1, 1, 2, 2)]
    assert run(one_node(3), soft_job("c", 40, pods=7)) is None


def test_nodes_with_shared_chips_come_first() -> None:
    state = state_of(cluster([node("n0", 2), node("n1", 2)]))
    state.share(soft_job("x").tasks[0], "n1", 0, Share("x", 90, 1, "fixed-share"))
    assert run(state, soft_job("a", 20)) == [("n1", 1)]      # fits on no shared chip: rather the node that has some


def test_a_chip_with_whole_chip_tasks_is_not_shared_nor_a_shared_one_given_whole() -> None:
    state = one_node(2)
    whole = job(1, 1, "whole")
    state.assign(whole.tasks[0], "n", 0b01)
    assert run(state, soft_job("a", 10)) == [("n", 1)]
    assert request(state, job(1, 1, "other")).refused == {"0 of 2 chips free, 1 requested": ["n"]}


def test_isolated_chips_take_no_share() -> None:
    state = one_node(2)
    assert run(state, soft_job("a", 10)) == [("n", 0)]
    state.nodes["n"].barred = 0b01
    assert run(state, soft_job("b", 10)) == [("n", 1)]


def test_release_gives_the_quota_back() -> None:
    state = one_node(1)
    first, second = soft_job("a", 60), soft_job("b", 60)
    assert run(state, first) == [("n", 0)] and run(state, second) is None
    state.release(first.tasks[0])
    assert state.nodes["n"].used == 0 and run(state, second) == [("n", 0)]


@pytest.mark.parametrize(("labels", "annotations", "megabytes"), [
    ({"mind-cluster/npu-chip-memory": "32G"}, {}, 32768),
    ({"huawei.com/npu.chip.memory": "64G"}, {}, 65536),
    ({}, {"distsim/chip-memory-mb": "1000"}, 1000),
    ({"distsim/chip-memory-mb": "2000"}, {}, 2000),
    ({}, {}, 65536)])
def test_memory_of_a_chip(labels: dict[str, str], annotations: dict[str, str], megabytes: int) -> None:
    state = state_of(cluster([node("n", 1, labels, annotations)]))
    assert run(state, soft_job("a", 1, megabytes + 1)) is None
    assert request(state, soft_job("a", 1, megabytes + 1)).refused == {
        f"hbmQuota {megabytes + 1} MB is more than the {megabytes} MB of a chip": ["n"]}
    assert run(state, soft_job("b", 1, megabytes)) == [("n", 0)]


@pytest.mark.parametrize(("labels", "reason"), [
    ({"mind-cluster/npu-chip-memory": "much"}, "label mind-cluster/npu-chip-memory is 'much', valid is e.g. '64G'"),
    ({"distsim/chip-memory-mb": "64G"}, "distsim/chip-memory-mb is '64G', valid is a number of MB"),
    ({"huawei.com/scheduler.chip1softsharedev.enable": "false"},
     "label huawei.com/scheduler.chip1softsharedev.enable is 'false'")])
def test_nodes_that_take_no_shares(labels: dict[str, str], reason: str) -> None:
    assert request(state_of(cluster([node("n", 2, labels)])), soft_job("a")).refused == {reason: ["n"]}


@pytest.mark.parametrize(("fields", "text"), [
    ({"aicore_quota": 0}, "job a has huawei.com/scheduler.softShareDev.aicoreQuota 0; valid: 1 to 100"),
    ({"aicore_quota": 101}, "aicoreQuota 101; valid: 1 to 100 (percent of a chip)"),
    ({"hbm_quota_mb": 0}, "job a has huawei.com/scheduler.softShareDev.hbmQuota 0; valid: 1 to the MB of a chip"),
    ({"share_policy": "greedy"}, "softShareDev.policy 'greedy'; valid: fixed-share, elastic, best-effort"),
    ({"share_policy": None}, "job a has no huawei.com/scheduler.softShareDev.policy; chip1-softShareDev needs all"),
    ({"aicore_quota": None, "hbm_quota_mb": None}, "softShareDev.aicoreQuota, huawei.com/scheduler.softShareDev.hbm"),
])
def test_labels_out_of_range(fields: dict[str, object], text: str) -> None:
    given_settings = {"aicore_quota": 50, "hbm_quota_mb": 1, "share_policy": "elastic", **fields}
    asks = job(1, 1, "a", schedule_policy="chip1-softShareDev", **given_settings)
    found = rule_of(asks).validate(asks)
    assert found is not None and found.reason == "InvalidResourceRequest" and found.final and text in found.message


def test_more_memory_than_any_chip_has_fails_the_job() -> None:
    """hbmQuota is 1 to maxHBM (seed 001): waiting cannot help. 64G is 65536 MB, as is a node without a label."""
    state = state_of(cluster([node("n", 4, labels={"huawei.com/npu.chip.memory": "32G"}), node("m", 4, number=1)]))
    assert invalid(soft_job("fits", hbm=65536), state) is None
    found = invalid(soft_job("large", hbm=65537), state)
    assert found is not None and (found.reason, found.final) == ("InvalidResourceRequest", True)
    assert found.message == ("job large has huawei.com/scheduler.softShareDev.hbmQuota 65537; valid: 1 to 65536, the "
                             "MB of the largest chip")
    unknown = one_node(4, **{"huawei.com/npu.chip.memory": "much"})
    assert invalid(soft_job("large", hbm=65537), unknown) is None            # the node says what is wrong with it


def test_a_pod_of_several_chips() -> None:
    asks = job(1, 2, "a", schedule_policy="chip1-softShareDev", aicore_quota=50, hbm_quota_mb=1, share_policy="elastic")
    found = rule_of(asks).validate(asks)
    assert found is not None and "has pod a-worker-0 of 2 chips; a pod holds a part of one chip" in found.message
    assert rule_of(soft_job("b")).validate(soft_job("b")) is None


def test_slowdown_of_each_policy() -> None:
    def shares(name: str) -> list[Share]:
        return [Share("a", 20, 1, name), Share("b", 30, 1, name), Share("c", 10, 1, name)]

    assert slowdown(shares("fixed-share"), "a") == 5.0               # 20 % of a chip, whoever else is there
    # elastic: 40 % is claimed by none; in proportion to the quotas a has 20/60 of the chip, b half of it.
    assert slowdown(shares("elastic"), "a") == 3.0
    assert slowdown(shares("elastic"), "b") == 2.0
    assert slowdown(shares("elastic")[:1], "a") == 1.0
    assert slowdown(shares("best-effort"), "c") == 3.0
    with pytest.raises(ValueError, match="d holds no share of this chip; its tasks are a, b, c"):
        slowdown(shares("elastic"), "d")


def memory_nodes() -> list[Node]:
    return [node("n0", 3), node("n1", 2, {"mind-cluster/npu-chip-memory": "32G"})]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 100), st.integers(1, 65536), st.integers(1, 4),
                          st.sampled_from(["fixed-share", "elastic", "best-effort"]), st.booleans()), max_size=15))
def test_quotas_are_never_exceeded(jobs: list[tuple[int, int, int, str, bool]]) -> None:
    state = state_of(cluster(memory_nodes()))
    for number, (aicore, hbm, pods, share, then_leaves) in enumerate(jobs):
        wanted = soft_job(f"job{number}", aicore, hbm, share, pods)
        if run(state, wanted) and then_leaves:
            for task in wanted.tasks:
                state.release(task)
    for at, memory in zip(state.nodes.values(), (65536, 32768), strict=True):
        assert at.used == sum(1 << chip for chip in at.shares)
        for held in at.shares.values():
            assert sum(one.aicore for one in held) <= 100 and sum(one.hbm_mb for one in held) <= memory
            assert len({one.policy for one in held}) == 1
