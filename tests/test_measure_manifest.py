"""BandwidthMeasurement files: what is read, what stands beside them, and the status that they gain."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from measure_cases import HEADER, row

from distsim.cli import run_cli
from distsim.measure.run_manifest import load_measurement

MANIFEST = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: BandwidthMeasurement
metadata: {name: bw, namespace: team, labels: {nvcre.nvidia.com/workflow: nightly}}
spec:
  jobRef: {apiGroup: nvcre.nvidia.com, kind: Job, name: nccl-1}
  logProfileRef: nccl-bandwidth
  testType: all_reduce
"""
PROFILE = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: LogProfile
metadata: {name: NAME}
spec:
  timestamp: {layout: x}
  patterns:
    bandwidthResult: {regex: '(?P<size>[0-9]+) [0-9]+ +float.*(?P<algBW>35)(?P<busBW>.15)'}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "launcher.log"
    rows = row(8, "1.00", "1.75") + row(16, "26.00", "45.50")
    path.write_text("h:1:1 [0] NCCL INFO Using network IB\n" + HEADER + rows)
    return str(path)


def bandwidth(*arguments: str) -> int:
    return run_cli(["bandwidth", *arguments])


def manifest(tmp_path: Path, text: str = MANIFEST) -> str:
    path = tmp_path / "bw.yaml"
    path.write_text(text)
    return str(path)


def test_a_manifest_alone_is_checked(tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path)
    assert bandwidth("-f", path) == 0
    assert capfd.readouterr().out == (f"{path}: valid; bw: job nccl-1, profile nccl-bandwidth, every 60s; not "
                                      "measured: no LOG, and no run runs/nccl-1\n")


def test_a_manifest_with_a_log_gains_its_status(log: str, tmp_path: Path, capfd: Capture) -> None:
    prom = tmp_path / "bw.prom"
    assert bandwidth("-f", manifest(tmp_path), log, "-o", "yaml", "--prometheus", str(prom),
                     "--threshold", "busBandwidthGBps=value >= 45") == 0
    shown = yaml.safe_load(capfd.readouterr().out)
    assert {key: shown[key] for key in ("apiVersion", "kind", "metadata", "spec")} == yaml.safe_load(MANIFEST)
    assert shown["status"]["results"][1]["busBW"] == "45.50"
    assert ('nvcre_nccl_busbw_gbs{job="nccl-1",measurement="bw",message_size_bytes="16",namespace="team",'
            'nccl_test="all_reduce",workflow="nightly"} 45.5') in prom.read_text()


def test_a_profile_beside_the_manifest_or_in_its_file(log: str, tmp_path: Path, capfd: Capture) -> None:
    """The profile takes 35 and .15 of the time column 35.15 for bandwidths."""
    wanted = MANIFEST.replace("logProfileRef: nccl-bandwidth", "logProfileRef: own")
    profile = tmp_path / "own.yaml"
    profile.write_text(PROFILE.replace("NAME", "own").replace("[0-9]+) [0-9]+", "[0-9]+) +[0-9]+"))
    for arguments in (["-f", manifest(tmp_path, wanted), "--profile", str(profile)],
                      ["-f", manifest(tmp_path, f"{profile.read_text()}---\n{wanted}")]):
        assert bandwidth(*arguments, log, "-o", "json") == 0
        (one, two) = json.loads(capfd.readouterr().out)["status"]["results"]
        assert (one["algBW"], one["busBW"], two["sizeBytes"]) == ("35.00", "0.15", 16)
    assert bandwidth("-f", manifest(tmp_path), "--profile", str(profile), log) == 2
    assert capfd.readouterr().err == ("distsim: error: --profile: the profile is named 'own', spec.logProfileRef is "
                                      "'nccl-bandwidth'\n")


def test_a_profile_that_does_not_resolve_leaves_the_logs_unavailable(log: str, tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, MANIFEST.replace("logProfileRef: nccl-bandwidth", "logProfileRef: own"))
    assert bandwidth("-f", path, log, "-o", "json", "--threshold", "busBandwidthGBps=true") == 4
    condition = json.loads(capfd.readouterr().out)["status"]["conditions"][1]
    assert (condition["type"], condition["reason"]) == ("Complete", "LogsUnavailable")
    assert condition["message"] == ("Job succeeded but its log could not be read in full (getting LogProfile own: not "
                                    "found); no bandwidth data was parsed")


def run_of(path: str, log: str, *arguments: str, capfd: Capture) -> dict[str, Any]:
    """The status that a manifest gains."""
    assert bandwidth("-f", path, log, "-o", "json", *arguments) == 0
    return dict(json.loads(capfd.readouterr().out)["status"])


JOB = """---
apiVersion: nvcre.nvidia.com/v1alpha1
kind: Job
metadata: {name: nccl-1, labels: {nvcre.nvidia.com/workflow: nightly}}
spec: {EXTRA}
"""
WORKFLOW = """---
kind: Workflow
metadata:
  name: nightly
  labels: {nvcre.nvidia.com/certification: cert, nvcre.nvidia.com/category-domain: network,
           nvcre.nvidia.com/category-variant: nccl}
spec: {validation: {performance: {EXTRA}}}
"""
CERTIFICATION = """---
kind: Certification
metadata: {name: cert}
spec:
  TOP
  categories:
    - {domain: network, variant: rdma, options: {measurementTimeout: 3m}}
    - {domain: network, variant: nccl, options: {EXTRA}}
"""
MINUTES_20 = CERTIFICATION.replace("TOP", "measurementTimeout: 20m")


@pytest.mark.parametrize(("beside", "timeout_s"), [
    ("", None),
    (JOB.replace("EXTRA", "measurementTimeout: 10m"), 600),
    (JOB.replace("EXTRA", "measurementTimeout: 10m").replace("nccl-1", "nccl-2"), None),
    (JOB.replace("EXTRA", "") + WORKFLOW.replace("EXTRA", "measurementTimeout: 7m"), 420),
    (WORKFLOW.replace("EXTRA", "measurementTimeout: 7m"), 420),                  # by the measurement's label
    (WORKFLOW.replace("EXTRA", "measurementTimeout: 7m").replace("name: nightly", "name: other"), None),
    (WORKFLOW.replace("EXTRA", "") + MINUTES_20.replace("EXTRA", "measurementTimeout: 15m"), 900),
    (WORKFLOW.replace("EXTRA", "") + MINUTES_20.replace("EXTRA", ""), 1200),
    (WORKFLOW.replace("EXTRA", "") + CERTIFICATION.replace("EXTRA", "").replace(
        "TOP", "options: {measurementTimeout: 25m}"), 1500),
    (WORKFLOW.replace("EXTRA", "measurementTimeout: 7m") + MINUTES_20.replace("EXTRA", ""), 420),
    (JOB.replace("EXTRA", "measurementTimeout: 10m") + WORKFLOW.replace("EXTRA", "measurementTimeout: 7m")
     + MINUTES_20.replace("EXTRA", "measurementTimeout: 15m"), 600),
    (MINUTES_20.replace("nccl, options: {EXTRA}", "nccl, options: {measurementTimeout: 180s}"), 180),
])
def test_where_the_measurement_timeout_comes_from(beside: str, timeout_s: float | None, tmp_path: Path) -> None:
    """The Job's own, else its Workflow's, else the category's, else the Certification's."""
    assert load_measurement(manifest(tmp_path, MANIFEST + beside)).job.timeout_s == timeout_s


def test_categories_that_differ_need_a_workflow_that_chooses(tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, MANIFEST + MINUTES_20.replace("EXTRA", "measurementTimeout: 15m"))
    assert bandwidth("-f", path) == 2
    assert capfd.readouterr().err.startswith(
        f"distsim: error: {path}:13: spec.categories: the categories differ in measurementTimeout; a Workflow with")


def test_a_timeout_on_the_command_line_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def read(_read: object, retry_s: float, say: object) -> Any:
        from distsim.measure.collect import Reading

        waited.append(retry_s)
        return Reading(cause="away", retryable=True)

    monkeypatch.setattr("distsim.measure.lifecycle.final_read", read)
    loaded = load_measurement(manifest(tmp_path, MANIFEST + JOB.replace("EXTRA", "measurementTimeout: 10m")))
    loaded.run("log")
    loaded.run("log", timeout_s=200.0)
    loaded.run("log", timeout_s=5.0)
    assert waited == [600, 200, 120]


ENDED = """status:
  conditions:
    - {type: InProgress, status: "False", lastTransitionTime: "2026-08-06T14:10:00Z"}
    - {type: REASON, status: "True", lastTransitionTime: "2026-08-06T14:20:00Z"}
"""


@pytest.mark.parametrize(("how", "reason"), [("Succeeded", "JobSucceeded"), ("Failed", "JobFailed")])
def test_the_job_document_says_how_and_when_the_job_ended(how: str, reason: str, log: str, tmp_path: Path,
                                                          capfd: Capture) -> None:
    job = JOB.replace("EXTRA", "") + ENDED.replace("REASON", how)
    status = run_of(manifest(tmp_path, MANIFEST + job + '  startTime: "2026-08-06T07:10:05-07:00"\n'), log, capfd=capfd)
    assert (status["startTime"], status["completionTime"]) == ("2026-08-06T14:10:05Z", "2026-08-06T14:20:00Z")
    assert {one["reason"] for one in status["conditions"]} == {reason}
    assert {one["lastTransitionTime"] for one in status["conditions"]} == {"2026-08-06T14:20:00Z"}
    other = run_of(manifest(tmp_path, MANIFEST + job), log, "--job-status", "failed", capfd=capfd)
    assert other["conditions"][1]["reason"] == "JobFailed", "the command line wins"


def test_times_of_the_job_come_before_those_of_the_log(tmp_path: Path, capfd: Capture) -> None:
    log = tmp_path / "log"
    log.write_text(f"2026-08-06T14:10:20Z {row(8)}2026-08-06T14:11:00Z end\n")
    job = JOB.replace("EXTRA", "") + ENDED.replace("REASON", "Succeeded") + '  startTime: "2026-08-06T14:10:05Z"\n'
    status = run_of(manifest(tmp_path, MANIFEST + job), str(log), capfd=capfd)
    assert (status["startTime"], status["completionTime"]) == ("2026-08-06T14:10:05Z", "2026-08-06T14:20:00Z")


def test_times_of_the_log_are_taken_if_no_job_is_there(tmp_path: Path, capfd: Capture) -> None:
    log = tmp_path / "log"
    log.write_text(f"2026-08-06T14:10:20Z {row(8)}2026-08-06T14:11:00Z end\n")
    status = run_of(manifest(tmp_path), str(log), capfd=capfd)
    assert (status["startTime"], status["completionTime"]) == ("2026-08-06T14:10:20Z", "2026-08-06T14:11:00Z")


def test_without_any_time_those_of_the_reading_are_told(log: str, tmp_path: Path, capfd: Capture) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    status = run_of(manifest(tmp_path), log, capfd=capfd)
    start, completion = (datetime.fromisoformat(status[key]) for key in ("startTime", "completionTime"))
    assert before <= start <= completion <= datetime.now(UTC)


def test_a_job_that_asks_for_a_measurement_makes_one(log: str, tmp_path: Path, capfd: Capture) -> None:
    config = "bandwidthMeasurement: {logProfileRef: nccl-bandwidth, testType: alltoall, sampleInterval: 30s}"
    path = manifest(tmp_path, JOB.replace("EXTRA", config).replace("{name: nccl-1", "{name: nccl-1, namespace: team"))
    assert bandwidth("-f", path, log, "-o", "yaml") == 0
    shown = yaml.safe_load(capfd.readouterr().out)
    assert shown["status"].pop("results")[1]["busBW"] == "45.50"
    del shown["status"]
    assert shown == {
        "apiVersion": "nvcre.nvidia.com/v1alpha1", "kind": "BandwidthMeasurement",
        "metadata": {"name": "nccl-1-bandwidth", "namespace": "team",
                     "labels": {"nvcre.nvidia.com/workflow": "nightly"}},
        "spec": {"jobRef": {"apiGroup": "nvcre.nvidia.com", "kind": "Job", "name": "nccl-1"},
                 "logProfileRef": "nccl-bandwidth", "testType": "alltoall", "sampleInterval": "30s"}}


@pytest.mark.parametrize(("beside", "code", "said"), [
    (JOB.replace("EXTRA", "thresholds: {busBandwidthGBps: value >= 45}"), 0, ""),
    (JOB.replace("EXTRA", "thresholds: {busBandwidthGBps: value >= 46, algBandwidthGBps: value > 1}"), 4,
     'Threshold "busBandwidthGBps" violated: measured 45.5000, expression: value >= 46'),
    (WORKFLOW.replace("EXTRA", "thresholds: {thresholds: {algBandwidthGBps: value < 26}}"), 4,
     'Threshold "algBandwidthGBps" violated: measured 26.0000, expression: value < 26'),
    (JOB.replace("EXTRA", "thresholds: {goodputRatio: value > 0.5}"), 4,
     "so it fails: a bandwidth measurement does not"),
    (JOB.replace("EXTRA", "thresholds: {busBandwidth: value > 1}"), 2,
     ":12: spec.thresholds.busBandwidth: unknown threshold key(s) [busBandwidth]; valid keys: [busBandwidthGBps "),
    (JOB.replace("EXTRA", "thresholds: {busBandwidthGBps: other > 1}"), 2,
     ":12: spec.thresholds.busBandwidthGBps: 'other > 1' names other; the only variable is value"),
    (JOB.replace("EXTRA", "thresholds: [1]"), 2, ":12: spec.thresholds: [1] is not a section of keys"),
    (JOB.replace("EXTRA", "thresholds: {busBandwidthGBps: true}"), 2,
     ":12: spec.thresholds.busBandwidthGBps: true is not text"),
])
def test_thresholds_that_the_file_gives_are_judged(beside: str, code: int, said: str, log: str, tmp_path: Path,
                                                   capfd: Capture) -> None:
    assert bandwidth("-f", manifest(tmp_path, MANIFEST + beside), log, "-o", "json") == code
    assert said in capfd.readouterr().err


def test_thresholds_of_the_file_and_of_the_command_line_hold_both(log: str, tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, MANIFEST + JOB.replace("EXTRA", "thresholds: {busBandwidthGBps: value >= 46}"))
    assert bandwidth("-f", path, log, "--threshold", "busBandwidthGBps=value >= 45", "-o", "json") == 4
    verdicts = json.loads(capfd.readouterr().out)["status"]["thresholds"]
    assert [one["passed"] for one in verdicts] == [True, False]


def earlier(results: str = "", since: str = "") -> str:
    pending = f"{{type: Measuring, status: 'False', reason: FinalReadPending, lastTransitionTime: '{since}'}}"
    return (f"status:\n  startTime: '2026-08-06T14:00:00Z'\n  transport: [Socket]\n  results: [{results}]\n"
            f"  conditions: [{pending if since else ''}]\n")


PROVISIONAL = "{sizeBytes: 8, algBW: '1.25', busBW: '2.25', samples: 3}"


def test_an_earlier_status_is_carried_on(log: str, tmp_path: Path, capfd: Capture) -> None:
    """Networks are added to, the start stays, provisional results are replaced by final ones."""
    status = run_of(manifest(tmp_path, MANIFEST + earlier(PROVISIONAL)), log, capfd=capfd)
    assert (status["startTime"], status["transport"]) == ("2026-08-06T14:00:00Z", ["IB", "Socket"])
    assert [one["algBW"] for one in status["results"]] == ["1.00", "26.00"]


def test_provisional_results_stay_if_the_log_cannot_be_read(tmp_path: Path, capfd: Capture) -> None:
    long = tmp_path / "log"
    long.write_text("x" * 2**21)
    path = manifest(tmp_path, MANIFEST + earlier(PROVISIONAL))
    status = run_of(path, str(long), capfd=capfd)
    assert status["results"] == [{"sizeBytes": 8, "algBW": "1.25", "busBW": "2.25", "samples": 3}]
    assert status["conditions"][1]["message"] == (
        "Job succeeded but its log could not be read in full (line 1 is longer than 1 MiB); results are provisional "
        "and are not used for threshold evaluation")
    empty = tmp_path / "empty"
    empty.write_text("")
    assert run_of(path, str(empty), capfd=capfd)["results"] == [], "the whole log was read: NoDataCollected"
    assert len(run_of(path, str(empty), "--job-status", "failed", capfd=capfd)["results"]) == 1


def test_waiting_for_the_log_goes_on_from_the_first_failure(tmp_path: Path, capfd: Capture) -> None:
    """The first failure was years ago, so there is one try and no wait."""
    path = manifest(tmp_path, MANIFEST + earlier(since="2020-01-01T00:00:00Z"))
    status = run_of(path, str(tmp_path / "none"), "--measurement-timeout", "1h", capfd=capfd)
    assert status["conditions"][1]["reason"] == "LogsUnavailable"
    assert "No such file or directory" in status["conditions"][1]["message"]


def test_a_simulated_job_is_found_by_its_name(tmp_path: Path, capfd: Capture) -> None:
    run = tmp_path / "runs" / "nccl-1"
    run.mkdir(parents=True)
    (run / "nccl-1-launcher.log").write_text(row(8, "3.00", "4.00"))
    arguments = ["-f", manifest(tmp_path), "--runs", str(tmp_path / "runs"), "-o", "json"]
    assert bandwidth(*arguments, "--threshold", "busBandwidthGBps=value >= 4") == 0
    status = json.loads(capfd.readouterr().out)["status"]
    assert status["results"] == [{"sizeBytes": 8, "algBW": "3.00", "busBW": "4.00", "samples": 1}]
    told = {"startTime": "1970-01-01T00:00:00.002Z", "completionTime": "1970-01-01T00:00:01.5Z",
            "conditions": [{"type": "Complete", "status": "True", "reason": "JobFailed"}]}
    (run / "nccl-1-bandwidth.json").write_text(json.dumps(told))
    assert bandwidth(*arguments) == 0
    status = json.loads(capfd.readouterr().out)["status"]
    assert (status["startTime"], status["completionTime"]) == (told["startTime"], told["completionTime"])
    assert status["conditions"][1]["reason"] == "JobFailed"
    (run / "nccl-1-bandwidth.json").write_text("{}")
    assert bandwidth(*arguments) == 2
    assert "is not the status of a measurement that is complete" in capfd.readouterr().err
    (run / "nccl-1-bandwidth.json").write_text("{")
    assert bandwidth(*arguments) == 2
    assert "nccl-1-bandwidth.json: is not JSON" in capfd.readouterr().err
    (run / "nccl-1-launcher.log").unlink()
    assert bandwidth(*arguments) == 2
    assert capfd.readouterr().err == (f"distsim: error: {run}: holds 0 launcher's logs (*launcher*.log); one is "
                                      "wanted\n")


def test_a_job_name_cannot_leave_the_folder_of_runs(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "x-launcher.log").write_text(row(8))
    loaded = load_measurement(manifest(tmp_path, MANIFEST.replace("name: nccl-1", "name: ..")))
    assert loaded.find_log(str(tmp_path / "runs")) is None


@pytest.mark.parametrize(("text", "said"), [
    (MANIFEST.replace("  logProfileRef: nccl-bandwidth\n", ""), ":4: spec.logProfileRef: this key is required: name"),
    (MANIFEST.replace("testType", "testtype"),
     ":7: spec.testtype: unknown key 'testtype'; nearest valid name: testType"),
    (MANIFEST + "  sampleInterval: 60\n", ":8: spec.sampleInterval: 60 is not text"),
    (MANIFEST + "  sampleInterval: 0s\n", ":8: spec.sampleInterval: '0s' is out of range; valid: more than 0s"),
    (MANIFEST + "  sampleInterval: fast\n", ":8: spec.sampleInterval: 'fast' is not a Go duration"),
    (MANIFEST.replace(", name: nccl-1", ""), ":5: spec.jobRef.name: this key is required: name of the job"),
    (MANIFEST.replace("v1alpha1", "v1"), ":1: apiVersion: 'nvcre.nvidia.com/v1' is not valid; valid values: "),
    (MANIFEST + "---\n" + MANIFEST, ": holds 2 BandwidthMeasurement documents; one is wanted"),
    ("kind: LogProfile\n", ":1: apiVersion: this key is required"),
    ("kind: Pod\n", ": holds a Pod; valid kinds: BandwidthMeasurement, LogProfile, Job, Workflow, Certification"),
    ("name: x\n", ":1: kind: this key is required: kind of document"),
    ("- a\n", ":1: kind: this key is required: kind of document"),
    ("", ": the file is empty"), ("a: [1\n", ":2: broken YAML"),
    (MANIFEST + "status: {conditions: [{type: Complete, status: 'True'}]}\n",
     ":8: status: the measurement is Complete, which is final; take its status out to measure again"),
    (MANIFEST + "---\nkind: Job\nmetadata: {name: nccl-1}\nspec: {measurementTimeout: soon}\n",
     ":11: spec.measurementTimeout: 'soon' is not a Go duration"),
    (MANIFEST + JOB.replace("EXTRA", "") + ENDED.replace("REASON", "InProgress"),
     ":14: status.conditions: the job is still running; its log can be measured when it ended"),
    (MANIFEST + JOB.replace("EXTRA", "") + "status: {startTime: yesterday}\n",
     ":13: status.startTime: 'yesterday' is not a time such as 2026-08-06T14:10:20Z"),
    (MANIFEST + "status: {results: [{sizeBytes: 8, algBW: 1.25, busBW: '2.25', samples: 3}]}\n",
     ":8: status.results.0.algBW: 1.25 is not text"),
    (JOB.replace("EXTRA", "bandwidthMeasurement: {testType: x}"),
     ":5: spec.bandwidthMeasurement.logProfileRef: this key is required"),
    (2 * JOB.replace("EXTRA", "bandwidthMeasurement: {logProfileRef: nccl-bandwidth}"),
     ":10: spec.bandwidthMeasurement: is the second Job with a measurement; one is wanted"),
])
def test_a_wrong_manifest(text: str, said: str, tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, text)
    assert bandwidth("-f", path) == 2
    assert capfd.readouterr().err.startswith(f"distsim: error: {path}{said}")


@pytest.mark.parametrize(("arguments", "line"), [
    (["LOG", "LOG"], "a BandwidthMeasurement is run against one LOG"),
    (["--threshold", "busBandwidthGBps=true"], "without a LOG, and with no run runs/nccl-1, there is nothing "
                                                 "to evaluate or to write"),
    (["LOG", "--test-type", "x"], "--test-type is spec.testType of the file given by -f"),
])
def test_wrong_use_of_a_manifest(arguments: list[str], line: str, log: str, tmp_path: Path, capfd: Capture) -> None:
    assert bandwidth("-f", manifest(tmp_path), *(log if word == "LOG" else word for word in arguments)) == 2
    assert capfd.readouterr().err.splitlines()[0] == f"distsim: error: {line}"


