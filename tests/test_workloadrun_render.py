"""The Workflow that a run becomes, and how it is rendered with and without a platform."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from workloadrun_files import EXAMPLE, MINIMAL, load, text_of, with_overrides

from distsim.cluster import Node
from distsim.errors import InputError
from distsim.workloadrun.framework import benchmark_words
from distsim.workloadrun.hardware import Hardware, hardware_of, usual_gpus
from distsim.workloadrun.render import render, rendered, resolve_run
from distsim.workloadrun.requests import gpus_per_node, nodes_per_job
from distsim.workloadrun.workflow import build_workflow

CONFLICT = """
- when:
    platform:
      equals: aws
  jobTemplate:
    spec:
      workloadMetadata:
        labels:
          kai.scheduler/queue: team-b
"""
MESSAGE = ('spec.jobTemplate.spec.workloadMetadata.labels["kai.scheduler/queue"]: conflicting label value "team-b", '
           'expected "high-priority"')
EIGHT = Hardware("sim", "h100", 8, 8, False)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(text: str) -> str:
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return str(path)

    return written


def trainer(workflow: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]["trainer"]
    return found


def pod(workflow: dict[str, Any], job: int = 0) -> dict[str, Any]:
    jobs = workflow["spec"]["dependencies"][0]["spec"]["template"]["spec"]["replicatedJobs"]
    found: dict[str, Any] = jobs[job]["template"]["spec"]["template"]["spec"]
    return found


def container(workflow: dict[str, Any], job: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = pod(workflow, job)["containers"][0]
    return found


def build(tmp_path: Path, spec: dict[str, Any], hardware: Hardware = EIGHT) -> dict[str, Any]:
    return build_workflow(load(tmp_path, text_of(spec)), hardware)


def test_the_documented_example_offline(write: Any) -> None:
    workflow = yaml.safe_load(render(write(EXAMPLE)))
    assert list(workflow) == ["apiVersion", "kind", "metadata", "spec"]
    assert workflow["apiVersion"] == "nvcre.nvidia.com/v1alpha1" and workflow["kind"] == "Workflow"
    assert workflow["metadata"] == {"name": "nccl-all-reduce",
                                    "labels": {"app.kubernetes.io/managed-by": "nvcre",
                                               "nvcre.nvidia.com/workload-run": "nccl-all-reduce"}}
    spec = workflow["spec"]
    assert list(spec) == ["jobTemplate", "orchestration", "dependencies", "gangScheduler"]
    assert spec["orchestration"] == {"target": {"nodeSelector": {"nvidia.com/gpu.present": "true"}},
                                     "placement": "Pinned",
                                     "execution": {"maxConcurrent": 0, "timeoutPerJob": "1h",
                                                   "retryFailedGroups": 0},
                                     "iterations": 1}
    job = spec["jobTemplate"]["spec"]
    assert job["bandwidthMeasurement"] == {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"}
    assert job["goodputMeasurement"] == {"logProfileRef": "megatron-training"}
    assert job["nodeHealthMonitor"] == {"cel": {"expression": "node.spec.unschedulable == true"}}
    assert job["workload"]["trainJob"]["runtimeRef"] == {"name": "nccl-all-reduce-runtime", "kind": "TrainingRuntime"}


def test_without_a_platform_overrides_stay_and_nothing_of_them_is_checked(write: Any) -> None:
    path = write(with_overrides(CONFLICT))
    workflow = yaml.safe_load(render(path))
    assert workflow["spec"]["overrides"] == yaml.safe_load(CONFLICT)
    assert workflow["spec"]["gangScheduler"]["queue"] == "high-priority"
    assert json.loads(render(path, output="json")) == workflow


def test_with_a_platform_a_conflict_is_told_instead_of_a_workflow(write: Any) -> None:
    path = write(with_overrides(CONFLICT))
    with pytest.raises(InputError) as caught:
        render(path, "aws")
    assert str(caught.value) == f"{path}: {MESSAGE}"
    other = yaml.safe_load(render(path, "gcp"))
    assert "overrides" not in other["spec"]
    assert other["metadata"]["annotations"] == {"nvcrectl.nvidia.com/detected-platform": "gcp"}


def test_construction_is_checked_without_a_platform_too(write: Any) -> None:
    with pytest.raises(InputError) as caught:
        render(write(EXAMPLE + "  workloadMetadata: {labels: {kai.scheduler/queue: team-b}}\n"))
    assert caught.value.message == MESSAGE


def test_an_override_that_fails_is_found_in_the_file(write: Any) -> None:
    path = write(with_overrides("- when: {}\n- when: {}\n  jobTemplatePatch: [{op: remove, path: /spec/none}]"))
    with pytest.raises(InputError) as caught:
        render(path, "sim")
    assert (caught.value.file, caught.value.line) == (path, 31)
    assert caught.value.message.startswith("override[1]: failed to apply jobTemplatePatch: ")


def test_generated_overrides_count_and_lines_are_those_of_the_file(write: Any) -> None:
    """Four are generated for intra-rack, so the run's first is number 4 of the Workflow."""
    racks = EXAMPLE + "  orchestration: {testScale: intra-rack}\n"
    path = write(with_overrides("- when: {}\n  jobTemplatePatch: [{op: remove, path: /spec/none}]", racks))
    with pytest.raises(InputError) as caught:
        render(path, "sim")
    assert caught.value.message.startswith("override[4]: failed to apply jobTemplatePatch: ")
    assert caught.value.line == 31
    with pytest.raises(InputError) as caught:
        render(write(with_overrides("- when: {expression: platform}", racks)))
    assert caught.value.line == 31 and caught.value.message.startswith("override[4]: evaluating when: ")


def test_an_override_that_changes_nothing_is_told(write: Any) -> None:
    path = write(with_overrides("- when: {platform: {equals: sim}}\n  orchestration: {iterations: 1}"))
    assert rendered(path, "sim").notices == [
        "override[0] (platform=sim) matched and changed nothing (orchestration): noOp"]
    assert rendered(path, "aws").notices == []


def test_platforms(write: Any) -> None:
    path = write(MINIMAL)
    for name in ("aws", "gcp", "azure", "oci", "onprem", "togetherai", "mistral", "forge", "nscale", "sim"):
        assert f"detected-platform: {name}" in render(path, name)
    with pytest.raises(InputError) as caught:
        render(path, "bogus")
    assert str(caught.value) == ('invalid --platform "bogus": must be one of aws, gcp, azure, oci, onprem, togetherai, '
                                 "mistral, forge, nscale")


def test_gpu_architectures(write: Any) -> None:
    path = write(text_of({"overrides": [{"when": {"gpuArchitecture": {"equals": "gb300"}},
                                         "orchestration": {"iterations": 7}}]}))
    for name in ("gb300", "NVIDIA-GB300", "NVIDIA GB300", "GB300"):
        assert yaml.safe_load(render(path, "sim", name))["spec"]["orchestration"]["iterations"] == 7
    assert yaml.safe_load(render(path, "sim", "h100"))["spec"]["orchestration"]["iterations"] == 1
    for wrong in ("gb2OO", "NVIDIA-"):
        with pytest.raises(InputError) as caught:
            render(path, None, wrong)
        assert str(caught.value) == (f'invalid --gpu-arch "{wrong}": must be one of a100, b200, gb200, gb300, h100, '
                                     "h200, l40, l40s, rtxpro6000")


def test_output_is_yaml_or_json(write: Any) -> None:
    with pytest.raises(InputError) as caught:
        render(write(MINIMAL), output="xml")
    assert str(caught.value) == "--output: 'xml' is not valid; valid values: yaml, json"


def test_the_cluster_file_says_platform_kind_of_gpu_and_gpus(write: Any) -> None:
    """configs/cluster12.yaml: 12 nodes of 8 GPUs, which most runs' documents do not say."""
    cluster = str(Path(__file__).parent.parent / "configs" / "cluster12.yaml")
    workflow = yaml.safe_load(render(write(EXAMPLE), cluster=cluster))
    assert trainer(workflow)["numProcPerNode"] == 8
    assert workflow["metadata"]["annotations"]["nvcrectl.nvidia.com/detected-platform"] == "sim"
    with pytest.raises(InputError) as caught:
        render(write(with_overrides(CONFLICT)), "aws", cluster=cluster)
    assert caught.value.message == MESSAGE


@pytest.mark.parametrize(("architecture", "platform", "gpus", "nics", "nvlink"), [
    ("h100", "", 8, 8, False), ("a100", "aws", 8, 8, False), ("gb200", "", 4, 8, True), ("gb300", "aws", 4, 8, True),
    ("gb200", "oci", 4, 0, True), ("l40s", "oci", 4, 2, False), ("", "", 4, 0, False), ("h999", "", 4, 0, False)])
def test_what_a_node_has_by_its_kind(tmp_path: Path, architecture: str, platform: str, gpus: int, nics: int,
                                     nvlink: bool) -> None:
    spec = load(tmp_path, MINIMAL).spec
    assert hardware_of(spec, platform, architecture) == Hardware(platform, architecture, gpus, nics, nvlink)


def test_what_the_run_says_wins(tmp_path: Path) -> None:
    spec = load(tmp_path, text_of({"gpusPerNode": 2, "mlnxPerNode": 0, "enableMNNVL": False,
                                   "target": {"nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-GB200-NVL72"}}})).spec
    assert hardware_of(spec, "aws") == Hardware("aws", "gb200", 2, 0, False)
    assert hardware_of(spec, "aws", "h100").architecture == "h100"


def test_nodes_say_what_an_unknown_kind_has(tmp_path: Path) -> None:
    nodes = [Node(f"n{at}", {}, {}, (), gpus, (), False, "p", {}) for at, gpus in enumerate((0, 7, 8, 8))]
    assert (usual_gpus(nodes), usual_gpus(nodes[:3]), usual_gpus(nodes[:1])) == (8, 7, None)
    assert hardware_of(load(tmp_path, MINIMAL).spec, "sim", "unknown", 8).gpus == 8
    assert hardware_of(load(tmp_path, MINIMAL).spec, "sim", "gb200", 8).gpus == 4


def test_mpirun(tmp_path: Path) -> None:
    found = trainer(build_workflow(load(tmp_path, EXAMPLE.replace(
        "      mpirunPath", "      mpiArgs: [-x, A=b]\n      mpirunPath")), Hardware("", "gb200", 4, 8, True)))
    assert found["command"] == ["timeout", "3600", "/usr/local/mpi/bin/mpirun"]
    assert found["args"] == ["-N", "4", "--allow-run-as-root", "--mca", "plm_rsh_args",
                             "-o StrictHostKeyChecking=no -o ConnectionAttempts=10", "-x", "NCCL_DEBUG=INFO",
                             "-x", "NCCL_MNNVL_ENABLE=1", "-x", "A=b", "/usr/local/bin/all_reduce_perf_mpi",
                             "-b", "8", "-e", "32G", "-f", "2", "-n", "100"]
    assert (found["numNodes"], found["numProcPerNode"]) == (4, 4)
    assert benchmark_words(found["command"], found["args"]) == found["args"][12:]
    assert benchmark_words(["mpirun", "--output=/x/sendrecv_perf", "sendrecv_perf", "-b", "8"], []) == [
        "sendrecv_perf", "-b", "8"]


@pytest.mark.parametrize(("framework", "command", "args"), [
    ({"torch": {"script": "train.py", "args": ["--a"]}}, ["torchrun"], ["train.py", "--a"]),
    ({"torch": {"module": "a.b", "args": ["--a"]}}, ["torchrun"], ["-m", "a.b", "--a"]),
    ({"exec": {"command": ["sh", "-c"], "args": ["true"]}}, ["sh", "-c"], ["true"])])
def test_other_frameworks(tmp_path: Path, framework: Any, command: list[str], args: list[str]) -> None:
    workflow = build(tmp_path, {"framework": framework})
    assert (trainer(workflow)["command"], trainer(workflow)["args"]) == (command, args)
    assert "runtimePatches" not in workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]
    runtime = workflow["spec"]["dependencies"][0]
    assert runtime["spec"]["mlPolicy"] == {"numNodes": 2, "torch": {"numProcPerNode": 8}}
    assert [job["name"] for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]] == ["node"]
    assert runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"] == "torch"
    assert benchmark_words(command, args) is None


def test_workers_and_launcher(tmp_path: Path) -> None:
    workflow = build(tmp_path, {"framework": {"mpi": {"binary": "x", "mpirunPath": "m", "mpiImplementation": "MPICH"}}})
    runtime = workflow["spec"]["dependencies"][0]["spec"]
    assert runtime["mlPolicy"]["numNodes"] == 1
    policy = runtime["mlPolicy"]["mpi"]
    assert (policy["mpiImplementation"], policy["numProcPerNode"]) == ("MPICH", 8)
    worker, launcher = runtime["template"]["spec"]["replicatedJobs"]
    assert (worker["name"], launcher["name"]) == ("node", "launcher")
    assert launcher["dependsOn"] == [{"name": "node", "status": "Ready"}]
    assert runtime["template"]["spec"]["successPolicy"]["targetReplicatedJobs"] == ["launcher"]
    assert container(workflow)["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert "nvidia.com/gpu" not in container(workflow, 1)["resources"]["limits"]
    patches = workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]["runtimePatches"]
    assert [job["name"] for job in patches[0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]] == [
        "node", "launcher"]


def test_variables_of_the_run_take_the_place_of_the_defaults(tmp_path: Path) -> None:
    framework = {"mpi": {"binary": "x", "mpirunPath": "m"}}
    workflow = build(tmp_path, {"framework": framework, "env": [{"name": "NCCL_DEBUG", "value": "WARN"},
                                                                {"name": "MINE", "value": "1"}]})
    for job in (0, 1):
        given = [(one["name"], one["value"]) for one in container(workflow, job)["env"]]
        assert given[0] == ("NCCL_DEBUG_SUBSYS", "NET,INIT") and ("NCCL_MNNVL_ENABLE", "0") in given
        assert given[-2:] == [("NCCL_DEBUG", "WARN"), ("MINE", "1")] and len(given) == 11


@pytest.mark.parametrize(("resources", "expected"), [
    (None, {"limits": {"nvidia.com/gpu": "8"}, "requests": {"nvidia.com/gpu": "8"}}),
    ({"limits": {"memory": "9Gi"}}, {"limits": {"memory": "9Gi", "nvidia.com/gpu": "8"},
                                     "requests": {"nvidia.com/gpu": "8"}}),
    ({"limits": {"nvidia.com/gpu": 0}}, {"limits": {"nvidia.com/gpu": 0}, "requests": {}}),
    ({"requests": {"nvidia.com/gpu": 2}}, {"limits": {}, "requests": {"nvidia.com/gpu": 2}})])
def test_gpus_are_asked_for_unless_the_run_names_them(tmp_path: Path, resources: Any, expected: Any) -> None:
    assert container(build(tmp_path, {"resources": resources}))["resources"] == expected


@pytest.mark.parametrize(("mlnx", "expected"), [(None, "8"), (1, "1"), (0, None)])
def test_nics_are_asked_for_by_their_resource(tmp_path: Path, mlnx: int | None, expected: str | None) -> None:
    run = load(tmp_path, text_of({"nicResourceName": "rdma/ib", "mlnxPerNode": mlnx}))
    found = container(build_workflow(run, hardware_of(run.spec, "onprem", "gb200")))["resources"]
    assert (found["limits"].get("rdma/ib"), found["requests"].get("rdma/ib")) == (expected, expected)


def test_configuration_storage_volumes_and_secrets(tmp_path: Path) -> None:
    workflow = build(tmp_path, {
        "config": {"inline": {"a.sh": "true"}}, "checkpoint": {"storageSize": "5Gi", "storageClassName": "fast"},
        "volumes": [{"name": "data", "hostPath": {"path": "/x"}}],
        "volumeMounts": [{"name": "data", "mountPath": "/d"}],
        "initContainers": [{"name": "clone", "image": "git"}], "imagePullSecrets": [{"name": "s"}]})
    _runtime, config, claim = workflow["spec"]["dependencies"]
    assert (config["metadata"]["name"], config["data"]) == ("least-config", {"a.sh": "true"})
    assert claim["metadata"]["name"] == "least-checkpoint-pvc"
    assert claim["spec"] == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "5Gi"}},
                             "storageClassName": "fast"}
    assert [volume["name"] for volume in pod(workflow)["volumes"]] == ["dshm", "data", "config-volume"]
    assert [mount["mountPath"] for mount in container(workflow)["volumeMounts"]] == ["/dev/shm", "/d", "/config"]
    assert pod(workflow)["initContainers"] == [{"name": "clone", "image": "git"}]
    job = workflow["spec"]["jobTemplate"]["spec"]
    assert job["checkpoint"] == {"pvcName": "least-checkpoint-pvc", "maxRestarts": 0}
    patch = job["workload"]["trainJob"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    assert patch["replicatedJobs"][0]["template"]["spec"]["template"]["spec"] == {"imagePullSecrets": [{"name": "s"}]}


def test_a_configuration_that_exists_is_mounted_and_not_made(tmp_path: Path) -> None:
    workflow = build(tmp_path, {"config": {"configMapRef": {"name": "theirs"}}})
    assert len(workflow["spec"]["dependencies"]) == 1
    assert pod(workflow)["volumes"][-1]["configMap"]["name"] == "theirs"


def test_thresholds_and_orchestration(tmp_path: Path) -> None:
    workflow = build(tmp_path, {
        "thresholds": {"busBandwidthGBps": "value >= 45"}, "numNodes": 5,
        "orchestration": {"testScale": "intra-node", "repeatCount": 3, "maxConcurrent": 2, "timeoutPerJob": "30m"}})
    assert workflow["spec"]["validation"] == {"performance": {
        "enabled": True, "thresholds": {"thresholds": {"busBandwidthGBps": "value >= 45"}}}}
    orchestration = workflow["spec"]["orchestration"]
    assert orchestration["iterations"] == 3
    assert orchestration["execution"] == {"maxConcurrent": 2, "timeoutPerJob": "30m", "retryFailedGroups": 0}
    assert nodes_per_job(workflow) == 1                                          # each node on its own


def test_intra_rack_takes_the_platforms_label(tmp_path: Path) -> None:
    """Overrides of its own come first, so a run's override wins over them and its number is later."""
    spec = {"orchestration": {"testScale": "intra-rack"},
            "overrides": [{"when": {"platform": {"equals": "gcp"}},
                           "orchestration": {"topology": {"topologyKey": "mine", "strictDomain": True}}}]}
    run = load(tmp_path, text_of(spec))
    assert build_workflow(run)["spec"]["orchestration"]["topology"] == {"strictDomain": True}
    keys = {platform: resolve_run(run, Hardware(platform)).workflow["spec"]["orchestration"]["topology"]
            for platform in ("aws", "gcp", "azure", "sim", "oci")}
    strict = {"strictDomain": True}
    assert keys == {"aws": {"topologyKey": "topology.k8s.aws/network-node-layer-1", **strict},
                    "gcp": {"topologyKey": "mine", **strict},
                    "azure": {"topologyKey": "kubernetes.azure.com/ppg", **strict},
                    "sim": {"topologyKey": "topology.kubernetes.io/rack", **strict}, "oci": strict}
    assert [one.index for one in resolve_run(run, Hardware("gcp")).applied] == [1, 4]


def test_diagnose_is_handed_on(tmp_path: Path) -> None:
    workflow = build(tmp_path, {"orchestration": {"diagnose": {"minGroupSize": 1}}})
    assert workflow["spec"]["orchestration"]["diagnose"] == {"minGroupSize": 1, "topologyKey": ""}


def test_what_a_resolved_workflow_asks_for(tmp_path: Path) -> None:
    overrides = [{"when": {}, "jobTemplate": {"spec": {"workload": {"trainJob": {"trainer": {
        "numNodes": 3, "resourcesPerNode": {"requests": {"nvidia.com/gpu": "9"}, "note": {"nvidia.com/gpu": 99}}}}}}}}]
    run = load(tmp_path, text_of({"overrides": overrides}))
    assert (gpus_per_node(build_workflow(run, EIGHT)), nodes_per_job(build_workflow(run, EIGHT))) == (8, 2)
    resolved = resolve_run(run, EIGHT).workflow
    assert (gpus_per_node(resolved), nodes_per_job(resolved)) == (9, 3)
    trainer(resolved)["numNodes"] = "3"
    with pytest.raises(InputError) as caught:
        nodes_per_job(resolved)
    assert str(caught.value) == ("spec.jobTemplate.spec.workload.trainJob.trainer.numNodes: '3' is not a whole number; "
                                 "valid: 1 or more")


def test_rendering_imports_no_engine(write: Any) -> None:
    code = (f"import sys; from distsim.workloadrun.render import render; render({write(EXAMPLE)!r});"
            "print([m for m in ('numba', 'mpi4py', 'polars', 'celpy', 're2', 'jsonpatch') if m in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
