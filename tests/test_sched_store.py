"""The documents of a scheduler's state, and the files they are written to."""

from __future__ import annotations

from pathlib import Path

import pytest
import sched_cases as cases
import yaml

from distsim.cluster import Taint
from distsim.errors import RunError
from distsim.scheduler.state import NodeState, State
from distsim.scheduler.store import (
    chip_names,
    clock,
    file_names,
    node_documents,
    pod_documents,
    podgroup_document,
    quantities,
    to_yaml,
    write_documents,
)
from distsim.scheduler.types import Condition, Job, JobPhase, TaskState


def running() -> tuple[State, Job]:
    """Two pods of 4 chips on n0 and n5, ranks the other way round."""
    state = cases.tor_state()
    done = cases.run_on(state, cases.job(2, chips=4), ["n0", "n5"])
    done.tasks[0].rank, done.tasks[1].rank = 1, 0
    done.labels["tor-affinity"] = "normal-schema"
    done.annotations["sp-block"] = "8"
    return state, done


def test_the_podgroup_of_a_running_job() -> None:
    _, done = running()
    done.queue, done.priority, done.network_topology = "team-a", 5, {"mode": "hard", "highestTierAllowed": 1}
    assert podgroup_document(done) == {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "job", "namespace": "default", "labels": {"tor-affinity": "normal-schema"},
                     "annotations": {"sp-block": "8"}, "creationTimestamp": "1970-01-01T00:00:00.000Z"},
        "spec": {"minMember": 2, "queue": "team-a", "priority": 5,
                 "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
                 "minResources": {"huawei.com/Ascend910": 8}},
        "status": {"phase": "Running", "running": 2, "succeeded": 0, "failed": 0, "conditions": []}}


def test_conditions_and_the_end_of_a_job() -> None:
    state, done = running()
    done.conditions["NodePredicateFailed"] = Condition("NodePredicateFailed", "n0: 4 of 8 chips free", 61_000)
    state.release(done.tasks[0], TaskState.FAILED)
    done.tasks[1].state = TaskState.RELEASING
    done.phase, done.reason = JobPhase.FAILED, "no retries left"
    status = podgroup_document(done)["status"]
    assert status == {
        "phase": "Failed", "reason": "no retries left", "running": 1, "succeeded": 0, "failed": 1,
        "conditions": [{"type": "Unschedulable", "status": "True", "reason": "NodePredicateFailed",
                        "message": "n0: 4 of 8 chips free", "lastTransitionTime": "1970-01-01T00:01:01.000Z"}]}
    pods = pod_documents(done)
    assert [pod["status"] for pod in pods] == [{"phase": "Failed"}, {"phase": "Running", "reason": "Releasing"}]
    assert "nodeName" not in pods[0]["spec"]


def test_pods_name_node_rank_and_chips() -> None:
    _, done = running()
    done.image, done.command = "trainer:1", ("python", "train.py")
    done.tasks[0].request["cpu"] = 1500
    done.tasks[0].node_selector = {"host-arch": "huawei-arm"}
    first, second = pod_documents(done)
    assert first == {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "job-worker-0", "namespace": "default", "labels": {"tor-affinity": "normal-schema"},
                     "annotations": {"scheduling.k8s.io/group-name": "job", "hccl/rankIndex": "1",
                                     "huawei.com/Ascend910": "Ascend910-0,Ascend910-1,Ascend910-2,Ascend910-3"}},
        "spec": {"schedulerName": "volcano", "nodeName": "n0", "nodeSelector": {"host-arch": "huawei-arm"},
                 "containers": [{"name": "worker", "image": "trainer:1", "command": ["python", "train.py"],
                                 "resources": {"requests": {"huawei.com/Ascend910": 4, "cpu": "1500m"}}}]},
        "status": {"phase": "Running"}}
    assert second["metadata"]["annotations"]["hccl/rankIndex"] == "0"


def test_a_waiting_pod_has_neither_node_nor_rank() -> None:
    pod = pod_documents(cases.job(1))[0]
    assert pod["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "job"}
    assert pod["status"] == {"phase": "Pending"} and "nodeName" not in pod["spec"]


def test_nodes_show_free_and_broken_chips() -> None:
    state, _ = running()
    state.nodes["n0"].barred, state.nodes["n0"].cut = 0b1000_0000, 0b0100_0000
    state.nodes["n1"].healthy = False
    first, second = node_documents(state)[:2]
    assert first["metadata"]["annotations"] == {
        "distsim/tor-id": "0", "distsim/slice-id": "0", "huawei.com/Ascend910": "Ascend910-4,Ascend910-5,Ascend910-6",
        "huawei.com/Ascend910-Unhealthy": "Ascend910-7", "huawei.com/Ascend910-NetworkUnhealthy": "Ascend910-6"}
    assert first["status"]["free"] == {"huawei.com/Ascend910": 3, "cpu": 192_000, "memory": 2**41}
    assert first["status"]["pods"] == ["default/job/job-worker-0"]
    assert [node["status"]["conditions"][0]["status"] for node in (first, second)] == ["True", "False"]
    assert second["metadata"]["annotations"]["huawei.com/Ascend910"].endswith("Ascend910-7")


def test_cordons_and_taints_of_a_node() -> None:
    plain = cases.node("n0")
    bad = type(plain)(**{**vars(plain), "cordoned": True, "taints": (Taint("k", "v", "NoExecute"),)})
    state = State(cases.cluster([bad]), {"n0": NodeState(bad, 0, 255, {})})
    (document,) = node_documents(state)
    assert document["spec"] == {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]}
    assert document["metadata"]["annotations"] == {}          # no job says what its chips are called


def test_files_of_a_directory(tmp_path: Path) -> None:
    state, done = running()
    waiting = cases.job(1, name="second", namespace="team")
    state.jobs[waiting.uid] = waiting
    write_documents(tmp_path / "out", state)
    assert sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.yaml")) == [
        "jobs/default-job.yaml", "jobs/team-second.yaml", "nodes.yaml", "pods/default-job.yaml",
        "pods/team-second.yaml"]
    assert yaml.safe_load((tmp_path / "out/jobs/default-job.yaml").read_text()) == podgroup_document(done)
    pods = list(yaml.safe_load_all((tmp_path / "out/pods/default-job.yaml").read_text()))
    assert pods == pod_documents(done)
    assert list(yaml.safe_load_all((tmp_path / "out/nodes.yaml").read_text())) == node_documents(state)
    assert "&id" not in (tmp_path / "out/nodes.yaml").read_text()


def test_two_jobs_never_share_a_file() -> None:
    jobs = [cases.job(1, name="c", namespace="a-b"), cases.job(1, name="b-c", namespace="a"),
            cases.job(1, name="b-c-2", namespace="a")]
    assert file_names(jobs) == ["a-b-c.yaml", "a-b-c-2.yaml", "a-b-c-2-2.yaml"]


def test_a_name_cannot_leave_the_directory() -> None:
    assert file_names([cases.job(1, name="../../x", namespace="a/b")]) == ["a_b-.._.._x.yaml"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    state, _ = running()
    (tmp_path / "jobs").write_text("in the way")
    with pytest.raises(RunError, match=r"default-job\.yaml cannot be written"):
        write_documents(tmp_path, state)


def test_names_times_and_amounts() -> None:
    assert chip_names("huawei.com/npu", 0b101) == "npu-0,npu-2"
    assert clock(61_001) == "1970-01-01T00:01:01.001Z"
    assert quantities({"cpu": 2000, "memory": 5}) == {"cpu": 2, "memory": 5}
    assert quantities({"cpu": 250}) == {"cpu": "250m"}
    assert to_yaml([{"b": 1}, {"a": "true"}]) == "b: 1\n---\na: 'true'\n"
