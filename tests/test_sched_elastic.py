"""elastic-scheduling with distributed and minReplicas; ring-controller.atlas on nodes."""

from __future__ import annotations

import pytest
from sched_cases import CHIP, cluster, job, node, run_on, tor_state
from sched_files import job_of, volcano

from distsim.scheduler.atlas import atlas_allows
from distsim.scheduler.elastic import (
    Size,
    allowed_sizes,
    current_size,
    full_size,
    next_smaller,
    resize,
    why_not_elastic,
)
from distsim.scheduler.keys import parse_settings
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Task

ON = {"elastic": True, "fault_scheduling": "grace"}


def sizes(wanted) -> list[tuple[int, int]]:
    return [(size.replicas, size.chips) for size in allowed_sizes(wanted)]


def test_elastic_job_of_several_pods_is_halved():
    assert sizes(job(8, distributed=True, **ON)) == [(8, 8), (4, 8), (2, 8), (1, 8)]
    assert sizes(job(6, distributed=True, **ON)) == [(6, 8), (3, 8), (1, 8)]         # half of 3, down


def test_min_replicas_bounds_an_elastic_job():
    assert sizes(job(8, distributed=True, min_replicas=3, **ON)) == [(8, 8), (4, 8)]
    assert sizes(job(2, distributed=True, min_replicas=2, **ON)) == [(2, 8)]


@pytest.mark.parametrize(("chips", "smaller"), [(8, [4, 2, 1]), (16, [8, 4, 2, 1]), (6, [4, 2, 1]), (1, [])])
def test_elastic_job_of_one_pod_gives_up_chips(chips, smaller):
    assert sizes(job(1, chips, **ON)) == [(1, chips), *((1, fewer) for fewer in smaller)]


def test_distributed():
    """It says whether replicas or chips are given up; absent, it is written for an elastic job of several pods."""
    labels = {"elastic-scheduling": "on", "fault-scheduling": "grace"}
    assert parse_settings(labels, {}, pods=2).distributed
    assert not parse_settings(labels, {}, pods=1).distributed
    assert not parse_settings({}, {}, pods=2).distributed
    assert not parse_settings(labels, {"distributed": "false"}, pods=2).distributed
    assert sizes(job(2, distributed=False, **ON)) == [(2, 8)]
    assert sizes(job(1, distributed=True, **ON)) == [(1, 8)]


def test_distributed_is_written_when_the_job_is_read(tmp_path):
    metadata = "labels: {elastic-scheduling: 'on', fault-scheduling: grace}"
    assert job_of(tmp_path, volcano(metadata=metadata, replicas=2)).annotations == {"distributed": "true"}
    assert job_of(tmp_path, volcano(metadata=metadata, replicas=1)).annotations == {}


@pytest.mark.parametrize(("wanted", "why"), [
    (job(2), "elastic-scheduling is off"),
    (job(2, elastic=True, fault_scheduling="force"), "elastic-scheduling needs fault-scheduling grace, it is force"),
    (job(2, 0, **ON), "the job asks for no chips"),
    (job(2, **ON), None),
])
def test_why_a_job_keeps_its_size(wanted, why):
    assert why_not_elastic(wanted) == why
    if why:
        assert allowed_sizes(wanted) == (current_size(wanted),)


def test_other_keys_hold_for_the_smaller_size_too():
    assert sizes(job(8, distributed=True, affinity_levels=(2, 4), **ON)) == [(8, 8), (4, 8)]
    assert sizes(job(8, distributed=True, sp_block=16, **ON)) == [(8, 8), (4, 8), (2, 8)]
    assert sizes(job(1, sp_block=8, **ON)) == [(1, 8)]


def test_resize_and_back():
    wanted = job(4, distributed=True, **ON)
    wanted.tasks.append(Task(wanted.uid, "job-head-0", "head", 4, 0))
    wanted.min_available = 5
    assert next_smaller(wanted) == Size(2, 8)
    resize(wanted, Size(2, 8))
    assert [task.name for task in wanted.tasks] == ["job-worker-0", "job-worker-1", "job-head-0"]
    assert (wanted.min_available, current_size(wanted), full_size(wanted)) == (3, Size(2, 8), Size(4, 8))
    assert next_smaller(wanted) == Size(1, 8)
    assert sizes(wanted) == [(4, 8), (2, 8), (1, 8)]
    resize(wanted, Size(4, 8))
    assert (len(wanted.tasks), wanted.min_available, wanted.full) == (5, 5, None)


def test_resize_by_chips():
    wanted = job(1, 8, **ON)
    resize(wanted, Size(1, 2))
    assert (wanted.tasks[0].chips, wanted.tasks[0].request) == (2, {CHIP: 2})
    resize(wanted, full_size(wanted))
    assert (wanted.tasks[0].chips, wanted.tasks[0].request) == (8, {CHIP: 8})


def test_a_job_that_holds_nodes_is_not_resized():
    wanted = run_on(tor_state(), job(2, distributed=True, **ON), ["n0", "n1"])
    with pytest.raises(AssertionError, match="still holds nodes"):
        resize(wanted, Size(1, 8))
    with pytest.raises(AssertionError, match="may not run with"):
        resize(job(2), Size(1, 8))


A910, NPU = "huawei-Ascend910", "huawei-npu"


@pytest.mark.parametrize(("kind", "labels", "reason"), [
    ("ascend-910b", {"accelerator": A910, "accelerator-type": "module-910b-8"}, None),
    ("ascend-910b", {"accelerator": A910, "accelerator-type": "module-a3-16-super-pod"}, None),
    ("ascend-910b", {"accelerator": A910, "accelerator-type": "card-910b-2"}, None),
    ("ascend-910b", {}, None),
    ("ascend-910b", {"accelerator": A910, "accelerator-type": "module"},
     "accelerator-type is module, ring-controller.atlas ascend-910b needs one with 910b or a3 in its name"),
    ("ascend-910b", {"accelerator": NPU}, "accelerator is huawei-npu, ring-controller.atlas ascend-910b needs "
                                          "huawei-Ascend910"),
    ("ascend-910", {"accelerator": A910, "accelerator-type": "half"}, None),
    ("ascend-910", {"accelerator-type": "module-910b-8"},
     "accelerator-type is module-910b-8, ring-controller.atlas ascend-910 needs card, module, half"),
    ("ascend-npu", {"accelerator": NPU, "accelerator-type": "850-Atlas-8p-8"}, None),
    ("huawei.com/npu", {"accelerator": NPU}, None),
    ("huawei.com/npu", {"accelerator": A910},
     "accelerator is huawei-Ascend910, ring-controller.atlas huawei.com/npu needs huawei-npu"),
    ("ascend-310", {"accelerator": "huawei-Ascend310P"},
     "accelerator is huawei-Ascend310P, ring-controller.atlas ascend-310 needs huawei-Ascend310"),
    ("ascend-310P", {"accelerator": "huawei-Ascend310P"}, None),
])
def test_atlas_keeps_pods_off_nodes_of_another_chip(kind, labels, reason):
    at = state_of(cluster([node("n0", labels=labels)])).nodes["n0"]
    assert atlas_allows(job(1, atlas=kind), at) == reason


def test_atlas_says_nothing_of_other_jobs():
    at = state_of(cluster([node("n0", labels={"accelerator": NPU})])).nodes["n0"]
    assert atlas_allows(job(1), at) is None
    assert atlas_allows(job(1, 0, atlas="ascend-910b"), at) is None
    assert atlas_allows(job(1, atlas="ascend-910b", skip_ascend=True), at) is None
