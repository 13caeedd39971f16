"""`distsim schedule`, the dry run: output, exit codes, files, errors, subcommands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from schedule_cli_cases import SUPERPODS, address, job_text, report, schedule, tor_json, write

from distsim.cli.entry import run_cli

LARGE = "tor-affinity: large-model-schema"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Four switches of four nodes; a large-model job of 3, one of 17 nodes, which the cluster has not, and a
    job whose sp-block is no multiple of a node's chips."""
    return write(tmp_path, tors=tor_json(), small=job_text("small", 3, labels=LARGE),
                 big=job_text("big", 17, labels=LARGE),
                 bad=job_text("bad", 6, annotations="sp-block: '20', huawei.com/schedule_policy: chip8-node8-sp"))


def test_the_table(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    code, out, err = schedule(capsys, files["small"], "--cluster", files["tors"], "--busy", "10.0.0.0")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].split() == ["JOB", "QUEUE", "POLICY", "STATE", "PODS", "NODES", "BY", "RANK"]
    assert lines[1].split() == ["default/small", "default", "tor-affinity", "scheduled", "3/3", *address([1, 2, 3])]
    # 128 chips, 8 busy, 24 given; whole nodes only, so nothing is in pieces.
    assert lines[3:] == ["1 job: 1 scheduled, 0 pending, 0 failed; 2 sessions",
                         "tors: 32 of 128 chips used, 96 free, 0 of them on partly used nodes (fragmentation 0)"]


def test_long_lists_of_nodes_are_cut_short(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(5), job=job_text("job", 20, labels=LARGE))
    _, out, _ = schedule(capsys, paths["job"], "--cluster", paths["tors"])
    assert out.splitlines()[1].endswith("10.0.0.15 and 4 more")
    assert len(report(capsys, paths["job"], "--cluster", paths["tors"])["jobs"][0]["ranks"]) == 20


def test_exit_codes(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    """0 all scheduled, 3 one pending, 3 one failed, 2 bad input."""
    cluster = ["--cluster", files["tors"]]
    assert schedule(capsys, files["small"], *cluster)[0] == 0
    code, out, _ = schedule(capsys, files["small"], files["big"], *cluster)
    assert code == 3 and "default/big: pending: JobEnqueueFailed: job big requires 136 " in out
    code, out, _ = schedule(capsys, files["bad"], *cluster)
    assert code == 3 and "default/bad: failed: JobValidateFailed: " in out and "sp-block" in out
    assert schedule(capsys, files["small"] + "x", *cluster)[0] == 2


def test_json_names(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    found = report(capsys, files["small"], files["big"], files["bad"], "--cluster", files["tors"], "--busy",
                   "10.0.0.0")
    assert list(found) == ["jobs", "cluster", "sessions", "warnings"]
    small, big, bad = found["jobs"]
    assert list(small)[:4] == ["name", "state", "ranks", "reason"]
    assert [(job["name"], job["state"]) for job in found["jobs"]] == [
        ("small", "scheduled"), ("big", "pending"), ("bad", "failed")]
    assert small["ranks"] == address([1, 2, 3]) and small["reason"] == "" and small["chips"][1] == list(range(8))
    assert small["nics"] == [list(range(8, 16)), list(range(16, 24)), list(range(24, 32))]
    assert big["ranks"] is None and big["conditions"][0]["reason"] == "JobEnqueueFailed" and big["chips"] == []
    assert bad["ranks"] is None and "sp-block" in bad["reason"]
    assert "crossings" not in small and "racks" not in found["cluster"]


def test_yaml_is_the_same_report(capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    arguments = [files["small"], files["big"], "--cluster", files["tors"], "--explain"]
    _, out, _ = schedule(capsys, *arguments, "--report", "yaml")
    assert yaml.safe_load(out) == report(capsys, *arguments)


def test_jobs_are_handed_in_in_the_order_of_the_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(1), a=job_text("a", 3), b=job_text("b", 3) + "---\n" + job_text("c", 1))
    first = report(capsys, paths["a"], paths["b"], "--cluster", paths["tors"])["jobs"]
    assert [(job["name"], job["state"]) for job in first] == [("a", "scheduled"), ("b", "pending"), ("c", "scheduled")]


def test_explain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """cluster.md section 2, third example. Of the twelve edges six stay at a switch: n1-n2-n3, n8-n9, n6-n7,
    n12-n13-n14."""
    paths = write(tmp_path, tors=tor_json(), job=job_text("job", 12, labels=LARGE))
    arguments = [paths["job"], "--cluster", paths["tors"], "--busy", ",".join(address([0, 5, 10, 15])), "--explain"]
    found = report(capsys, *arguments)
    (job,) = found["jobs"]
    assert job["ranks"] == address([4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11])
    assert job["slices"] == {"0": 3, "1": 3, "2": 3, "3": 3}
    assert job["crossings"] == {"edges": 12, "inNode": 0, "inRack": 6, "crossRack": 6, "crossLeaf": 6, "crossSpine": 6,
                                "nicPairs": {"leaf": 48, "fabric": 0, "spine": 48}}
    assert job["refused"] == {"0 of 8 chips free, 8 requested": address([0, 5, 10, 15])}
    assert [name for name in job["switches"] if name.startswith("Rack")] == [f"RackSwitch-{t}" for t in range(4)]
    assert job["nicNames"][1] == [f"NIC-{host}" for host in range(8, 16)] and job["racks"] == [
        "tor-1", "tor-0", "tor-2", "tor-3"]
    assert [rack["free"] for rack in found["cluster"]["racks"]] == [0, 0, 0, 0]
    lines = schedule(capsys, *arguments)[1].splitlines()
    assert "  1     10.0.0.1   tor-0  0-7    NIC-8-15     job-worker-1" in lines
    assert "  slices     0: 3 nodes, 1: 3 nodes, 2: 3 nodes, 3: 3 nodes" in lines
    assert ("  ring       12 edges: 0 in a node, 6 in a rack, 6 between racks; 6 cross a leaf, 6 a spine") in lines
    assert ("  refused    4 nodes: 0 of 8 chips free, 8 requested: 10.0.0.0 10.0.0.5 10.0.0.10 10.0.0.15") in lines


def test_refusals_are_those_of_the_job_s_own_turn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The first job met an empty cluster, the second one the first, the third one both."""
    paths = write(tmp_path, tors=tor_json(1), jobs="---\n".join(
        [job_text("a", 1), job_text("b", 1, chips=4), job_text("c", 4)]))
    jobs = report(capsys, paths["jobs"], "--cluster", paths["tors"], "--explain")["jobs"]
    assert [job["ranks"] for job in jobs] == [["10.0.0.0"], ["10.0.0.1"], None]
    assert [job["refused"] for job in jobs] == [
        {}, {"0 of 8 chips free, 4 requested": ["10.0.0.0"]},
        {"0 of 8 chips free, 8 requested": ["10.0.0.0"], "4 of 8 chips free, 8 requested": ["10.0.0.1"]}]


def test_the_table_names_twenty_refused_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(6), job=job_text("job", 1, pod="          nodeSelector: {zone: a}\n"))
    arguments = [paths["job"], "--cluster", paths["tors"], "--explain"]
    line = next(line for line in schedule(capsys, *arguments)[1].splitlines() if line.startswith("  refused"))
    reason = "nodeSelector zone=a, the node has no such label"
    assert line == f"  refused  24 nodes: {reason}: {' '.join(address(list(range(20))))} and 4 more"
    assert len(report(capsys, *arguments)["jobs"][0]["refused"][reason]) == 24


def test_files_of_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: dict[str, str]) -> None:
    out = tmp_path / "out"
    arguments = [files["small"], files["big"], "--cluster", files["tors"], "--busy", "10.0.0.0", "-o", str(out)]
    found = report(capsys, *arguments)
    assert json.loads((out / "placement.json").read_text()) == found
    big = yaml.safe_load((out / "jobs/default-big.yaml").read_text())
    assert (big["kind"], big["status"]["phase"]) == ("PodGroup", "Pending")
    assert big["status"]["conditions"][0]["reason"] == "JobEnqueueFailed"
    pods = list(yaml.safe_load_all((out / "pods/default-small.yaml").read_text()))
    assert [pod["spec"]["nodeName"] for pod in pods] == address([1, 2, 3])
    nodes = {node["metadata"]["name"]: node for node in yaml.safe_load_all((out / "nodes.yaml").read_text())}
    assert nodes["10.0.0.1"]["status"]["free"]["huawei.com/Ascend910"] == 0
    assert nodes["10.0.0.4"]["status"]["free"]["huawei.com/Ascend910"] == 8
    # Bad input leaves them alone; another dry run there leaves nothing of this one.
    assert schedule(capsys, files["small"] + "x", "--cluster", files["tors"], "-o", str(out))[0] == 2
    assert (out / "placement.json").exists()
    assert schedule(capsys, files["small"], "--cluster", files["tors"], "-o", str(out))[0] == 0
    assert sorted(path.name for path in (out / "jobs").iterdir()) == ["default-small.yaml"]


def test_a_directory_of_others_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                             files: dict[str, str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    for name, message in (("mine", "is not empty and holds no placement.json of an earlier dry run"),
                          ("small.yaml", "is not a directory")):
        code, out, err = schedule(capsys, files["small"], "--cluster", files["tors"], "-o", str(tmp_path / name))
        assert (code, out) == (2, "") and message in err
    assert (tmp_path / "mine/notes.txt").read_text() == "keep"


@pytest.mark.parametrize(("arguments", "message"), [
    (["--busy", "10.0.0.99"], "--busy: 10.0.0.99: no such node in cluster tors; nearest: 10.0.0.9"),
    (["--busy", "xyz"], "--busy: xyz: no such node in cluster tors; the nodes are 10.0.0.0 to 10.0.0.15"),
    (["--policy", "binpak"], "--policy: 'binpak' is no policy; valid values: tor-affinity, multilevel, super-pod, "
                             "hypernode, binpack, spread, random; nearest: binpack"),
    (["--conf", "nowhere.yaml"], "nowhere.yaml"),
    (["--report", "xml"], "'xml' is not one of 'table', 'json', 'yaml'"),
])
def test_bad_options(capsys: pytest.CaptureFixture[str], files: dict[str, str], arguments: list[str],
                     message: str) -> None:
    code, out, err = schedule(capsys, files["small"], "--cluster", files["tors"], *arguments)
    assert (code, out) == (2, "") and message in err and err.startswith("distsim: error: ")


def test_bad_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: dict[str, str]) -> None:
    twice = write(tmp_path, twice=job_text("small", 1))["twice"]
    code, _, err = schedule(capsys, files["small"], twice, "--cluster", files["tors"])
    assert code == 2 and twice in err and "default/small" in err
    code, _, err = schedule(capsys, files["small"], "--cluster", files["big"])
    assert code == 2 and files["big"] in err
    code, _, err = schedule(capsys, files["small"])
    assert code == 2 and "Missing option '--cluster'" in err
    code, _, err = schedule(capsys, "--cluster", files["tors"])
    assert code == 2 and "Missing argument 'FILE...'" in err


def test_what_is_not_acted_on_is_said_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(1), job=job_text(spec="  schedulerName: volcano\n"))
    _, out, err = schedule(capsys, paths["job"], "--cluster", paths["tors"], "--report", "json")
    assert err == f"distsim: warning: {paths['job']}: not acted on: job: schedulerName\n"
    assert json.loads(out)["warnings"] == [f"{paths['job']}: not acted on: job: schedulerName"]


def test_a_policy_that_does_not_fit_a_job_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    job = write(tmp_path, job=job_text(chips=16))["job"]
    _, out, err = schedule(capsys, job, "--cluster", SUPERPODS, "--policy", "tor-affinity")
    assert "distsim: warning: job default/job cannot be placed by tor-affinity (" in err
    assert err.endswith("; binpack places it\n") and "  binpack  scheduled" in out


DEQUEUE = """\
actions: "enqueue, allocate, backfill"
tiers: [{plugins: [{name: gang}, {name: volcano-npu_v7.0.RC1_linux-aarch64}, {name: predicates}, {name: proportion}]}]
configurations: [{name: init-params, arguments: {forceEnqueue: "false"}}]
"""


def test_the_clock_jumps_over_the_five_minutes_of_dequeue(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Job a asks for all 32 chips and finds no node. While it is Inqueue the queue has no room for b; after five
    minutes it goes back to Pending, and b, which was dequeued less often, is first."""
    none = "          nodeSelector: {zone: none}\n"
    held = write(tmp_path, tors=tor_json(1), conf=DEQUEUE, a=job_text("a", 4, pod=none), b=job_text("b", 1))
    arguments = [held["a"], held["b"], "--cluster", held["tors"], "--conf", held["conf"]]
    found = report(capsys, *arguments)
    assert [job["state"] for job in found["jobs"]] == ["pending", "pending"] and found["sessions"] < 4
    on = write(tmp_path, a=job_text("a", 4, pod=none, annotations="huawei.com/schedule_enable_dequeue: 'on'"))
    found = report(capsys, on["a"], *arguments[1:], "-o", str(tmp_path / "out"))
    assert [job["state"] for job in found["jobs"]] == ["pending", "scheduled"]
    group = yaml.safe_load((tmp_path / "out/jobs/default-a.yaml").read_text())
    assert int(group["metadata"]["annotations"]["huawei.com/schedule_dequeue_frequency"]) >= 1


def test_without_an_action_the_reason_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = write(tmp_path, tors=tor_json(1), job=job_text(), conf=DEQUEUE.replace("enqueue, allocate, ", ""))
    (job,) = report(capsys, paths["job"], "--cluster", paths["tors"], "--conf", paths["conf"])["jobs"]
    assert job["state"] == "pending" and "no action has looked for nodes" in job["reason"]
    assert "(actions: backfill)" in job["reason"]


def test_subcommands_are_reached_by_the_first_argument(capsys: pytest.CaptureFixture[str], tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("run", "compare"):
        assert run_cli(["schedule", name, "--help"]) == 0
        assert f"distsim schedule {name} [OPTIONS]" in capsys.readouterr().out
    (tmp_path / "run").write_text(job_text())
    (tmp_path / "tors").write_text(tor_json(1))
    monkeypatch.chdir(tmp_path)
    code, out, _ = schedule(capsys, "./run", "--cluster", "tors")
    assert code == 0 and "scheduled" in out


def test_help_says_exit_codes_and_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["schedule", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "distsim schedule [OPTIONS] FILE..." in text and "Subcommands: run" in text and " compare " in text
    assert "0 every job is scheduled, 3 a job is pending or failed, 2 input error" in text
    assert run_cli(["--help"]) == 0
    assert " schedule " in capsys.readouterr().out


def test_a_dry_run_loads_neither_numba_nor_polars_nor_mpi(files: dict[str, str]) -> None:
    program = (f"import sys; from distsim.cli import run_cli; "
               f"run_cli(['schedule', {files['small']!r}, '--cluster', {files['tors']!r}, '--explain']); "
               "print([name for name in ('numba', 'polars', 'mpi4py', 'celpy', 'rich') if name in sys.modules])")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
