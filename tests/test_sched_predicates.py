"""Which nodes a pod may stand on: selectors, affinity, taints, health, resources, anti-affinity; and their scores."""

from __future__ import annotations

import dataclasses

import pytest
from sched_cases import CHIP, node
from sched_session_cases import chip_job, cpu_job, lab, settings

from distsim.cluster import Taint
from distsim.scheduler.predicates import fixed_reason, term_holds, tolerates, usable
from distsim.scheduler.scores import dislike, plain_name, score
from distsim.scheduler.types import Task

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(**fields):
    return Task("default/job", "job-0", "worker", 0, 8, {CHIP: 8}, **fields)


def requirement(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def names(state, job, **fields):
    """Names of the usable nodes, and the reasons for the others."""
    task = dataclasses.replace(job.tasks[0], **fields)
    found, refused = usable(state, job, task)
    return [one.name for one in found], refused


def test_node_selector():
    one = node("n0", labels={"zone": "a"})
    assert fixed_reason(one, pod(node_selector={"zone": "a"})) is None
    assert fixed_reason(one, pod(node_selector={"zone": "b"})) == "nodeSelector zone=b, the node has zone=a"
    assert fixed_reason(one, pod(node_selector={"rack": "b"})) == "nodeSelector rack=b, the node has no such label"


@pytest.mark.parametrize("expression, holds", [
    (requirement("zone", "In", "a", "b"), True),
    (requirement("zone", "In", "c"), False),
    (requirement("zone", "NotIn", "c"), True),
    (requirement("other", "NotIn", "c"), True),           # Kubernetes: a missing label is not in
    (requirement("zone", "Exists"), True),
    (requirement("other", "Exists"), False),
    (requirement("other", "DoesNotExist"), True),
    (requirement("size", "Gt", "7"), True),
    (requirement("size", "Gt", "8"), False),
    (requirement("size", "Lt", "9"), True),
    (requirement("zone", "Gt", "7"), False),              # no number
    (requirement("other", "Lt", "7"), False),
    (requirement("size", "Is", "8"), False),
])
def test_expressions_of_node_affinity(expression, holds):
    one = node("n0", labels={"zone": "a", "size": "8"})
    assert term_holds(one, {"matchExpressions": [expression]}) is holds


def test_terms_are_alternatives_and_their_conditions_all_hold():
    one = node("n0", labels={"zone": "a", "size": "8"})
    right, wrong = requirement("zone", "In", "a"), requirement("size", "In", "9")

    def reason(*terms):
        return fixed_reason(one, pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}))

    assert reason({"matchExpressions": [right]}) is None
    assert reason({"matchExpressions": [right, wrong]}) == "required node affinity: (zone In a and size In 9)"
    assert reason({"matchExpressions": [wrong]}, {"matchExpressions": [right]}) is None
    assert reason({}) == "required node affinity: ()"
    assert reason() == "required node affinity: no term"
    assert reason({"matchFields": [requirement("metadata.name", "In", "n0")]}) is None
    assert reason({"matchFields": [requirement("metadata.name", "In", "n1")]}) == (
        "required node affinity: (metadata.name In n1)")
    assert fixed_reason(one, pod(affinity={"nodeAffinity": {PREFERRED: []}})) is None
    assert fixed_reason(one, pod(affinity={"podAffinity": {}})) is None


@pytest.mark.parametrize("toleration, tolerated", [
    ({"key": "gpu", "operator": "Equal", "value": "x", "effect": "NoSchedule"}, True),
    ({"key": "gpu", "value": "x"}, True),                 # Equal by default, all effects
    ({"key": "gpu", "value": "y"}, False),
    ({"key": "gpu", "operator": "Exists"}, True),
    ({"operator": "Exists"}, True),
    ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "other", "operator": "Exists"}, False),
])
def test_tolerations(toleration, tolerated):
    assert tolerates([toleration], Taint("gpu", "x", "NoSchedule")) is tolerated


def test_taints_and_cordons():
    def reason(*taints, cordoned=False, **fields):
        return fixed_reason(dataclasses.replace(node("n0"), taints=taints, cordoned=cordoned), pod(**fields))

    assert reason(Taint("gpu", "x", "NoSchedule")) == "taint gpu=x:NoSchedule is not tolerated"
    assert reason(Taint("gpu", "", "NoExecute")) == "taint gpu=:NoExecute is not tolerated"
    assert reason(Taint("gpu", "", "PreferNoSchedule")) is None
    assert reason(Taint("gpu", "x", "NoSchedule"), tolerations=({"operator": "Exists"},)) is None
    assert reason(cordoned=True) == "cordoned"
    for_cordons = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert reason(cordoned=True, tolerations=(for_cordons,)) is None


def test_health_and_sub_health():
    state = lab(4)
    state.nodes["n0"].healthy = False
    state.nodes["n1"].enabled = False
    state.nodes["n2"].sub_healthy = True
    job = chip_job(1)
    assert names(state, job) == (["n2", "n3"], {"NodeHealthState is not healthy": ["n0"],
                                                "NodeDEnable is false": ["n1"]})
    for strategy in ("graceExit", "forceExit", "hotSwitch"):
        job = chip_job(1, sub_healthy=strategy)
        found, refused = names(state, job)
        assert found == ["n3"]
        assert refused[f"sub-healthy, which subHealthyStrategy {strategy} shuns"] == ["n2"]


def test_resources_are_in_milli_cpus_and_bytes():
    # A cluster file says 192 cpus; a pod asks for milli-cpus.
    state = lab(2, resources={CHIP: 8, "cpu": 192, "memory": 2**40})
    assert state.nodes["n0"].free == {CHIP: 8, "cpu": 192_000, "memory": 2**40}
    job = chip_job(1)
    assert names(state, job, request={CHIP: 8, "cpu": 192_000})[0] == ["n0", "n1"]
    assert names(state, job, request={CHIP: 8, "cpu": 192_001}) == (
        [], {"cpu: 192000 free, 192001 requested": ["n0", "n1"]})
    state.nodes["n0"].free["memory"] = 5
    assert names(state, job, request={"memory": 6}) == (["n1"], {"memory: 5 free, 6 requested": ["n0"]})


def test_resources_that_no_node_speaks_of():
    # cpu and memory are then unlimited; a device that is not there is not.
    state = lab(1, resources={CHIP: 8})
    job = chip_job(1)
    assert names(state, job, request={CHIP: 8, "cpu": 10**9, "memory": 2**60})[0] == ["n0"]
    assert names(state, job, request={"rdma/ib": 1}) == ([], {"has no rdma/ib": ["n0"]})


def test_chips_of_another_kind():
    state = lab(1)
    job = chip_job(1)
    job.resource = "nvidia.com/gpu"
    for chosen in (settings(), settings(without=["predicates"])):
        state.settings = chosen
        assert names(state, job, request={"nvidia.com/gpu": 8}) == ([], {"has no nvidia.com/gpu": ["n0"]})


def test_two_pods_of_a_spread_job_do_not_share_a_host():
    state = lab(2)
    job = chip_job(2, 2)
    state.assign(job.tasks[0], "n0", 0b11)
    assert names(state, job)[0] == ["n0", "n1"]
    assert names(state, job, spread=True) == (
        ["n1"], {"holds a pod of the job already (required podAntiAffinity)": ["n0"]})


def test_without_the_plugin_nothing_is_checked_but_the_kind_of_chips():
    state = lab(1, chosen=settings(without=["predicates"]), cordoned=True)
    state.nodes["n0"].healthy = False
    job = chip_job(1)
    assert names(state, job, node_selector={"zone": "b"}, request={CHIP: 8, "cpu": 10**9})[0] == ["n0"]


def test_atlas_and_sub_health_belong_to_the_plugin_of_mind_cluster():
    state = lab(1, labels={"accelerator": "huawei-Ascend310P"})
    state.nodes["n0"].sub_healthy = True
    atlas, shy = chip_job(1, atlas="ascend-910"), chip_job(1, sub_healthy="forceExit")
    assert names(state, atlas) == ([], {"accelerator is huawei-Ascend310P, ring-controller.atlas ascend-910 needs "
                                        "huawei-Ascend910": ["n0"]})
    assert names(state, shy)[0] == []
    state.settings = settings(without=["volcano-npu"])
    assert names(state, atlas)[0] == names(state, shy)[0] == ["n0"]


def test_which_plain_policy_the_weights_choose():
    assert plain_name(settings()) == "binpack"                                          # 1 - 1, binpack is on
    assert plain_name(settings(without=["binpack"])) == "spread"                        # 0 - 1
    assert plain_name(settings(without=["binpack", "nodeorder"])) == "spread"
    assert plain_name(settings(without=["nodeorder"])) == "binpack"
    assert plain_name(settings(plugins={"binpack": {"binpack.weight": 10}})) == "binpack"
    assert plain_name(settings(plugins={"nodeorder": {"leastrequested.weight": "2"}})) == "spread"
    assert plain_name(settings(["binpack"], {"nodeorder": {"mostrequested.weight": 2}})) == "binpack"


def test_dislike_weighs_taints_and_preferences():
    state = lab(1, taints=(Taint("a", "", "PreferNoSchedule"), Taint("b", "", "PreferNoSchedule")))
    at = state.nodes["n0"]
    assert dislike(at, pod(), settings()) == 600                                        # 2 x 100 x weight 3
    assert dislike(at, pod(tolerations=({"key": "a", "operator": "Exists"},)), settings()) == 300
    likes = {"nodeAffinity": {PREFERRED: [
        {"weight": 40, "preference": {"matchExpressions": [requirement("kubernetes.io/hostname", "Exists")]}},
        {"weight": 50, "preference": {"matchExpressions": [requirement("zone", "Exists")]}}]}}
    assert dislike(at, pod(affinity=likes), settings()) == 520                          # less 40 x weight 2
    assert dislike(at, pod(affinity=likes), settings(without=["nodeorder"])) == 0


def test_scores_of_pods_without_chips():
    # 96 of 192 cpus in use with the pod, memory: 25 of 100.
    state = lab(1, resources={CHIP: 8, "cpu": 192, "memory": 100, "rdma/ib": 4})
    at = state.nodes["n0"]
    at.free |= {"cpu": 100_000, "memory": 80, "rdma/ib": 2}
    task = cpu_job(1, 4000).tasks[0]
    task.request["memory"] = 5
    only = settings(without=["binpack"])
    assert score(at, task, only) == 100 - (50 + 25) // 2                                # leastrequested, weight 1
    packing = settings(without=["nodeorder"])
    assert score(at, task, packing) == (50 + 25) // 2
    weights = settings(["nodeorder"], {"binpack": {"binpack.weight": 2, "binpack.cpu": 3}})
    assert score(at, task, weights) == 2 * (3 * 50 + 25) // 4
    rdma = settings(["nodeorder"], {"binpack": {"binpack.resources": "rdma/ib", "binpack.resources.rdma/ib": 2}})
    assert score(at, task, rdma) == (50 + 25) // 2                                      # it asks for none
    task.request["rdma/ib"] = 1
    assert score(at, task, rdma) == (50 + 25 + 2 * 75) // 4                             # 3 of 4 in use with it
    del task.request["rdma/ib"]
    assert score(at, task, settings()) == 100 - 37 + 37


def test_a_node_that_does_not_say_what_it_has_scores_nothing():
    at = lab(1, resources={CHIP: 8}).nodes["n0"]
    assert score(at, cpu_job(1).tasks[0], settings()) == 0
