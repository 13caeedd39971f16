"""Groups, job documents with their affinity, waves, and where pods start."""

from __future__ import annotations

import pytest
from workloadrun_clusters import A100, H100, RACK, node, nodes, plan_of, tainted

from distsim.errors import InputError
from distsim.workloadrun.discovery import eligible
from distsim.workloadrun.jobs import job_name, node_affinity, node_requirements
from distsim.workloadrun.placement import groups, ignored_topology_key
from distsim.workloadrun.schedule import place, waves

CLIQUE = "nvidia.com/gpu.clique"


def grouped(fleet, orchestration, num_nodes, gpus=8):
    return [(group.name, group.nodes) for group in groups(eligible(fleet, None, gpus), orchestration, num_nodes)]


def of(*numbers):
    return tuple(f"node{number:02d}" for number in numbers)


# ---- Pinned ----------------------------------------------------------------------------------------------------------
def test_twelve_nodes_by_two_are_six_groups():
    found = grouped(nodes(12), {}, 2)
    assert [name for name, _ in found] == [f"group-{at}" for at in range(6)]
    assert found[0][1] == of(0, 1) and found[5][1] == of(10, 11)


def test_a_remainder_borrows_from_the_end_of_the_last_full_group():
    found = groups(eligible(nodes(10), None, 8), {"placement": "Pinned"}, 4)
    assert [(group.name, group.nodes, group.overflow_of) for group in found] == [
        ("group-0", of(0, 1, 2, 3), None), ("group-1", of(4, 5, 6, 7), None),
        ("group-2-overflow", of(6, 7, 8, 9), "group-1")]


def test_a_remainder_of_all_but_one():
    assert grouped(nodes(7), None, 4)[1:] == [("group-1-overflow", of(3, 4, 5, 6))]


def test_intra_node_is_one_job_a_node_whatever_numNodes_says():
    assert grouped(nodes(3), {"testScale": "intra-node"}, 1) == [(f"group-{at}", of(at)) for at in range(3)]
    assert grouped(nodes(3), {"testScale": "intra-node"}, 9) == [(f"group-{at}", of(at)) for at in range(3)]


def test_full_scale_changes_nothing():
    assert grouped(nodes(4), {"testScale": "full-scale"}, 2) == grouped(nodes(4), {}, 2)


def test_intra_rack_is_a_group_per_domain_larger_ones_first():
    fleet = [node("a", **{RACK: "r2"}), node("b", **{RACK: "r1"}), node("c", **{RACK: "r3"}), node("d", **{RACK: "r3"})]
    found = groups(eligible(fleet, None, 8), {"topology": {"topologyKey": RACK, "strictDomain": True}}, 2)
    assert [(group.name, group.nodes, group.domains) for group in found] == [
        ("group-0", ("c", "d"), ("r3",)), ("group-1", ("b",), ("r1",)), ("group-2", ("a",), ("r2",))]


def test_a_node_without_the_topology_label():
    with pytest.raises(InputError, match=f'node "b" missing topology label "{CLIQUE}"'):
        grouped([node("a", **{CLIQUE: "x"}), node("b")], {"testScale": "intra-rack"}, 1)


def test_a_topology_key_alone_packs_groups_into_few_domains():
    fleet = [node(f"{rack}{at}", **{RACK: rack}) for rack in "ab" for at in range(3)]
    found = groups(eligible(fleet, None, 8), {"topology": {"topologyKey": RACK}}, 2)
    assert [(group.name, group.nodes, group.domains, group.overflow_of) for group in found] == [
        ("group-0", ("a0", "a1"), ("a",), None), ("group-1", ("b0", "b1"), ("b",), None),
        ("group-2-overflow", ("a0", "a2"), ("a",), "group-0"),         # the untested first, then one that has a group
        ("group-3-overflow", ("b0", "b2"), ("b",), "group-1")]


def test_a_group_of_more_than_a_domain_takes_as_few_as_it_can():
    fleet = [node(f"{rack}{at}", **{RACK: rack}) for rack in "abcd" for at in range(2)]
    found = groups(eligible(fleet, None, 8), {"topology": {"topologyKey": RACK}}, 4)
    assert [(group.nodes, group.domains) for group in found] == [
        (("a0", "a1", "b0", "b1"), ("a", "b")), (("c0", "c1", "d0", "d1"), ("c", "d"))]


@pytest.mark.parametrize("placement", ["Pinned", "Unpinned"])
def test_more_nodes_than_there_are(placement):
    with pytest.raises(InputError, match=r"^spec\.numNodes: Not enough schedulable nodes: need 4, found 2$"):
        grouped(nodes(2), {"placement": placement}, 4)


# ---- Unpinned --------------------------------------------------------------------------------------------------------
def test_unpinned_is_one_group_without_nodes():
    assert grouped(nodes(12), {"placement": "Unpinned", "testScale": "full-scale"}, 4) == [("group-0", ())]


@pytest.mark.parametrize(("settings", "text"), [
    ({"diagnose": {"minGroupSize": 2}},
     "orchestration.placement: Unpinned is incompatible with orchestration.diagnose: diagnose isolates faults by "
     "partitioning nodes into groups and bisecting the failures, which requires the node pinning Unpinned removes; "
     "drop one of the two"),
    ({"topology": {"topologyKey": RACK, "strictDomain": True}},
     "orchestration.placement: Unpinned is incompatible with orchestration.topology.strictDomain: strictDomain runs "
     "one job per topology domain, Unpinned runs exactly one job; to confine a single unpinned job to one domain, name "
     "the domain label in target.matchExpressions instead"),
])
def test_what_contradicts_unpinned(settings, text):
    with pytest.raises(InputError) as found:
        grouped(nodes(2), {"placement": "Unpinned", **settings}, 2)
    assert text in str(found.value)


def test_a_topology_key_is_ignored_under_unpinned():
    settings = {"placement": "Unpinned", "topology": {"topologyKey": RACK}}
    assert grouped(nodes(2), settings, 2) == [("group-0", ())]
    assert ignored_topology_key(settings) == RACK and ignored_topology_key({"topology": {"topologyKey": RACK}}) == ""


# ---- documents -------------------------------------------------------------------------------------------------------
def pods(document):
    patches = document["spec"]["workload"]["trainJob"]["runtimePatches"]
    return {one["name"]: one["template"]["spec"]["template"]["spec"] for patch in patches
            for one in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]}


def expressions(pod):
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert len(terms) == 1
    return terms[0]["matchExpressions"]


TARGET = [{"key": "nvidia.com/gpu.present", "operator": "In", "values": ["true"]},
          {"key": "nvidia.com/gpu.product", "operator": "In", "values": [H100]}]


def test_pinned_jobs_carry_hostnames_and_target_on_every_pod(tmp_path):
    jobs = plan_of(tmp_path, {"count": 4}).jobs()
    assert [job.name for job in jobs] == ["run-group-0-iter-1", "run-group-1-iter-1"]
    found = pods(jobs[1].document)
    assert list(found) == ["node", "launcher"]
    for pod in found.values():
        assert expressions(pod) == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node02", "node03"]},
                                    *TARGET]
        assert pod["tolerations"] == [{"operator": "Exists"}]
    metadata = jobs[1].document["metadata"]
    assert metadata["labels"]["nvcre.nvidia.com/group"] == "group-1"
    assert metadata["annotations"] == {"nvcre.nvidia.com/group-nodes": "node02,node03"}


def test_unpinned_jobs_carry_the_target_only(tmp_path):
    job = plan_of(tmp_path, {"count": 4}, orchestration={"placement": "Unpinned"}, numNodes=3).jobs()[0]
    assert (job.name, job.num_nodes) == ("run-job", 3)
    for pod in pods(job.document).values():
        assert expressions(pod) == TARGET
        assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"},
                                      {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64"}]
    assert job.document["spec"]["workload"]["trainJob"]["trainer"]["numNodes"] == 3
    assert "annotations" not in job.document["metadata"]


def test_unpinned_with_node_names_keeps_them_as_hostnames(tmp_path):
    target = {"nodeNames": ["node01", "node02"], "nodeSelector": {"ignored": "yes"}}
    job = plan_of(tmp_path, {"count": 4}, orchestration={"placement": "Unpinned"}, target=target).jobs()[0]
    assert expressions(pods(job.document)["node"]) == [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node01", "node02"]}, TARGET[1]]


def test_a_job_without_a_launcher_tolerates_what_the_target_selects(tmp_path):
    taint = {"key": "pool", "value": "gpu", "effect": "NoSchedule"}
    pool = [{"name": "p", "count": 2, "chips": {"count": 2}, "nics": {"count": 2}, "taints": [taint]}]
    plan = plan_of(tmp_path, {"pools": pool}, framework={"torch": {"script": "train.py"}},
                   target={"taintSelectors": [{"key": "pool", "value": "gpu"}, {"key": "pool"}]})
    assert pods(plan.jobs()[0].document)["node"]["tolerations"] == [
        {"key": "pool", "operator": "Equal", "value": "gpu"}, {"key": "pool", "operator": "Exists"}]
    plain = plan_of(tmp_path, {"pools": pool}, framework={"torch": {"script": "train.py"}})
    assert "tolerations" not in pods(plain.jobs()[0].document)["node"]


def test_an_overflow_job_and_thresholds_in_the_documents(tmp_path):
    plan = plan_of(tmp_path, {"count": 5}, thresholds={"busBandwidthGBps": "value > 1"}, numNodes=3)
    jobs = plan.jobs()
    assert [job.group.nodes for job in jobs] == [of(0, 1, 2), of(2, 3, 4)]
    assert jobs[0].document["spec"]["thresholds"] == {"busBandwidthGBps": "value > 1"}


def test_an_expression_of_the_target_that_says_the_same_stands_once():
    same = {"key": "nvidia.com/gpu.product", "operator": "In", "values": [H100]}
    broad = {"key": "nvidia.com/gpu.product", "operator": "In", "values": [H100, A100]}
    assert node_requirements({"nodeSelector": {"nvidia.com/gpu.product": H100}}, [H100]) == [same]
    assert node_requirements({"matchExpressions": [broad]}, [H100]) == [broad, same]
    assert node_affinity([], {}, []) is None


def test_names_of_jobs():
    assert job_name("w", "group-0", 1, groups=1, iterations=1) == "w-job"
    assert job_name("w", "group-0", 2, groups=1, iterations=2) == "w-group-0-iter-2"
    assert job_name("w", "screen-0", 1, groups=1, iterations=1, diagnose=True) == "w-screen-0-iter-1"
    long = [job_name("w" * 60, f"group-{at}", 1, groups=2, iterations=1) for at in range(2)]
    assert len(long[0]) == len(long[1]) == 63 and long[0] != long[1]


# ---- waves and the scheduler -----------------------------------------------------------------------------------------
def test_all_jobs_at_once_but_those_that_share_a_node(tmp_path):
    jobs = plan_of(tmp_path, {"count": 5}).jobs()                      # {0,1} {2,3} {3,4}: the overflow group waits
    assert [[job.group.name for job in wave] for wave in waves(jobs)] == [["group-0", "group-1"], ["group-2-overflow"]]
    assert [len(wave) for wave in waves(jobs, 1)] == [1, 1, 1]
    six = plan_of(tmp_path, {"count": 12}).jobs()
    assert [len(wave) for wave in waves(six, 4)] == [4, 2]
    assert [len(wave) for wave in waves(six, 0)] == [6]


def unpinned(folder, **spec):
    return plan_of(folder, {"count": 5}, orchestration={"placement": "Unpinned"}, **{"numNodes": 3, **spec})


def test_pods_start_on_free_nodes_in_order_of_name(tmp_path):
    plan = unpinned(tmp_path)
    found = place(plan.jobs()[0], plan.cluster.nodes, 2, ["node01"])
    assert (found.nodes, found.complete) == (of(0, 2, 3), True)


def test_without_a_gang_some_pods_start_and_the_rest_wait(tmp_path):
    plan = unpinned(tmp_path)
    found = place(plan.jobs()[0], plan.cluster.nodes, 2, of(0, 1, 2))
    assert (found.nodes, found.complete) == (of(3, 4), False)


def test_a_gang_starts_whole_or_not_at_all(tmp_path):
    plan = unpinned(tmp_path, gangScheduler={"schedulerName": "kai-scheduler"})
    assert place(plan.jobs()[0], plan.cluster.nodes, 2, of(0, 1, 2)).nodes == ()
    assert place(plan.jobs()[0], plan.cluster.nodes, 2, of(0, 1)).nodes == of(2, 3, 4)


def test_pods_keep_off_tainted_cordoned_small_and_foreign_nodes(tmp_path):
    job = unpinned(tmp_path, framework={"torch": {"script": "x"}}).jobs()[0]
    fleet = [tainted(node("a", gpus=2), "pool"), node("b", gpus=1), node("c", gpus=2, product=A100),
             tainted(node("d", gpus=2), "soft", effect="PreferNoSchedule"), node("e", gpus=2)]
    assert place(job, fleet, 2).nodes == ("d", "e")


def test_a_launcher_tolerates_the_taints_of_gpu_nodes(tmp_path):
    job = unpinned(tmp_path).jobs()[0]
    fleet = [tainted(node("a", gpus=2), "nvidia.com/gpu", "present"), tainted(node("b", gpus=2), "nvidia.com/gpu", "x")]
    assert place(job, fleet, 2).nodes == ("a",)
