"""Whole runs on small simulated clusters, with the engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from workloadrun_clusters import RACK, cluster_file, run_file
from workloadrun_files import EXAMPLE

from distsim.errors import InputError
from distsim.workloadrun.report import exit_code
from distsim.workloadrun.run import Options, run_workload
from distsim.workloadrun.simulate import time_ps

CLUSTER12 = str(Path(__file__).parents[1] / "configs" / "cluster12.yaml")
QUIET = Options(quiet=True)


def run(folder, cluster=None, options=QUIET, name="run", **spec):
    """Run a small WorkloadRun; its report, and where its state is."""
    path = run_file(folder, name, **spec)
    return run_workload(path, cluster or cluster_file(folder), folder / "state", options)


def test_jobs_run_together_and_each_has_its_own_measurement(tmp_path):
    report = run(tmp_path)
    assert (report["phase"], report["reason"]) == ("Succeeded", "WorkflowSucceeded")
    assert [job["nodes"] for job in report["jobs"]] == [[f"node{at:02d}", f"node{at + 1:02d}"] for at in (0, 2, 4, 6)]
    for job in report["jobs"]:
        assert [row["sizeBytes"] for row in job["results"]] == [65536]
        assert job["busBW"] == job["results"][0]["busBW"] and 0 < float(job["busBW"]) < 50
        assert (job["transport"], job["verdict"], job["phase"]) == (["UET"], "PASSED", "Succeeded")
    assert [job["switches"] for job in report["jobs"]] == [[f"RackSwitch-{at}"] for at in range(4)]
    assert len({job["busBW"] for job in report["jobs"]}) == 1              # alike, and alone in their racks
    waves = sorted(path.name for path in (tmp_path / "state" / "records").iterdir())
    assert waves == ["wave-1"]


def test_documents_of_a_run_refer_to_each_other(tmp_path):
    run(tmp_path, goodputMeasurement={"logProfileRef": "megatron-training"})
    state = tmp_path / "state"
    document = yaml.safe_load((state / "workloadrun.yaml").read_text())
    assert document["status"]["workflowRef"] == {"name": "run"} and document["status"]["resolvedGpusPerNode"] == 2
    workflow = yaml.safe_load((state / "workflow.yaml").read_text())
    assert workflow["metadata"]["name"] == "run"
    assert [group["jobRef"]["name"] for group in workflow["status"]["orchestration"]["groups"]] == [
        f"run-group-{at}-iter-1" for at in range(4)]
    for kind, name in (("bandwidth", "BandwidthMeasurement"), ("goodput", "GoodputMeasurement")):
        measured = yaml.safe_load((state / "measurements" / f"run-group-2-iter-1-{kind}.yaml").read_text())
        assert (measured["kind"], measured["metadata"]["name"]) == (name, f"run-group-2-iter-1-{kind}")
        assert measured["spec"]["jobRef"] == {"apiGroup": "nvcre.nvidia.com", "kind": "Job",
                                              "name": "run-group-2-iter-1"}
    job = yaml.safe_load((state / "jobs" / "run-group-2-iter-1.yaml").read_text())
    holds = {one["type"]: one["status"] for one in job["status"]["conditions"]}
    assert holds == {"InProgress": "False", "Succeeded": "True", "Failed": "False"}


def test_a_log_of_nccl_tests_has_no_goodput(tmp_path):
    report = run(tmp_path, goodputMeasurement={"logProfileRef": "megatron-training"})
    assert report["phase"] == "Succeeded"
    assert {job["goodput"]["reason"] for job in report["jobs"]} == {"NoDataCollected"}


def test_jobs_that_share_a_spine_are_slower_than_alone(tmp_path):
    """Two racks of four NICs on one spine link a rack: a job of both racks has it alone, or half of it."""
    pools = [{"name": "gpu", "count": 4, "names": "node{00}", "chips": {"count": 2}, "nics": {"count": 2}}]
    network = {"kind": "rack", "nodes_per_rack": 2, "spines": 1}
    cluster = cluster_file(tmp_path, pools=pools, network=network)
    crossing = {"nodeNames": ["node00", "node02"]}
    alone = run(tmp_path, cluster, name="one", target=crossing, args="-b 1M -e 1M -n 1 -w 0")
    other = run_file(tmp_path, "two", args="-b 1M -e 1M -n 1 -w 0", overrides=None)
    labels = [{"nodes": [f"node{at:02d}"], "labels": {"pair": str(at % 2)}} for at in range(4)]
    paired = cluster_file(tmp_path, "paired", pools=pools, network=network, overrides=labels)
    text = yaml.safe_load(Path(other).read_text())
    topology = {"topologyKey": "pair", "strictDomain": True}
    text["spec"]["overrides"] = [{"when": {}, "orchestration": {"topology": topology}}]
    Path(other).write_text(yaml.safe_dump(text))
    both = run_workload(other, paired, tmp_path / "both", QUIET)
    assert [job["nodes"] for job in both["jobs"]] == [["node00", "node02"], ["node01", "node03"]]
    shared = [float(job["busBW"]) for job in both["jobs"]]
    assert max(shared) < 0.7 * float(alone["jobs"][0]["busBW"])
    assert both["jobs"][0]["switches"] == ["RackSwitch-0", "RackSwitch-1", "SpineSwitch-0"]


def test_overflow_groups_and_maxConcurrent_make_waves_one_after_the_other_in_time(tmp_path):
    report = run(tmp_path, numNodes=3, orchestration={"maxConcurrent": 1})
    assert [job["group"] for job in report["jobs"]] == ["group-0", "group-1", "group-2-overflow"]
    assert report["jobs"][2]["nodes"] == ["node05", "node06", "node07"]
    found = [yaml.safe_load((tmp_path / "state" / "jobs" / f"{job['name']}.yaml").read_text())["status"]
             for job in report["jobs"]]
    times = [time_ps(status[key]) for status in found for key in ("workloadStartTime", "completionTime")]
    assert times == sorted(times) and len(set(times)) == 6           # one begins after the other has ended
    assert len(list((tmp_path / "state" / "records").iterdir())) == 3


def test_repeatCount_runs_everything_again_with_the_same_result(tmp_path):
    report = run(tmp_path, cluster_file(tmp_path, count=2), orchestration={"repeatCount": 2})
    assert [job["name"] for job in report["jobs"]] == ["run-group-0-iter-1", "run-group-0-iter-2"]
    assert report["jobs"][0]["results"] == report["jobs"][1]["results"]


def test_intra_rack_and_intra_node(tmp_path):
    racks = run(tmp_path, orchestration={"testScale": "intra-rack"})
    assert [(job["nodes"], job["domains"]) for job in racks["jobs"]][1] == (["node02", "node03"], ["rack-1"])
    nodes = run_workload(run_file(tmp_path, "alone", orchestration={"testScale": "intra-node"}), cluster_file(tmp_path),
                         tmp_path / "alone", QUIET)
    assert [job["nodes"] for job in nodes["jobs"]] == [[f"node{at:02d}"] for at in range(8)]


def test_unpinned_runs_one_job_on_the_first_free_nodes(tmp_path):
    report = run(tmp_path, numNodes=3, orchestration={"placement": "Unpinned"},
                 options=Options(quiet=True, busy=("node01",)))
    assert [job["nodes"] for job in report["jobs"]] == [["node00", "node02", "node03"]]
    assert (report["testedNodes"], report["targetNodes"], report["placement"]) == (3, 8, "Unpinned")


def test_a_job_without_a_gang_stays_half_placed_until_its_timeout(tmp_path):
    busy = tuple(f"node{at:02d}" for at in range(6))
    orchestration = {"placement": "Unpinned", "timeoutPerJob": "10s"}
    report = run(tmp_path, numNodes=3, orchestration=orchestration, options=Options(quiet=True, busy=busy))
    job = report["jobs"][0]
    assert (job["phase"], job["reason"], job["nodes"]) == ("Failed", "JobTimedOut", ["node06", "node07"])
    assert job["message"] == "Job exceeded timeoutPerJob; 2 of 3 pods started"
    assert (report["phase"], report["reason"], exit_code(report)) == ("Failed", "WorkflowFailed", 3)
    assert next(one for one in job["conditions"] if one["type"] == "Failed")["lastTransitionTime"] == \
        "1970-01-01T00:00:10.001Z"
    gang = run_workload(run_file(tmp_path, "gang", numNodes=3, orchestration=orchestration,
                                 gangScheduler={"schedulerName": "kai-scheduler"}), cluster_file(tmp_path),
                        tmp_path / "gang", Options(quiet=True, busy=busy))
    assert (gang["jobs"][0]["nodes"], gang["jobs"][0]["message"]) == (
        [], "Job exceeded timeoutPerJob; 0 of 3 pods started")


def test_a_job_that_takes_longer_than_its_timeout_fails_without_bandwidth(tmp_path):
    report = run(tmp_path, cluster_file(tmp_path, count=2), args="-b 8 -e 64K -f 2 -n 1 -w 0", thresholds={
        "busBandwidthGBps": "value > 0"}, orchestration={"timeoutPerJob": "50us"})
    job = report["jobs"][0]
    assert (job["phase"], job["reason"], job["verdict"]) == ("Failed", "JobTimedOut", "FAILED")
    assert job["bandwidth"]["reason"] == "JobFailed" and "thresholds" not in job
    assert (exit_code(report), report["failedNodes"][0]) == (3, {"name": "node00", "reason": "WorkloadFailed"})


def test_a_threshold_that_fails_and_one_that_holds(tmp_path):
    report = run(tmp_path, thresholds={"busBandwidthGBps": "value >= 60", "algBandwidthGBps": "value > 0"})
    job = report["jobs"][0]
    assert job["violation"] == (f'Threshold "busBandwidthGBps" violated: measured {float(job["busBW"]):.4f}, '
                                "expression: value >= 60")
    assert {one["key"]: one["passed"] for one in job["thresholds"]} == {"busBandwidthGBps": False,
                                                                        "algBandwidthGBps": True}
    assert (report["phase"], report["reason"], exit_code(report)) == ("Failed", "WorkflowValidationFailed", 4)
    assert report["message"] == "4 groups failed across 1 iterations"
    assert report["failedNodes"][0] == {"name": "node00", "reason": "ThresholdViolation"}
    path = run_file(tmp_path, "good", thresholds={"busBandwidthGBps": "value > 1"})
    good = run_workload(path, cluster_file(tmp_path), tmp_path / "good", QUIET)
    assert (good["phase"], exit_code(good), good["failedNodes"]) == ("Succeeded", 0, [])


def test_training_and_other_workloads_of_the_cluster(tmp_path):
    workloads = {"train": {"kind": "training", "steps": 30, "compute": "1ms", "gradients": "1KB"},
                 "loop": {"kind": "collective", "collective": "all_reduce", "size": "1KB"}}
    cluster = cluster_file(tmp_path, count=2, workloads=workloads)
    torch = {"torch": {"script": "train.py"}}
    trained = run(tmp_path, cluster, name="train", framework=torch, bandwidthMeasurement=None,
                  goodputMeasurement={"logProfileRef": "megatron-training"},
                  thresholds={"avgStepTimeSec": "value < 0.01", "goodputRatio": "value > 0.5"})
    assert (trained["phase"], trained["jobs"][0]["goodput"]["reason"]) == ("Succeeded", "JobSucceeded")
    assert 0.001 <= float(trained["jobs"][0]["goodput"]["avgStepTimeSec"]) < 0.0011
    loop = run_workload(run_file(tmp_path, "loop", framework=torch), cluster, tmp_path / "loop", QUIET)
    assert (loop["phase"], loop["jobs"][0]["bandwidth"]["reason"]) == ("Succeeded", "NoDataCollected")


def test_a_log_profile_beside_the_run(tmp_path):
    path = Path(run_file(tmp_path, bandwidthMeasurement={"logProfileRef": "mine"}))
    regex = r"^\s*(?P<size>65536)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+[\d.]+\s+(?P<algBW>[\d.]+)\s+(?P<busBW>[\d.]+)"
    profile = {"apiVersion": "nvcre.nvidia.com/v1alpha1", "kind": "LogProfile", "metadata": {"name": "mine"}, "spec": {
        "timestamp": {"layout": "2006-01-02T15:04:05Z07:00"}, "patterns": {"bandwidthResult": {"regex": regex}}}}
    path.write_text(path.read_text() + "---\n" + yaml.safe_dump(profile))
    report = run_workload(str(path), cluster_file(tmp_path, count=2), tmp_path / "state", QUIET)
    assert report["jobs"][0]["results"][0]["sizeBytes"] == 65536
    measured = (tmp_path / "state" / "measurements" / "run-job-bandwidth.yaml").read_text()
    assert "logProfileRef: mine\n" in measured


# ---- immutability ----------------------------------------------------------------------------------------------------
def test_the_same_spec_again_is_not_run_again_and_another_is_refused(tmp_path):
    cluster = cluster_file(tmp_path, count=2)
    first = run(tmp_path, cluster)
    log = next((tmp_path / "state" / "records").rglob("*launcher.log"))
    log.write_text("untouched")
    assert run(tmp_path, cluster) == first and log.read_text() == "untouched"
    with pytest.raises(InputError, match=r"spec: spec is immutable after creation: spec\.image, spec\.numNodes of"):
        run(tmp_path, cluster, image="other", numNodes=1)
    with pytest.raises(InputError, match="holds WorkloadRun run, not second"):
        run(tmp_path, cluster, name="second")
    with pytest.raises(InputError, match="holds WorkloadRun run of another cluster"):
        run(tmp_path, cluster_file(tmp_path, "other", count=3))
    with pytest.raises(InputError, match="which was run with another --steady"):
        run(tmp_path, cluster, options=Options(quiet=True, steady=True))


def test_a_default_written_out_is_the_same_spec(tmp_path):
    cluster = cluster_file(tmp_path, count=2)
    first = run(tmp_path, cluster)
    assert run(tmp_path, cluster, orchestration={"placement": "Pinned", "repeatCount": 1}) == first


def test_a_run_that_was_interrupted_is_begun_anew(tmp_path):
    cluster = cluster_file(tmp_path, count=2)
    first = run(tmp_path, cluster)
    state = tmp_path / "state" / "state.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "phase": "InProgress"}))
    (tmp_path / "state" / "jobs" / "left.yaml").write_text("")
    assert run(tmp_path, cluster) == first and not (tmp_path / "state" / "jobs" / "left.yaml").exists()


def test_a_workflow_whose_gang_scheduler_was_changed_by_hand(tmp_path):
    cluster = cluster_file(tmp_path, count=2)
    run(tmp_path, cluster, gangScheduler={"schedulerName": "kai-scheduler"})
    path = tmp_path / "state" / "workflow.yaml"
    path.write_text(path.read_text().replace("queue: default-queue", "queue: team-b"))
    with pytest.raises(InputError, match="gangScheduler is immutable"):
        run(tmp_path, cluster, gangScheduler={"schedulerName": "kai-scheduler"})


@pytest.mark.parametrize(("spec", "text"), [
    ({"args": "-b 64K -e 64K -q"}, "job run-job cannot be simulated: workload.parts.0.command: unknown option '-q'"),
    ({"bandwidthMeasurement": {"logProfileRef": "nothing"}}, "'nothing' is not a log profile for it; valid: nccl-"),
    ({"numNodes": 3}, "Not enough schedulable nodes: need 3, found 2"),
    ({"gangScheduler": {"schedulerName": "kai-scheduler", "queue": "b"}}, "queue 'b' is not a queue of cluster"),
    ({"framework": {"exec": {"command": ["sleep"]}}}, "job 'run-job' (image 'nccl', command 'sleep') is no nccl-tests"),
])
def test_what_cannot_be_run_leaves_nothing_behind(tmp_path, spec, text):
    with pytest.raises(InputError) as found:
        run(tmp_path, cluster_file(tmp_path, count=2, queues=[{"name": "a"}]), **spec)
    assert text in str(found.value)
    assert not (tmp_path / "state").exists()


def test_a_run_that_is_refused_as_too_long_can_be_run_otherwise(tmp_path):
    from distsim.limits import Limits

    cluster = cluster_file(tmp_path, count=2)
    with pytest.raises(InputError, match="projected"):
        run(tmp_path, cluster, options=Options(quiet=True, limits=Limits(10, False)))
    assert not (tmp_path / "state").exists()
    assert run(tmp_path, cluster, options=Options(quiet=True, steady=True))["phase"] == "Succeeded"


# ---- diagnose --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("spec", "options"), [
    ({}, Options(quiet=True, diagnose=True)),
    ({"orchestration": {"diagnose": {"topologyKey": RACK}}}, QUIET),
])
def test_the_rack_with_a_slow_uplink_is_found(tmp_path, spec, options):
    cluster = cluster_file(tmp_path, links=[{"rack": 2, "uplink_rate": "50Gbps"}])
    report = run(tmp_path, cluster, options, args="-b 512K -e 512K -n 1 -w 0",
                 thresholds={"busBandwidthGBps": "value >= 25"}, **spec)
    assert report["diagnose"]["faultyDomains"] == ["rack-2"]
    assert report["diagnose"]["message"] == ("Diagnosis complete: 1 faulty nodes confirmed; links of rack-2 to other "
                                             "domains")
    assert (report["phase"], report["failedNodes"], exit_code(report)) == (
        "Failed", [{"name": "node04", "reason": "WorkloadFailed"}], 4)
    verdicts = {job["group"]: job["verdict"] for job in report["jobs"]}
    assert verdicts["screen-2"] == "PASSED" and verdicts["inter-domain"] == verdicts["bisect-2-0b"] == "FAILED"


def test_a_diagnosis_of_a_sound_cluster(tmp_path):
    report = run(tmp_path, options=Options(quiet=True, diagnose=True), thresholds={"busBandwidthGBps": "value >= 1"})
    assert (report["phase"], report["message"]) == ("Succeeded", "Workflow completed successfully")
    assert report["diagnose"]["message"] == "All screening passed, no faults detected"


# ---- the documentation's example -------------------------------------------------------------------------------------
def small(folder, more="", nodes=2):
    text = EXAMPLE.replace('"32G"', '"1M"').replace('"100"', '"1"').replace("numNodes: 4", f"numNodes: {nodes}")
    path = folder / "small.yaml"
    path.write_text(text + more)
    return str(path)


@pytest.mark.parametrize(("placement", "size", "jobs"), [("Pinned", 4, 3), ("Unpinned", 4, 1), ("Pinned", 2, 6)])
def test_a_small_copy_of_the_example_on_twelve_nodes(tmp_path, placement, size, jobs):
    path = small(tmp_path, f"  orchestration:\n    placement: {placement}\n", size)
    report = run_workload(path, CLUSTER12, tmp_path / "state", QUIET)
    assert report["phase"] == "Succeeded" and len(report["jobs"]) == jobs
    nodes = [name for job in report["jobs"] for name in job["nodes"]]
    assert nodes == [f"node{at:03d}" for at in range(size * jobs)]
    for job in report["jobs"]:
        assert (len(job["nodes"]), job["verdict"], job["transport"]) == (size, "PASSED", ["UET"])
        assert [row["sizeBytes"] for row in job["results"]] == [8 << at for at in range(18)]
        assert 30 < float(job["busBW"]) < 50                              # of NICs of 50 GB/s
        assert job["goodput"]["reason"] == "NoDataCollected"
