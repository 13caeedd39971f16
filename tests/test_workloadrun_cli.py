"""`distsim workloadrun`: options, output, exit codes, and several ranks."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from workloadrun_clusters import cluster_file, run_file
from workloadrun_files import EXAMPLE

from distsim.cli.entry import run_cli

CLUSTER12 = str(Path(__file__).parents[1] / "configs" / "cluster12.yaml")
needs_mpi = pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")


def cli(capsys, *arguments):
    """Exit code, standard output and error output of a command."""
    code = run_cli(["workloadrun", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run that succeeded: its file, its cluster, its directory."""
    folder = tmp_path_factory.mktemp("done")
    file, cluster = run_file(folder, "fine"), cluster_file(folder, count=4)
    assert run_cli(["workloadrun", "run", file, "--cluster", cluster, "-o", str(folder / "state"), "--quiet"]) == 0
    return file, cluster, folder / "state"


def test_the_table(capsys, done):
    file, cluster, state = done
    code, out, _ = cli(capsys, "run", file, "--cluster", cluster, "-o", state)
    lines = out.splitlines()
    assert code == 0 and lines[0].split() == ["JOB", "NODES", "SWITCHES", "SIZE", "(B)", "BUSBW", "(GB/s)", "TRANSPORT",
                                              "VERDICT"]
    assert re.fullmatch(r"fine-group-1-iter-1  node02,node03  RackSwitch-1 +65536 +\d+\.\d\d  UET +PASSED", lines[2])
    assert lines[-3:] == ["fine on cluster: h100, Pinned, 2 nodes/job, 2 GPUs/node, jobs: 2", "failed nodes: none",
                          "Succeeded: WorkflowSucceeded: Workflow completed successfully"]


def test_json_and_yaml(capsys, done):
    file, cluster, state = done
    code, out, _ = cli(capsys, "run", file, "--cluster", cluster, "-o", state, "--report", "json")
    report = json.loads(out)
    assert (code, report["phase"]) == (0, "Succeeded")
    assert {"name", "nodes", "results", "verdict"} <= set(report["jobs"][0])
    assert set(report["jobs"][0]["results"][0]) == {"sizeBytes", "algBW", "busBW", "samples"}
    for arguments in (("run", file, "--cluster", cluster, "-o", state, "-o", "yaml"), ("reports", state, "-o", "yaml"),
                      ("reports", file, "-o", state, "-o", "yaml")):
        code, out, _ = cli(capsys, *arguments)
        assert (code, yaml.safe_load(out)) == (0, report)


def test_status(capsys, done):
    file, _, state = done
    code, out, _ = cli(capsys, "status", state)
    assert (code, out.splitlines()) == (0, [
        "fine: Succeeded", "  Succeeded=True WorkflowSucceeded: Workflow completed successfully",
        "  job fine-group-0-iter-1: Succeeded, PASSED", "  job fine-group-1-iter-1: Succeeded, PASSED"])
    code, out, _ = cli(capsys, "status", file, "-o", state, "-o", "json")
    shown = json.loads(out)
    assert (shown["workflowRef"], shown["resolvedGpusPerNode"]) == ({"name": "fine"}, 2)


def test_a_violated_threshold_exits_with_4_everywhere(capsys, tmp_path):
    file = run_file(tmp_path, "slow", thresholds={"busBandwidthGBps": "value >= 60"})
    cluster = cluster_file(tmp_path, count=2)
    code, out, _ = cli(capsys, "run", file, "--cluster", cluster, "-o", tmp_path / "s", "--quiet")
    assert code == 4
    assert re.search(r'^slow-job: Threshold "busBandwidthGBps" violated: measured \d+\.\d{4}, expression: value >= 60$',
                     out, re.M)
    assert out.splitlines()[-1] == "Failed: WorkflowValidationFailed: 1 groups failed across 1 iterations"
    assert [cli(capsys, word, tmp_path / "s")[0] for word in ("status", "reports")] == [4, 4]
    assert cli(capsys, "status", tmp_path / "s")[1].splitlines()[2] == (
        "  ValidationFailed=True ThresholdViolation: One or more Jobs failed performance threshold validation")


def test_runs_stand_in_runs_NAME_by_default(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = run_file(tmp_path, "here")
    assert cli(capsys, "run", file, "--cluster", cluster_file(tmp_path, count=2), "--quiet")[0] == 0
    assert (tmp_path / "runs" / "here" / "report.json").exists()
    assert cli(capsys, "status", file)[1].startswith("here: Succeeded")
    code, out, _ = cli(capsys, "delete", file)
    assert (code, out) == (0, "workloadrun here deleted (runs/here)\n") and not (tmp_path / "runs" / "here").exists()
    assert cli(capsys, "delete", file)[0] == 2


def test_delete_leaves_what_is_not_its_own(capsys, tmp_path):
    file, state = run_file(tmp_path, "x"), tmp_path / "state"
    state.mkdir()
    (state / "mine.txt").write_text("")
    cli(capsys, "run", file, "--cluster", cluster_file(tmp_path, count=2), "-o", state, "--quiet")
    assert cli(capsys, "delete", state)[0] == 0
    assert [path.name for path in state.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("arguments", "text"), [
    (("status", "nowhere"), "nowhere: no such file"),
    (("reports", "{file}", "-o", "{tmp}"), "{tmp}: holds no WorkloadRun; name its directory with -o"),
    (("run", "{file}", "--cluster", "{cluster}", "--busy", "x"), "--busy: x: no such node in cluster cluster"),
    (("run", "{file}"), "Missing option '--cluster'"),
    (("run", "{file}", "--cluster", "{cluster}", "-o", "a", "-o", "b"), "-o: name one directory"),
    (("run", "{file}", "--cluster", "{cluster}", "--platform", "bogus"),
     'invalid --platform "bogus": must be one of aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale'),
    (("render", "{file}", "-o", "somewhere"), "-o of render is yaml or json"),
])
def test_errors_are_one_line(capsys, tmp_path, arguments, text):
    words = {"file": run_file(tmp_path), "cluster": cluster_file(tmp_path, count=2), "tmp": str(tmp_path)}
    code, out, err = cli(capsys, *(word.format(**words) for word in arguments))
    assert (code, out) == (2, "")
    assert text.format(**words) in err.splitlines()[0]


def test_another_run_than_the_file_says(capsys, tmp_path, done):
    code, _, err = cli(capsys, "status", run_file(tmp_path, "other"), "-o", done[2])
    assert code == 2 and f"{done[2]}: holds WorkloadRun fine, not other" in err


def test_a_diagnosis_contradicts_unpinned(capsys, tmp_path):
    file = run_file(tmp_path, orchestration={"placement": "Unpinned"})
    code, _, err = cli(capsys, "run", file, "--cluster", cluster_file(tmp_path, count=2), "--diagnose", "-o",
                       tmp_path / "state")
    assert code == 2 and "orchestration.placement: Unpinned is incompatible with orchestration.diagnose: " in err
    assert not (tmp_path / "state").exists()


def test_a_run_under_way(capsys, tmp_path):
    (tmp_path / "state.json").write_text('{"name": "slow", "spec": {}, "phase": "InProgress"}')
    assert cli(capsys, "status", tmp_path)[:2] == (0, "slow: InProgress\n")
    code, _, err = cli(capsys, "reports", tmp_path)
    assert (code, err) == (2, f"distsim: error: {tmp_path}: WorkloadRun slow has not ended\n")
    (tmp_path / "state.json").write_text("[]")
    assert "is not the state of a WorkloadRun" in cli(capsys, "status", tmp_path)[2]


def test_excluded_nodes_are_warned_of_and_reported(capsys, tmp_path):
    cluster = cluster_file(tmp_path, count=5, cordoned=["node04"])
    code, out, err = cli(capsys, "run", run_file(tmp_path), "--cluster", cluster, "-o", tmp_path / "s", "--quiet")
    reason = "1 node(s) matched the target but were unschedulable (cordoned): node04"
    assert code == 0 and f"distsim: warning: {reason}\n" in err and f"excluded: {reason}\n" in out
    shown = json.loads(cli(capsys, "reports", tmp_path / "s", "-o", "json")[1])
    assert (shown["excludedNodes"], shown["testedNodes"]) == ([{"node": "node04", "reason": "cordoned"}], 4)


# ---- render ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def example(tmp_path):
    path = tmp_path / "example.yaml"
    path.write_text(EXAMPLE)
    return str(path)


@pytest.mark.parametrize(("placement", "jobs"), [("Pinned", 3), ("Unpinned", 1)])
def test_the_example_is_rendered_as_it_is(capsys, example, placement, jobs):
    Path(example).write_text(EXAMPLE + f"  orchestration:\n    placement: {placement}\n" * (placement == "Unpinned"))
    code, out, err = cli(capsys, "render", example, "--cluster", CLUSTER12)
    workflow, *found = yaml.safe_load_all(out)
    assert (code, err, workflow["kind"]) == (0, "", "Workflow")
    assert workflow["spec"]["gangScheduler"] == {"schedulerName": "kai-scheduler", "queue": "high-priority",
                                                 "queueLabelKey": "kai.scheduler/queue"}
    assert [one["kind"] for one in found] == ["Job"] * jobs
    code, out, _ = cli(capsys, "render", example, "--cluster", CLUSTER12, "-o", "json")
    assert (code, json.loads(out)["items"]) == (0, [workflow, *found])


def test_render_without_a_cluster_is_the_workflow_alone(capsys, example):
    code, out, _ = cli(capsys, "render", example)
    assert code == 0 and [one["kind"] for one in yaml.safe_load_all(out)] == ["Workflow"]
    assert json.loads(cli(capsys, "render", example, "-o", "json")[1])["kind"] == "Workflow"


def test_a_conflict_writes_no_workflow(capsys, example):
    override = {"when": {"platform": {"equals": "aws"}},
                "jobTemplate": {"spec": {"workloadMetadata": {"labels": {"kai.scheduler/queue": "team-b"}}}}}
    document = yaml.safe_load(EXAMPLE)
    document["spec"]["overrides"] = [override]
    Path(example).write_text(yaml.safe_dump(document))
    assert cli(capsys, "render", example)[0] == 0
    code, out, err = cli(capsys, "render", example, "--platform", "aws")
    assert (code, out) == (2, "")
    assert ('spec.jobTemplate.spec.workloadMetadata.labels["kai.scheduler/queue"]: conflicting label value "team-b", '
            'expected "high-priority"') in err


def test_a_diagnosis_is_rendered_with_the_jobs_of_its_first_round(capsys, example):
    Path(example).write_text(EXAMPLE + "  orchestration:\n    diagnose: {topologyKey: topology.kubernetes.io/rack}\n")
    _, *found = yaml.safe_load_all(cli(capsys, "render", example, "--cluster", CLUSTER12)[1])
    assert [one["metadata"]["name"] for one in found] == [f"nccl-all-reduce-screen-{at}-iter-1" for at in range(6)]


# ---- ranks -----------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two jobs at once, of which one misses its threshold at a slow uplink; and what it comes to on one rank."""
    folder = tmp_path_factory.mktemp("many")
    file = run_file(folder, "many", "-b 8K -e 32K -f 4 -n 1 -w 0", numNodes=4,
                    thresholds={"busBandwidthGBps": "value >= 3"},
                    goodputMeasurement={"logProfileRef": "megatron-training"})
    cluster = cluster_file(folder, links=[{"rack": 2, "uplink_rate": "25Gbps"}])
    return file, cluster, on_ranks(1, file, cluster, folder / "1")


def on_ranks(count, file, cluster, state):
    """The report as it is printed, and all files."""
    ended = subprocess.run([sys.executable, "-m", "distsim", "workloadrun", "run", file, "--cluster", cluster, "-o",
                            str(state), "--quiet", "--report", "json", "--ranks", str(count)],
                           capture_output=True, text=True)
    assert ended.returncode == 4, ended.stderr
    return ended.stdout, texts(state)


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_several_jobs_on_several_ranks_come_to_the_same(tmp_path, many, ranks):
    file, cluster, alone = many
    assert [job["verdict"] for job in json.loads(alone[0])["jobs"]] == ["PASSED", "FAILED"]
    report, (files, records) = on_ranks(ranks, file, cluster, tmp_path / "state")
    assert report == alone[0]
    assert files == alone[1][0]
    assert records == alone[1][1]
    assert len(list((tmp_path / "state").rglob("*nd-stats-*.csv"))) == ranks


def texts(state):
    """The files of a run that do not tell of ranks, and the rows of each record without wall-clock time."""
    files, rows = {}, {}
    for path in sorted(state.rglob("*")):
        record = re.fullmatch(r"(.*)-\d+\.csv", path.name)
        if record is not None:
            with path.open(newline="") as file:
                rows.setdefault(record[1], []).extend(sorted(row.items()) for row in csv.DictReader(file))
        elif path.is_file() and not path.name.endswith("run.json"):
            files[str(path.relative_to(state))] = path.read_text()
    kept = {name: sorted([cell for cell in row if cell[0] != "time_utc"] for row in found)
            for name, found in rows.items()}
    return files, kept


@needs_mpi
def test_errors_on_several_ranks_are_said_once(tmp_path):
    file = run_file(tmp_path, "few", numNodes=9)
    ended = subprocess.run([sys.executable, "-m", "distsim", "workloadrun", "run", file, "--cluster",
                            cluster_file(tmp_path), "-o", str(tmp_path / "state"), "--ranks", "2"],
                           capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "distsim: error: spec.numNodes: Not enough schedulable nodes: need 9, found 8"]
