"""Each shipped policy from its job files to the ranks that `distsim schedule` prints. Figures worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from schedule_cli_cases import SUPERPODS, address, job_text, report, schedule, tor_json, write

from distsim.scheduler.policies import POLICIES

SHARE = "huawei.com/scheduler.softShareDev."


def conf(arguments: str) -> str:
    """A volcano-scheduler.conf with these init-params, in flow style."""
    return ('actions: "enqueue, allocate, backfill"\ntiers:\n'
            "  - plugins: [{name: priority}, {name: gang}, {name: conformance}, "
            "{name: volcano-npu_v7.0.RC1_linux-aarch64}]\n"
            "  - plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}, {name: binpack}]\n"
            f"configurations: [{{name: init-params, arguments: {{{arguments}}}}}]\n")


def levels(reserved: int) -> str:
    """A configuration of two levels, rack and SuperPoD."""
    tree = {"default": {"level1": {"label": "huawei.com/topotree.rackid", "reservedNode": reserved},
                        "level2": {"label": "huawei.com/topotree.superpodid"}}}
    return conf(f"resource-level-config: '{json.dumps(tree)}'")


def superpod(pairs: list[tuple[int, int]]) -> list[str]:
    """Names of nodes of configs/superpods.yaml."""
    return [f"sp{pod}-{node}" for pod, node in pairs]


# ---- tor-affinity: the worked examples of cluster.md section 2 (M = 4, T0..T3) ---------------------------------------
@pytest.mark.parametrize(("busy", "labels", "pods", "ranks"), [
    ([0], "large-model-schema", 3, [1, 2, 3]),
    ([0, 1, 2], "large-model-schema", 6, [4, 5, 6, 7, 8, 9]),
    ([0, 5, 10, 15], "large-model-schema", 12, [4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11]),
    ([0, 4, 8, 12], "large-model-schema", 4, None),
    ([0, 4, 8, 12], "large-model-schema", 8, None),
    ([0, 4, 8, 12], "normal-schema", 8, [1, 2, 3, 5, 6, 7, 9, 10]),
])
def test_tor_affinity(capsys: pytest.CaptureFixture[str], tmp_path: Path, busy: list[int], labels: str, pods: int,
                      ranks: list[int] | None) -> None:
    paths = write(tmp_path, tors=tor_json(), job=job_text(pods=pods, labels=f"tor-affinity: {labels}"))
    (job,) = report(capsys, paths["job"], "--cluster", paths["tors"], "--busy", ",".join(address(busy)))["jobs"]
    assert job["policy"] == "tor-affinity" and job["ranks"] == (address(ranks) if ranks else None)
    assert (job["state"], bool(job["reason"])) == (("scheduled", False) if ranks else ("pending", True))


def test_tor_affinity_version_two(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """cluster.md: four empty switches, shared-tor-num 2. 6 nodes: one whole switch and two of another; 6 more: another
    whole one and the last two of the shared one; 5 more: pending."""
    jobs = [job_text(name, pods, labels="tor-affinity: large-model-schema")
            for name, pods in (("a", 6), ("b", 6), ("c", 5))]
    paths = write(tmp_path, tors=tor_json(), conf=conf("nslb-version: '2.0', shared-tor-num: '2'"),
                  jobs="---\n".join(jobs))
    first, second, third = report(capsys, paths["jobs"], "--cluster", paths["tors"], "--conf", paths["conf"])["jobs"]
    assert first["ranks"] == address([0, 1, 2, 3, 4, 5])
    assert second["ranks"] == address([8, 9, 10, 11, 6, 7])
    assert third["state"] == "pending" and third["ranks"] is None


# ---- multilevel: cluster.md section 3, spine A is SuperPoD 0 (rack-0 0-3, rack-1 4-7), spine B SuperPoD 1 ------------
@pytest.mark.parametrize(("reserved", "busy", "pods", "ranks"), [
    (0, "", 8, [(0, node) for node in range(8)]),
    (1, "", 8, [(0, 1), (0, 2), (0, 5), (0, 6), (1, 1), (1, 2), (1, 5), (1, 6)]),
    (0, "sp0-0", 4, [(0, 4), (0, 5), (0, 6), (0, 7)]),
    (0, "sp0-0,sp0-4,sp0-5,sp1-0,sp1-1,sp1-4,sp1-5", 4, [(1, 2), (1, 3), (1, 6), (1, 7)]),
])
def test_multilevel(capsys: pytest.CaptureFixture[str], tmp_path: Path, reserved: int, busy: str, pods: int,
                    ranks: list[tuple[int, int]]) -> None:
    asked = 'huawei.com/schedule_policy: multilevel, huawei.com/affinity-config: "level1=2,level2=4"'
    paths = write(tmp_path, conf=levels(reserved), job=job_text(pods=pods, chips=16, annotations=asked))
    arguments = [paths["job"], "--cluster", SUPERPODS, "--conf", paths["conf"], "--explain"]
    (job,) = report(capsys, *arguments, *(["--busy", busy] if busy else []))["jobs"]
    assert (job["policy"], job["ranks"]) == ("multilevel", superpod(ranks))
    assert job["notes"]["groups"] == [superpod(ranks[at:at + 2]) for at in range(0, pods, 2)]
    assert "fragment" in job["notes"]


def test_multilevel_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = 'huawei.com/schedule_policy: multilevel, huawei.com/affinity-config: "level1=2,level2=4"'
    paths = write(tmp_path, conf=levels(0), job=job_text(pods=6, chips=16, annotations=asked))
    code, out, _ = schedule(capsys, paths["job"], "--cluster", SUPERPODS, "--conf", paths["conf"])
    assert code == 3 and "default/job: failed: JobValidateFailed: InvalidArgument: " in out and "level2" in out


# ---- super-pod: two SuperPoDs of 8 nodes, blocks of b = 4 nodes, k = 2 blocks ----------------------------------------
@pytest.mark.parametrize(("reserve", "ranks"), [
    (2, [(0, node) for node in range(4)] + [(1, node) for node in range(4)]),     # (8 - 2) / 4: one block each
    (0, [(0, node) for node in range(8)]),                                         # 8 / 4: both blocks of the first
])
def test_super_pod(capsys: pytest.CaptureFixture[str], tmp_path: Path, reserve: int,
                   ranks: list[tuple[int, int]]) -> None:
    asked = "huawei.com/schedule_policy: chip2-node16-sp, sp-block: '64'"
    paths = write(tmp_path, conf=conf(f"reserve-nodes: '{reserve}'"), job=job_text(pods=8, chips=16, annotations=asked))
    (job,) = report(capsys, paths["job"], "--cluster", SUPERPODS, "--conf", paths["conf"], "--explain")["jobs"]
    assert (job["policy"], job["ranks"]) == ("super-pod", superpod(ranks))
    assert job["notes"]["blocks"] == [superpod(ranks[:4]), superpod(ranks[4:])]


# ---- soft share: quotas of a chip add up to 100, the fullest chip that fits ------------------------------------------
def test_soft_share(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """50 opens chip 0; 30 fits beside it; 40 does not (120) and opens chip 1; 20 goes to the fullest: chip 0."""
    def sharing(name: str, quota: int) -> str:
        labels = f"{SHARE}aicoreQuota: '{quota}', {SHARE}hbmQuota: '4096', {SHARE}policy: elastic"
        return job_text(name, 1, quota, labels, "huawei.com/schedule_policy: chip1-softShareDev")

    paths = write(tmp_path, tors=tor_json(1, 2), jobs="---\n".join(
        sharing(name, quota) for name, quota in (("a", 50), ("b", 30), ("c", 40), ("d", 20))))
    arguments = [paths["jobs"], "--cluster", paths["tors"], "--explain"]
    jobs = report(capsys, *arguments)["jobs"]
    assert [(job["ranks"], job["chips"]) for job in jobs] == [
        (["10.0.0.0"], [[chip]]) for chip in (0, 0, 1, 0)]
    assert [job["shares"][0]["aicoreQuota"] for job in jobs] == [50, 30, 40, 20]
    lines = [line.split(maxsplit=1) for line in schedule(capsys, *arguments)[1].splitlines()]
    assert ["share", "b-worker-0: chip 0 of 10.0.0.0, 30 % of its AI cores, 4096 MB, elastic"] in lines


# ---- hypernode: tiers 1 (racks of two) and 2 (two racks), and the whole cluster --------------------------------------
HYPERNODES = "---\n".join(
    f"apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\nspec:\n  tier: {tier}\n"
    f"  members:\n" + "".join(
        f"    - {{type: {kind}, selector: {{exactMatch: {{name: {member}}}}}}}\n" for member in members)
    for name, tier, kind, members in (
        ("r0", 1, "Node", ["n0", "n1"]), ("r1", 1, "Node", ["n2", "n3"]), ("r2", 1, "Node", ["n4", "n5"]),
        ("r3", 1, "Node", ["n6", "n7"]), ("s0", 2, "HyperNode", ["r0", "r1"]), ("s1", 2, "HyperNode", ["r2", "r3"])))


@pytest.mark.parametrize(("pods", "tier", "busy", "ranks"), [
    (2, 1, "n0", ["n2", "n3"]),                    # r0 has one node left
    (4, 2, "n0", ["n4", "n5", "n6", "n7"]),        # s0 has three nodes left
    (3, 1, "n0", None),                            # no rack has three
])
def test_hypernode(capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: int, tier: int, busy: str,
                   ranks: list[str] | None) -> None:
    text = job_text(pods=pods, spec=f"  networkTopology: {{mode: hard, highestTierAllowed: {tier}}}\n")
    paths = write(tmp_path, nodes=HYPERNODES, job=text.replace("huawei.com/Ascend910", "nvidia.com/gpu"))
    (job,) = report(capsys, paths["job"], "--cluster", paths["nodes"], "--busy", busy, "--explain")["jobs"]
    assert (job["policy"], job["ranks"]) == ("hypernode", ranks)
    if ranks is None:
        assert job["state"] == "pending" and job["reason"]
    else:
        # Ring of two in a rack: both edges stay; of four in a pod: two leave their leaf and no edge passes a spine.
        assert [job["crossings"][key] for key in ("inRack", "crossLeaf", "crossSpine")] == (
            [2, 0, 0] if pods == 2 else [2, 2, 0])


# ---- plain policies --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("policy", "ranks"), [("binpack", [0, 0]), ("spread", [0, 1])])
def test_binpack_and_spread(capsys: pytest.CaptureFixture[str], tmp_path: Path, policy: str, ranks: list[int]) -> None:
    """Two jobs of half a node: binpack fills the node that is used already, spread takes an empty one."""
    paths = write(tmp_path, tors=tor_json(), jobs="---\n".join(job_text(name, 1, 4) for name in ("a", "b")))
    found = report(capsys, paths["jobs"], "--cluster", paths["tors"], "--policy", policy)
    assert [job["ranks"][0] for job in found["jobs"]] == address(ranks)
    # 128 chips, 8 used. Free on partly used nodes: none of 120, or 4 and 4.
    assert found["cluster"]["fragmentation"] == (0 if policy == "binpack" else round(8 / 120, 6))


def test_random_is_the_same_every_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(), job=job_text(pods=12, labels="tor-affinity: large-model-schema"))
    arguments = [paths["job"], "--cluster", paths["tors"], "--policy", "random", "--explain"]
    found = report(capsys, *arguments)
    (job,) = found["jobs"]
    assert job["policy"] == "random" and len(set(job["ranks"])) == 12 and found == report(capsys, *arguments)
    planned = report(capsys, *arguments[:3], "--explain")["jobs"][0]
    assert planned["crossings"]["crossSpine"] < job["crossings"]["crossSpine"]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_can_be_forced(capsys: pytest.CaptureFixture[str], tmp_path: Path, policy: str) -> None:
    """A job that says nothing is placed whatever is forced: by that policy, or by the one that it would have had."""
    paths = write(tmp_path, job=job_text(pods=4, chips=16))
    code, out, err = schedule(capsys, paths["job"], "--cluster", SUPERPODS, "--policy", policy, "--report", "json")
    (job,) = json.loads(out)["jobs"]
    assert code == 0 and len(job["ranks"]) == 4
    assert (job["policy"] == policy) != (f"cannot be placed by {policy}" in err)


REFERENCE = Path("/work/shared/reference/cluster")


@pytest.mark.skipif(not REFERENCE.exists(), reason="the files of mind-cluster are not here")
@pytest.mark.parametrize("name", ["acjob_sp-block__pytorch_multinodes_acjob_super_pod",
                                  "acjob_tor-affinity__pytorch_multinodes_acjob_910b",
                                  "vcjob_fault-scheduling__pytorch_vcjob_910b",
                                  "vcjob_kwok__vcjob_kwok_simulator-8x8",
                                  "vcjob_sp-block__a950_superpod_pytorch_vcjob"])
def test_files_of_mind_cluster(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """They load with the ConfigMap of the scheduler; each job ends scheduled or with a reason, and what is not acted on
    is said in one line a file."""
    code, out, err = schedule(
        capsys, str(REFERENCE / f"{name}.yaml"), "--cluster", str(REFERENCE / "basic-tor-node__tor-node.json"),
        "--conf", str(REFERENCE / "volcano-scheduler-configmap__from-volcano-v1.9.0.yaml"), "--report", "json")
    (job,) = json.loads(out)["jobs"]
    assert code in (0, 3) and (job["state"] == "scheduled") != bool(job["reason"])
    assert err.count(f"{name}.yaml: not acted on:") == 1
