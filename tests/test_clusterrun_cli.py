"""`distsim schedule run` and `compare` with the engine: files, goodput worked out by hand, policies side by side."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from clusterrun_cases import CHIP, cluster_file, faults_file, job_file

from distsim.cli.app import app
from distsim.clusterrun.crew import Crew
from distsim.clusterrun.run import Options, run_cluster
from distsim.errors import DistsimError, InputError

EXACT = {"train": {"training": {"compute": "1s", "gradients": "0B"},
                   "job": {"steps": 10, "checkpoint_every": 4, "checkpoint_time": "500ms", "restart_time": "2s"}}}


def schedule(*arguments: str, code: int = 0) -> str:
    """What `distsim schedule ...` prints."""
    done = CliRunner().invoke(app, ["schedule", *arguments], standalone_mode=False)
    if isinstance(done.exception, DistsimError):
        raise done.exception
    assert done.exception is None, done.output
    assert done.return_value == code, done.output
    return done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def faulty(tmp_path) -> tuple[Path, dict]:
    """A run with a node fault; its directory, and its report."""
    faults = faults_file(tmp_path, {"target": "node", "node": "node0", "at": "8200ms"})
    out = tmp_path / "out"
    said = schedule("run", job_file(tmp_path, labels={"fault-scheduling": "force"}), "--cluster",
                    cluster_file(tmp_path, workloads=EXACT), "--faults", faults, "-o", str(out), "--report", "json",
                    "--quiet")
    return out, json.loads(said)


def test_goodput_of_a_node_fault_with_reschedule_is_that_worked_out_by_hand(faulty):
    """Steps compute for exactly 1 s and send nothing. In the queue until 1 s; steps 1-4 until 5 s, checkpoint until
    5.5 s, steps 5 and 6 until 7.5 s and 0.7 s of step 7: 2.7 s are lost when node0 fails at 8.2 s. Placed again at 9 s,
    0.8 s later; restart until 11 s; steps 5-8 until 15 s, checkpoint until 15.5 s, steps 9 and 10 until 17.5 s.
    Goodput: 10 s of 17.5 s."""
    out, report = faulty
    (job,) = report["jobs"]
    assert (job["state"], job["reason"], job["endMs"], job["interruptions"]) == ("Completed", "10 steps done", 17500, 1)
    assert job["partsMs"] == {"useful": 10000, "queueing": 1000, "lost": 2700, "restart": 2800, "slow_down": 0,
                              "checkpoint": 1000, "unfinished": 0}
    assert job["goodput"] == report["goodput"] == 10 / 17.5
    goodput = json.loads((out / "goodput.json").read_text())["jobs"]["default/train"]
    assert sum(goodput["parts_ps"].values()) == goodput["wall_ps"] == 17_500 * 10**9
    assert goodput["details_ps"]["waiting"] == 800 * 10**9 and goodput["details_ps"]["starting"] == 2 * 10**12
    assert goodput["chip_parts_ps"]["useful"] == 4 * 10 * 10**12
    steps = [(row["from_ms"], row["to_ms"], row["steps"], row["step_us"], row["source"], row["simulation"])
             for row in rows(out / "steps.csv")]
    assert steps == [("1000", "5000", "4", "1000000", "simulated", "sim-0001"),
                     ("5500", "7500", "2", "1000000", "known", "sim-0001"),
                     ("11000", "15000", "4", "1000000", "simulated", "sim-0002"),
                     ("15500", "17500", "2", "1000000", "known", "sim-0002")]


def test_the_directory_of_a_run_holds_all_objects(faulty):
    out, report = faulty
    assert {path.name for path in out.iterdir()} == {
        "jobs", "pods", "nodes.yaml", "reset", "job-reschedule-reason.yaml", "configmaps.yaml", "timeline.csv",
        "steps.csv", "goodput.json", "report.json", "records"}
    assert json.loads((out / "report.json").read_text()) == report
    kinds = [(row["time_ms"], row["kind"]) for row in rows(out / "timeline.csv")]
    for one in (("1000", "scheduled"), ("1000", "running"), ("8200", "evicted"), ("9000", "resumed"),
                ("17500", "completed")):
        assert one in kinds
    group = yaml.safe_load((out / "jobs" / "default-train.yaml").read_text())
    assert group["status"]["phase"] == "Completed"
    nodes = {one["metadata"]["name"]: one for one in yaml.safe_load_all((out / "nodes.yaml").read_text())}
    assert nodes["node0"]["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    reset = json.loads((out / "reset" / "train-reset.json").read_text())
    assert reset["restartType"] == "podReschedule" or "reset.json" in reset
    reasons = yaml.safe_load((out / "job-reschedule-reason.yaml").read_text())
    assert "NodeUnhealthy" in str(reasons["data"])
    assert sorted(path.name for path in (out / "records").iterdir()) == ["sim-0001", "sim-0002"]


def test_a_directory_is_used_again_but_no_other_one(faulty, tmp_path):
    out, _ = faulty
    again = (job_file(tmp_path, pods=1), "--cluster", cluster_file(tmp_path, workloads=EXACT), "--until", "3s")
    text = schedule("run", *again, "-o", str(out), code=3)
    assert "default/train: Running: cut off at 3000 ms, 2 of 10 steps done" in text
    assert not (out / "records" / "sim-0002").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("keep")
    with pytest.raises(InputError, match=r"is not empty and holds no report\.json of an earlier run"):
        schedule("run", *again, "-o", str(tmp_path / "mine"))
    with pytest.raises(InputError, match="'soon' is not a time"):
        schedule("run", *again[:-1], "soon", "-o", str(out))
    with pytest.raises(InputError, match=r"job 'other' .* maps to no workload"):
        schedule("run", job_file(tmp_path, "other"), *again[1:], "-o", str(tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_an_interrupted_run_leaves_its_timeline_and_steps(tmp_path, monkeypatch):
    """Ctrl-C in the second simulation, that of the placement after the fault."""
    faults = faults_file(tmp_path, {"target": "node", "node": "node0", "at": "8200ms"})
    simulate = Crew.simulate

    def interrupted(crew: Crew, section: dict, folder: Path) -> dict:
        if folder.name == "sim-0002":
            raise KeyboardInterrupt
        return simulate(crew, section, folder)

    monkeypatch.setattr(Crew, "simulate", interrupted)
    out = tmp_path / "out"
    job = job_file(tmp_path, labels={"fault-scheduling": "force"})
    options = Options((job,), cluster_file(tmp_path, workloads=EXACT), faults=faults, quiet=True)
    with pytest.raises(KeyboardInterrupt):
        run_cluster(options, out)
    assert [(row["from_ms"], row["to_ms"], row["steps"]) for row in rows(out / "steps.csv")] == [
        ("1000", "5000", "4"), ("5500", "7500", "2")]
    assert ("9000", "resumed") in [(row["time_ms"], row["kind"]) for row in rows(out / "timeline.csv")]
    assert json.loads((out / "report.json").read_text()) == {
        "state": "interrupted", "reason": "interrupted", "atMs": 9000}


def test_a_directory_that_cannot_be_written_is_an_input_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="-o: cannot be written: Not a directory"):
        schedule("run", job_file(tmp_path), "--cluster", cluster_file(tmp_path, workloads=EXACT), "-o",
                 str(tmp_path / "file" / "out"))


def test_nccl_tests_in_a_container_are_measured_by_their_log(tmp_path):
    script = ["bash", "-c", "mpirun -np 8 /opt/all_reduce_perf -b 64K -e 256K -f 4 -n 1 -w 0 | tee log"]
    out = tmp_path / "out"
    said = json.loads(schedule("run", job_file(tmp_path, "bench", pods=4, command=script), "--cluster",
                               cluster_file(tmp_path), "-o", str(out), "--report", "json", "--quiet"))
    document = yaml.safe_load((out / "measurements" / "bench-bandwidth.yaml").read_text())
    assert [row["sizeBytes"] for row in document["status"]["results"]] == [65536, 262144]
    assert document["spec"]["jobRef"] == {"kind": "VolcanoJob", "name": "bench"}
    assert document["status"]["startTime"] == "1970-01-01T00:00:01Z"          # of the cluster's clock
    assert said["jobs"][0]["busBW"] == float(document["status"]["results"][1]["busBW"]) > 0
    assert "nvcre_nccl_busbw_gbs" in (out / "measurements" / "bench-metrics.prom").read_text()


def test_a_link_that_fails_in_mid_run_lowers_the_bus_bandwidth_until_it_is_back(tmp_path):
    """Four NICs of either rack on one spine link of 400 Gb/s for each two: with one of the two spines gone, half as
    much crosses."""
    cluster = cluster_file(tmp_path, network={"spines": 2}, workloads={
        "train": {"collective": {"collective": "all_to_all", "size": "4MB"}, "job": {"steps": 12000}}})
    faults = faults_file(tmp_path, {"target": "switch", "name": "SpineSwitch-1", "at": "1500ms", "duration": "500ms"})
    out = tmp_path / "out"
    schedule("run", job_file(tmp_path, pods=4), "--cluster", cluster, "--faults", faults, "-o", str(out), "--quiet")
    steps = rows(out / "steps.csv")
    sound, faulty = float(steps[0]["busbw_gbs"]), min(float(row["busbw_gbs"]) for row in steps if int(row["steps"]) > 1)
    assert faulty < 0.75 * sound
    assert steps[-1]["simulation"] == steps[0]["simulation"] and steps[-1]["source"] == "known"
    assert 1500 <= float(next(row for row in steps if float(row["busbw_gbs"]) == faulty)["from_ms"]) < 1510


def tors(folder: Path) -> str:
    """Four switches of four nodes with two NICs each, eight NICs on one uplink; nodes are named by address."""
    servers = [{"tor_id": tor, "tor_ip": f"10.0.{tor}.1", "server": [
        {"server_ip": f"10.1.{tor}.{at}", "npu_count": 2, "slice_id": at} for at in range(4)]} for tor in range(4)]
    (folder / "tor.json").write_text(json.dumps({"version": "1.0", "tor_count": 4, "server_list": servers}))
    path = folder / "tors.yaml"
    path.write_text(yaml.safe_dump({
        "network": {"kind": "tor-node", "file": "tor.json", "oversubscription": 8},
        "workloads": {"train": {"collective": {"collective": "all_reduce", "size": "2MB"}, "job": {"steps": 50}}}}))
    return str(path)


def test_affinity_to_switches_beats_random_placement_on_an_oversubscribed_fabric(tmp_path):
    """The ring of a large-model job of eight nodes crosses the spine twice when it fills two switches, each way on an
    uplink of its own; at random several of its edges share an uplink, and the ring is as fast as its slowest edge."""
    out = tmp_path / "out"
    job = job_file(tmp_path, pods=8, labels={"tor-affinity": "large-model-schema"})
    arguments = ("compare", job, "--cluster", tors(tmp_path), "--policies", "tor-affinity,random", "-o", str(out),
                 "--quiet")
    report = json.loads(schedule(*arguments, "--report", "json"))
    assert report == json.loads((out / "compare.json").read_text())
    affine, random = (policy["jobs"][0] for policy in report["policies"])
    assert affine["nodes"] == [f"10.1.{tor}.{at}" for tor in (0, 1) for at in range(4)]
    assert {policy["policy"] for policy in report["policies"]} == {"tor-affinity", "random"}
    assert affine["busBW"] > 1.5 * random["busBW"] and affine["stepUs"] < random["stepUs"]
    assert affine["spine"]["meanBytes"] < random["spine"]["meanBytes"]
    # Eight links of the spine, four up and four down; of them two up and two down carry the ring's share, 2 x 15 / 16
    # of the 2 MB (and headers, and ACKs on the way back).
    assert affine["spine"]["links"] == 8
    assert affine["spine"]["maxBytes"] == pytest.approx(2e6 * 15 / 8, rel=0.1)
    assert affine["queueingMs"] == random["queueingMs"] == 1000
    with pytest.raises(InputError, match="'fastest' is no policy; valid values: tor-affinity"):
        schedule(*arguments[:5], "fastest", *arguments[6:])
    with pytest.raises(InputError, match="random is given twice"):
        schedule(*arguments[:5], "random,random", *arguments[6:])


def test_the_seeds_files_are_named_where_they_map_to_nothing(tmp_path):
    """A job file as people have it, on a cluster whose map does not say what it does."""
    acjob = {"apiVersion": "mindxdl.gitee.com/v1", "kind": "AscendJob", "metadata": {"name": "ac"},
             "spec": {"schedulerName": "volcano", "successPolicy": "AllReplicas", "replicaSpecs": {"Master": {
                 "replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [
                     {"name": "ascend", "image": "img", "command": ["bash"],
                      "resources": {"limits": {CHIP: 2}, "requests": {CHIP: 2}}}]}}}}}}
    path = tmp_path / "ac.yaml"
    path.write_text(yaml.safe_dump(acjob))
    with pytest.raises(InputError, match=r"job 'ac' \(image 'img', command 'bash'\) is no nccl-tests and maps to no"):
        schedule("run", str(path), "--cluster", cluster_file(tmp_path), "-o", str(tmp_path / "out"))
