"""A WorkloadRun document: every field with its default, its limits, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from workloadrun_files import EXAMPLE, MINIMAL, load, refused, text_of

from distsim.errors import InputError
from distsim.workloadrun.immutable import canonical_spec, check_unchanged, check_workflow_unchanged
from distsim.workloadrun.workflow import build_workflow

PATH = "spec.jobTemplate.spec.workloadMetadata.labels"
GANG = {"schedulerName": "kai-scheduler"}
MPI = {"binary": "b_perf", "mpirunPath": "mpirun"}


def test_the_documented_example_as_it_is(tmp_path: Path) -> None:
    run = load(tmp_path, EXAMPLE)
    spec = run.spec
    assert (run.name, spec.numNodes, spec.framework.kind) == ("nccl-all-reduce", 4, "mpi")
    assert spec.framework.mpi is not None and spec.framework.mpi.args[:4] == ["-b", "8", "-e", "32G"]
    assert spec.gangScheduler is not None and spec.gangScheduler.queue == "high-priority"
    assert spec.bandwidthMeasurement is not None and spec.bandwidthMeasurement.testType == "all_reduce"
    assert spec.goodputMeasurement is not None and spec.goodputMeasurement.logProfileRef == "megatron-training"


def test_defaults(tmp_path: Path) -> None:
    spec = load(tmp_path, text_of({"framework": {"mpi": MPI}, "gangScheduler": GANG,
                                   "checkpoint": {"storageSize": "5Gi"},
                                   "bandwidthMeasurement": {"logProfileRef": "p"},
                                   "goodputMeasurement": {"logProfileRef": "g"}})).spec
    assert spec.target.model_dump() == {"nodeSelector": {"nvidia.com/gpu.present": "true"}, "matchExpressions": [],
                                        "nodeNames": [], "taintSelectors": []}
    assert spec.orchestration.model_dump() == {"testScale": "", "placement": "Pinned", "repeatCount": 1,
                                               "maxConcurrent": 0, "timeoutPerJob": "1h", "diagnose": None}
    assert spec.gangScheduler is not None
    assert spec.gangScheduler.model_dump() == {"schedulerName": "kai-scheduler", "queue": "default-queue",
                                               "queueLabelKey": "kai.scheduler/queue"}
    assert spec.framework.mpi is not None and spec.framework.mpi.mpiImplementation == "OpenMPI"
    assert spec.checkpoint is not None and spec.checkpoint.maxRestarts == 0
    assert spec.bandwidthMeasurement is not None and spec.bandwidthMeasurement.sampleInterval == "60s"
    assert spec.goodputMeasurement is not None and spec.goodputMeasurement.sampleInterval == "60s"
    assert (spec.gpusPerNode, spec.mlnxPerNode, spec.nicResourceName, spec.enableMNNVL) == (None, None, None, None)
    assert (spec.thresholds, spec.env, spec.volumes, spec.overrides) == ({}, [], [], [])


def test_what_is_empty_is_the_default(tmp_path: Path) -> None:
    spec = load(tmp_path, text_of({"orchestration": {"placement": "", "timeoutPerJob": ""},
                                   "gangScheduler": {**GANG, "queue": "", "queueLabelKey": ""}})).spec
    assert (spec.orchestration.placement, spec.orchestration.timeoutPerJob) == ("Pinned", "1h")
    assert spec.gangScheduler is not None
    assert (spec.gangScheduler.queue, spec.gangScheduler.queueLabelKey) == ("default-queue", "kai.scheduler/queue")


@pytest.mark.parametrize("target", [None, {}, {"nodeNames": ["n1"]}])
def test_every_gpu_node_is_the_target_unless_another_is_given(tmp_path: Path, target: Any) -> None:
    found = load(tmp_path, text_of({"target": target})).spec.target
    assert found.nodeSelector == ({} if target else {"nvidia.com/gpu.present": "true"})


@pytest.mark.parametrize("spec", [
    {"framework": {"torch": {"script": "train.py", "args": ["--x"]}}},
    {"framework": {"torch": {"module": "a.b"}}},
    {"framework": {"mpi": {**MPI, "mpiArgs": ["-x", "A=1"], "mpiImplementation": "Intel"}}},
    {"framework": {"exec": {"command": ["/bin/sh"], "args": ["-c", "true"]}}},
    {"framework": {"exec": {"command": ["/bin/sh"]}, "mpi": None}},
    {"target": {"matchExpressions": [{"key": "a/b", "operator": "In", "values": ["x"]},
                                     {"key": "c", "operator": "NotIn", "values": ["x", "y"]},
                                     {"key": "d", "operator": "Exists"}, {"key": "e", "operator": "DoesNotExist"}],
                "nodeNames": ["n2", "n1"], "taintSelectors": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}},
    {"gpusPerNode": 1, "mlnxPerNode": 0, "nicResourceName": "nvidia.com/mlnxnics", "enableMNNVL": True},
    {"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
    {"config": {"inline": {"train.sh": "true"}}}, {"config": {"configMapRef": {"name": "mine"}}},
    {"volumes": [{"name": "data", "emptyDir": {}}], "volumeMounts": [{"name": "data", "mountPath": "/d"}]},
    {"checkpoint": {"storageSize": "1.5Ti", "storageClassName": "fast", "maxRestarts": 3}},
    {"resources": {"limits": {"nvidia.com/gpu": 8, "memory": "800Gi"}, "requests": {"cpu": "500m"}}},
    {"initContainers": [{"name": "clone", "image": "git"}], "imagePullSecrets": [{"name": "s"}]},
    {"orchestration": {"testScale": "full-scale", "placement": "Unpinned", "repeatCount": 2, "maxConcurrent": 3,
                       "timeoutPerJob": "1h30m"}},
    {"orchestration": {"testScale": "intra-rack", "placement": "", "diagnose": {"minGroupSize": 1}}},
    {"thresholds": {"busBandwidthGBps": "value >= 45", "goodputRatio": "value > 0.9"}},
    {"gangScheduler": {"schedulerName": "runai-scheduler", "queue": "", "queueLabelKey": "runai/queue"}},
    {"workloadMetadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpu-team-a", "empty": ""}}},
])
def test_what_every_field_may_hold(tmp_path: Path, spec: dict[str, Any]) -> None:
    load(tmp_path, text_of(spec))


@pytest.mark.parametrize(("spec", "where", "message"), [
    ({"image": None}, "spec.image", "this key is required: container image of the workload"),
    ({"image": ""}, "spec.image", "should have at least 1 character"),
    ({"framework": {}}, "spec.framework", "exactly one of torch, mpi, exec must be set; found none"),
    ({"framework": {"torch": {"script": "x"}, "mpi": MPI}}, "spec.framework",
     "exactly one of torch, mpi, exec must be set; found torch and mpi"),
    ({"framework": {"slurm": {}}}, "spec.framework.slurm", "unknown key 'slurm'; valid names: torch, mpi, exec"),
    ({"framework": {"torch": {"script": "a", "module": "b"}}}, "spec.framework.torch",
     "script and module are mutually exclusive"),
    ({"framework": {"torch": {}}}, "spec.framework.torch", "either script or module must be set"),
    ({"framework": {"mpi": {"mpirunPath": "m"}}}, "spec.framework.mpi.binary", "this key is required"),
    ({"framework": {"mpi": {"binary": "b"}}}, "spec.framework.mpi.mpirunPath", "this key is required"),
    ({"framework": {"mpi": {**MPI, "args": ["-b", 8]}}}, "spec.framework.mpi.args.1", "8 is not text"),
    ({"framework": {"exec": {"command": []}}}, "spec.framework.exec.command", "at least one entry"),
    ({"numNodes": 0}, "spec.numNodes", "0 is out of range; valid: 1 or more"),
    ({"numNodes": "4"}, "spec.numNodes", "'4' is not a whole number; valid: 1 or more"),
    ({"numNodes": True}, "spec.numNodes", "true is not a whole number"),
    ({"numnodes": 3}, "spec.numnodes", "unknown key 'numnodes'; nearest valid name: numNodes"),
    ({"target": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
     "spec.target.matchExpressions.0.operator", "'Gt' is not valid; valid values: In, NotIn, Exists, DoesNotExist"),
    ({"target": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "spec.target.matchExpressions.0",
     "operator In needs at least one value"),
    ({"target": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]}},
     "spec.target.matchExpressions.0", "operator Exists takes no values"),
    ({"target": {"nodeSelector": {"a": True}}}, "spec.target.nodeSelector", "a: true is not text; write it in quotes"),
    ({"target": {"nodeNames": ["a", "a"]}}, "spec.target.nodeNames", "'a' is named twice"),
    ({"target": {"taintSelectors": [{"key": "a", "effect": "Never"}]}}, "spec.target.taintSelectors.0.effect",
     "'Never' is not valid"),
    ({"thresholds": {"busBandwidthGBps": 45}}, "spec.thresholds", "busBandwidthGBps: 45 is not text"),
    ({"gpusPerNode": 0}, "spec.gpusPerNode", "0 is out of range; valid: 1 or more"),
    ({"mlnxPerNode": -1}, "spec.mlnxPerNode", "-1 is out of range; valid: 0 or more"),
    ({"nicResourceName": "mlx"}, "spec.nicResourceName", "'mlx' is not the name of an extended resource"),
    ({"nicResourceName": "k8s.io/nic"}, "spec.nicResourceName",
     "nicResourceName must not use the reserved kubernetes.io or k8s.io domains"),
    ({"env": [{"name": "A", "value": 1}]}, "spec.env.0.value", "1 is not text"),
    ({"env": [{"name": "A", "vale": "1"}]}, "spec.env.0.vale", "nearest valid name: value"),
    ({"config": {"inline": {"a": "b"}, "configMapRef": {"name": "c"}}}, "spec.config",
     "inline and configMapRef are mutually exclusive"),
    ({"volumes": [{"emptyDir": {}}]}, "spec.volumes.0.name", "this key is required"),
    ({"checkpoint": {"storageSize": "much"}}, "spec.checkpoint.storageSize", "'much' is not a size"),
    ({"checkpoint": {"storageSize": "1Gi", "maxRestarts": -1}}, "spec.checkpoint.maxRestarts", "valid: 0 or more"),
    ({"resources": {"limits": {"memory": "lots"}}}, "spec.resources.limits", "'lots' is not a quantity of memory"),
    ({"orchestration": {"testScale": "inter-node"}}, "spec.orchestration.testScale", "nearest: intra-node"),
    ({"orchestration": {"placement": "unpinned"}}, "spec.orchestration.placement", "nearest: Unpinned"),
    ({"orchestration": {"repeatCount": 0}}, "spec.orchestration.repeatCount", "valid: 1 or more (default 1)"),
    ({"orchestration": {"maxConcurrent": -1}}, "spec.orchestration.maxConcurrent", "valid: 0 or more (default 0)"),
    ({"orchestration": {"timeoutPerJob": "an hour"}}, "spec.orchestration.timeoutPerJob", "is not a Go duration"),
    ({"orchestration": {"timeoutPerJob": "0s"}}, "spec.orchestration.timeoutPerJob",
     "valid: more than 0s (default 1h)"),
    ({"bandwidthMeasurement": {}}, "spec.bandwidthMeasurement.logProfileRef", "this key is required"),
    ({"goodputMeasurement": {"logProfileRef": "g", "sampleInterval": "0s"}}, "spec.goodputMeasurement.sampleInterval",
     "valid: more than 0s (default 60s)"),
    ({"gangScheduler": {"queue": "a"}}, "spec.gangScheduler.schedulerName", "this key is required"),
    ({"gangScheduler": {**GANG, "queue": "-team"}}, "spec.gangScheduler.queue", "'-team' is not a queue name"),
    ({"gangScheduler": {**GANG, "queue": "a" * 64}}, "spec.gangScheduler.queue", "is not a queue name: at most 63"),
    ({"gangScheduler": {**GANG, "queueLabelKey": "a b"}}, "spec.gangScheduler.queueLabelKey", "is not a label key"),
    ({"gangScheduler": {**GANG, "queueLabelKey": "a" * 254 + "/b"}}, "spec.gangScheduler.queueLabelKey",
     "queueLabelKey prefix must be at most 253 characters"),
    ({"gangScheduler": {**GANG, "queueLabelKey": "nvcre.nvidia.com/queue"}}, "spec.gangScheduler.queueLabelKey",
     "queueLabelKey must not use the controller-owned key app.kubernetes.io/managed-by or any key under the "
     "nvcre.nvidia.com/ prefix"),
])
def test_what_is_refused(tmp_path: Path, spec: dict[str, Any], where: str, message: str) -> None:
    text = text_of(spec)
    error = refused(tmp_path, text)
    assert error.where == where and message in error.message
    assert error.file == str(tmp_path / "run.yaml") and error.line is not None


def test_the_line_is_that_of_the_key(tmp_path: Path) -> None:
    error = refused(tmp_path, EXAMPLE.replace("queue: high-priority", "queue: high priority"))
    assert (error.line, error.where) == (16, "spec.gangScheduler.queue")


@pytest.mark.parametrize(("scale", "message"), [
    ("intra-node", 'orchestration.placement: Unpinned is incompatible with orchestration.testScale "intra-node": '
     "intra-node runs one job per target node, Unpinned runs exactly one job; drop one of the two"),
    ("intra-rack", 'orchestration.placement: Unpinned is incompatible with orchestration.testScale "intra-rack": '
     "intra-rack runs one job per topology domain, Unpinned runs exactly one job; to confine a single unpinned job to "
     "one domain, name the domain label in target.matchExpressions instead")])
def test_unpinned_refuses_scales_that_name_a_grouping(tmp_path: Path, scale: str, message: str) -> None:
    error = refused(tmp_path, text_of({"orchestration": {"testScale": scale, "placement": "Unpinned"}}))
    assert error.message == message


def test_unpinned_refuses_diagnose(tmp_path: Path) -> None:
    error = refused(tmp_path, text_of({"orchestration": {"diagnose": {}, "placement": "Unpinned"}}))
    assert error.message.startswith("orchestration.placement: Unpinned is incompatible with orchestration.diagnose: ")


def test_unknown_threshold_keys_are_named_together(tmp_path: Path) -> None:
    error = refused(tmp_path, text_of({"thresholds": {"busBW": "value > 1", "avgTFLOPSPerGPU": "value > 1"}}))
    assert error.message == ("workloadrun least: unknown threshold key(s) [avgTFLOPSPerGPU, busBW]; valid keys: "
                             "[busBandwidthGBps, algBandwidthGBps, goodputRatio, avgTFLOPsPerGPU, avgStepTimeSec]")


@pytest.mark.parametrize(("expression", "message"), [
    ("value >=", "'value >=' is not a CEL expression"),
    ("speed > 1", "'speed > 1' names speed; the only variable is value"),
    ("value", "'value' gives double, not true or false")])
def test_thresholds_are_cel_over_value(tmp_path: Path, expression: str, message: str) -> None:
    error = refused(tmp_path, text_of({"thresholds": {"busBandwidthGBps": expression}}))
    assert error.where == "spec.thresholds.busBandwidthGBps" and error.message.startswith(message)


def test_33_labels_and_31_beside_a_queue(tmp_path: Path) -> None:
    labels = {f"l{at}": "x" for at in range(33)}
    assert refused(tmp_path, text_of({"workloadMetadata": {"labels": labels}})).message == (
        f"{PATH}: 33 labels exceeds the maximum of 32")
    del labels["l0"]
    load(tmp_path, text_of({"workloadMetadata": {"labels": labels}}))
    assert refused(tmp_path, text_of({"workloadMetadata": {"labels": labels}, "gangScheduler": GANG})).message == (
        f"{PATH}: 33 labels exceeds the maximum of 32")
    del labels["l1"]
    load(tmp_path, text_of({"workloadMetadata": {"labels": labels}, "gangScheduler": GANG}))
    load(tmp_path, text_of({"workloadMetadata": {"labels": {**labels, "kai.scheduler/queue": "default-queue"}},
                            "gangScheduler": GANG}))


@pytest.mark.parametrize(("labels", "message"), [
    ({"app.kubernetes.io/managed-by": "me"}, f'{PATH}["app.kubernetes.io/managed-by"]: label key is reserved for the '
     'controller: "app.kubernetes.io/managed-by" and any key under "nvcre.nvidia.com/" identify workload ownership'),
    ({"nvcre.nvidia.com/x": "y", "z z": ""}, f'{PATH}["nvcre.nvidia.com/x"]: label key is reserved for the controller: '
     '"app.kubernetes.io/managed-by" and any key under "nvcre.nvidia.com/" identify workload ownership'),
    ({"bad key": "x"}, f'{PATH}["bad key"]: invalid label key: '),
    ({"a": "-x"}, f'{PATH}["a"]: invalid label value "-x": '),
    ({"b": "-x", "a": "x" * 64}, f'{PATH}["a"]: invalid label value ')])
def test_labels_of_the_workload(tmp_path: Path, labels: dict[str, str], message: str) -> None:
    """Keys are looked at in sorted order, so the first one of them is named."""
    error = refused(tmp_path, text_of({"workloadMetadata": {"labels": labels}}))
    assert error.message.startswith(message) and error.line is not None


def test_a_queue_label_that_disagrees_is_named_with_both_values(tmp_path: Path) -> None:
    error = refused(tmp_path, EXAMPLE + "  workloadMetadata:\n    labels:\n      kai.scheduler/queue: other\n")
    assert error.message == f'{PATH}["kai.scheduler/queue"]: conflicting label value "other", expected "high-priority"'
    assert error.line == 30
    load(tmp_path, EXAMPLE + "  workloadMetadata:\n    labels:\n      kai.scheduler/queue: high-priority\n")


@pytest.mark.parametrize(("text", "line", "message"), [
    (EXAMPLE.replace("  numNodes: 4 ", "\tnumNodes: 4 "), 12, "tab"),
    (EXAMPLE.replace("    queue: high-priority", "    queue: a\n    queue: b"), 17, "duplicate key 'queue'"),
    (EXAMPLE.replace("kind: WorkloadRun", "kind: WorkloadRum"), None, "holds a WorkloadRum; valid kinds: WorkloadRun"),
    (EXAMPLE.replace("v1alpha1", "v1"), 1, "'nvcre.nvidia.com/v1' is not valid"),
    (EXAMPLE.replace("name: nccl-all-reduce", "name: ../etc"), 4, "'../etc' is not a name"),
    (EXAMPLE + "---\n" + MINIMAL, None, "holds 2 WorkloadRun documents; one is wanted"),
    ("", None, "the file is empty"), ("[1]\n", None, "this key is required: kind of document")])
def test_broken_files(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    error = refused(tmp_path, text)
    assert message in error.message and error.file == str(tmp_path / "run.yaml")
    assert line is None or error.line == line


def test_profiles_may_stand_beside_a_run(tmp_path: Path) -> None:
    run = load(tmp_path, EXAMPLE + "---\nkind: LogProfile\nmetadata: {name: mine}\n")
    assert [document.data["metadata"]["name"] for document in run.beside] == ["mine"]
    assert run.locate(("spec", "numNodes")) == (str(tmp_path / "run.yaml"), 12)


def test_all_that_is_wrong_is_kept_together(tmp_path: Path) -> None:
    error = refused(tmp_path, text_of({"numNodes": 0, "gpusPerNode": 0}))
    assert [problem.where for problem in error.problems] == ["spec.numNodes", "spec.gpusPerNode"]  # type: ignore[attr-defined]


def test_a_run_keeps_its_spec(tmp_path: Path) -> None:
    stored = canonical_spec(load(tmp_path, EXAMPLE))
    check_unchanged(load(tmp_path, EXAMPLE), stored)
    written_out = EXAMPLE + "  orchestration: {placement: Pinned, timeoutPerJob: 1h}\n"
    check_unchanged(load(tmp_path, written_out.replace("nccl-all-reduce\n", "nccl-all-reduce\n  labels: {a: b}\n", 1)),
                    stored)
    with pytest.raises(InputError) as caught:
        check_unchanged(load(tmp_path, EXAMPLE.replace("numNodes: 4", "numNodes: 2")), stored)
    assert (caught.value.message, caught.value.where, caught.value.line) == (
        "spec is immutable after creation", "spec", 5)


@pytest.mark.parametrize(("path", "value", "message"), [
    (("gangScheduler", "queue"), "other", "spec.gangScheduler: gangScheduler is immutable"),
    (("gangScheduler",), None, "spec: gangScheduler cannot be added or removed after creation"),
    (("jobTemplate", "spec", "workloadMetadata"), None,
     "spec.jobTemplate.spec: workloadMetadata cannot be added or removed after creation"),
    (("jobTemplate", "spec", "bandwidthMeasurement", "testType"), "x",
     "spec.jobTemplate.spec.bandwidthMeasurement: bandwidthMeasurement is immutable"),
    (("jobTemplate", "spec", "workload"), {}, "spec.jobTemplate.spec.workload: workload is immutable")])
def test_a_workflow_keeps_what_its_jobs_were_made_of(tmp_path: Path, path: tuple[str, ...], value: Any,
                                                     message: str) -> None:
    run = load(tmp_path, EXAMPLE)
    stored, changed = build_workflow(run), yaml.safe_load(yaml.safe_dump(build_workflow(run)))
    check_workflow_unchanged(changed, stored)
    section = changed["spec"]
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = value
    with pytest.raises(InputError) as caught:
        check_workflow_unchanged(changed, stored)
    assert str(caught.value) == message
