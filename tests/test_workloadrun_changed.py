"""What overrides and options change of a run, from the Workflow to the verdict."""

from __future__ import annotations

from typing import Any

import pytest
from workloadrun_clusters import cluster_file, plan_of, run_file
from workloadrun_files import EXAMPLE, load

from distsim.errors import InputError
from distsim.workloadrun.gang import checked
from distsim.workloadrun.report import exit_code
from distsim.workloadrun.run import Options, run_workload
from distsim.workloadrun.workflow import build_workflow


def always(**changes: Any) -> list[dict[str, Any]]:
    return [{"when": {}, **changes}]


def ran(folder, options=None, **spec):
    return run_workload(run_file(folder, **spec), cluster_file(folder, count=2), folder / "state",
                        options or Options(quiet=True))


def test_thresholds_that_an_override_sets_are_judged(tmp_path):
    report = ran(tmp_path, overrides=always(jobTemplate={"spec": {"thresholds": {
        "busBandwidthGBps": "value > 1000", "algBandwidthGBps": "value > 0"}}}))
    assert (report["phase"], report["jobs"][0]["verdict"]) == ("Failed", "FAILED")
    assert report["jobs"][0]["violation"].endswith("expression: value > 1000")
    assert [one["passed"] for one in report["jobs"][0]["thresholds"]] == [True, False]


@pytest.mark.parametrize(("spec", "text"), [
    ({"thresholds": {"busBW": "value > 1"}}, "Template.spec.thresholds.busBW: unknown threshold key(s) [busBW]"),
    ({"thresholds": {"busBandwidthGBps": "value >"}}, "thresholds.busBandwidthGBps: 'value >' is not a CEL expression"),
    ({"thresholds": ["value > 1"]}, "jobTemplate.spec.thresholds: ['value > 1'] is not a section"),
    ({"measurementTimeout": "soon"}, "spec.jobTemplate.spec.measurementTimeout: 'soon' is not a Go duration"),
])
def test_thresholds_of_an_override_are_checked_before_anything_runs(tmp_path, spec, text):
    with pytest.raises(InputError) as found:
        ran(tmp_path, bandwidthMeasurement=None, overrides=always(jobTemplate={"spec": spec}))
    assert text in str(found.value) and not (tmp_path / "state").exists()


def test_a_threshold_on_what_is_not_measured_fails(tmp_path):
    report = ran(tmp_path, bandwidthMeasurement=None, thresholds={"busBandwidthGBps": "value > 0"})
    assert report["jobs"][0]["violation"] == ("Measurement data not available within 5m0s for keys: "
                                              "[busBandwidthGBps]")
    assert (report["jobs"][0]["results"], exit_code(report)) == ([], 4)


@pytest.mark.parametrize(("given", "said"), [("90s", "1m30s"), ("3m", "3m0s"), ("1h30m", "1h30m0s"), ("2.5s", "2.5s")])
def test_the_timeout_that_an_override_sets_is_named(tmp_path, given, said):
    report = ran(tmp_path, bandwidthMeasurement=None, thresholds={"busBandwidthGBps": "value > 1"},
                 overrides=always(jobTemplate={"spec": {"measurementTimeout": given}}))
    assert report["jobs"][0]["violation"] == (f"Measurement data not available within {said} for keys: "
                                              "[busBandwidthGBps]")


def test_the_platform_and_architecture_that_are_given_are_reported(tmp_path):
    report = ran(tmp_path, Options(quiet=True, platform="aws", gpu_arch="b200"))
    assert (report["platform"], report["gpuArchitecture"]) == ("aws", "b200")


@pytest.mark.parametrize("name", ["node", "launcher"])
def test_a_runtime_patch_may_set_the_scheduler(tmp_path, name):
    workflow = build_workflow(load(tmp_path, EXAMPLE))
    job = {"name": name, "template": {"spec": {"template": {"spec": {"schedulerName": "other"}}}}}
    train_job = workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]
    train_job["runtimePatches"].append(
        {"manager": "user", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}})
    with pytest.raises(InputError) as found:
        checked(workflow["spec"])
    assert found.value.message == ('gangScheduler is configured with schedulerName "kai-scheduler" but TrainingRuntime '
                                   f'"nccl-all-reduce-runtime" replicatedJob "{name}" sets schedulerName "other"')
    job["template"]["spec"]["template"]["spec"]["schedulerName"] = "kai-scheduler"
    checked(workflow["spec"])


def of_train_job(**changes: Any) -> dict[str, Any]:
    return {"jobTemplate": {"spec": {"workload": {"trainJob": changes}}}}


RUNTIME = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
           "metadata": {"name": "run-runtime"}}


@pytest.mark.parametrize(("changes", "text"), [
    (of_train_job(trainer={"numProcPerNode": "many"}), "trainer.numProcPerNode: 'many' is not a whole number"),
    (of_train_job(trainer={"command": "sleep 1"}), "trainer.command: 'sleep 1' is not a list of texts"),
    (of_train_job(trainer={"args": ["-b", 8]}), "trainer.args: ['-b', 8] is not a list of texts"),
    (of_train_job(runtimePatches=[{"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{}]}}}}]),
     "replicatedJobs: an entry has no name"),
    ({"dependencies": [{**RUNTIME, "spec": {"template": {"spec": {"replicatedJobs": [{"template": {}}]}}}}]},
     "replicatedJobs: an entry has no name"),
    ({"jobTemplate": {"metadata": {"labels": "x"}}}, "metadata.labels: 'x' is not a section of texts"),
    ({"jobTemplate": {"metadata": {"annotations": {"a": 1}}}}, "metadata.annotations: {'a': 1} is not a section of"),
])
def test_what_an_override_leaves_must_be_of_the_right_kind(tmp_path, changes, text):
    with pytest.raises(InputError) as found:
        plan_of(tmp_path, overrides=always(**changes)).jobs()
    assert text in str(found.value)


@pytest.mark.parametrize(("given", "ranks"), [(1, 1), ("auto", 2), ("gpu", 2)])
def test_processes_of_a_node(tmp_path, given, ranks):
    plan = plan_of(tmp_path, overrides=always(**of_train_job(trainer={"numProcPerNode": given})))
    assert plan.ranks_per_node == ranks


def test_a_runtime_that_says_nothing_of_its_jobs_has_workers(tmp_path):
    plan = plan_of(tmp_path, overrides=always(dependencies=[{**RUNTIME, "spec": {"template": [1]}}]))
    assert plan.jobs()[0].mpi                          # the Workflow's own patches still name both
