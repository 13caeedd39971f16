"""Workloads of ranks give the same records on every number of processes and under every partition: only the column
`Core`, which says the process, may differ. Real runs under mpirun."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from chakra_cases import COMP_NODE, MEM_LOAD, METADATA_NODE, RECV_NODE, SEND_NODE, coll, node, trace, write

pytestmark = pytest.mark.ranks

WALL_CLOCK = ("mpi-stats", "mpi-profiling", "cpu-mem-stats")      # records that hold times of the machine
OF_THE_PROCESS = ("time_utc", "Core")
COUNTS = ("counts", "flows", "fct_us", "simulated_s", "status", "warnings")
CHAKRA_RECORDS = {"mapping", "capable-hosts", "apps", "perf", "completion-stats", "cdf", "comm-collective-stats",
                  "comm-collective-percentiles-stats"}
FABRIC = "fabric: {kind: leaf-spine, racks: 4, nics_per_rack: 2, spines: 2}\n"
SHORT = ("SimulationParameters: {StartTime: 0.0, ClientStartOffset: 0.0, NDStatsReportInterval: 0.00005, "
         "BeaconReportInterval: 0.00002}\n")


def run(config: Path, out: Path, ranks: int = 1, code: int = 0, options: tuple[str, ...] = (),
        **environment: str) -> dict:
    """What a run's files say, without what depends on processes and the clock, records merged over shards; and what is
    listed as unfinished."""
    command = [sys.executable, "-m", "distsim", "run", str(config), "-o", str(out), "--ranks", str(ranks), *options]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == code, done.stderr
    found: dict = {}
    for path in sorted(out.glob("*.csv")):
        record = path.stem.rsplit("-", 1)[0]
        if record.endswith(WALL_CLOCK):
            continue
        with path.open(newline="") as file:
            header, *rows = list(csv.reader(file))
        keep = [i for i, column in enumerate(header) if column not in OF_THE_PROCESS]
        found.setdefault(record, [tuple(header[i] for i in keep)]).extend(tuple(row[i] for i in keep) for row in rows)
    found = {name: [rows[0], *sorted(rows[1:])] for name, rows in found.items()}
    for path in sorted(out.glob("post_annotated/*.json")):
        found[path.name] = [{k: v for k, v in one.items() if k != "r"} for one in json.loads(path.read_text())["nodes"]]
    found |= {path.name: path.read_text() for path in out.glob("*.txt")}
    results = json.loads(next(out.glob("*-run.json")).read_text())
    listed = done.stdout.splitlines()
    listed = listed[next((at for at, line in enumerate(listed) if line.startswith("waiting")), len(listed)):]
    return found | {name: results[name] for name in COUNTS} | {"collectives": results.get("collectives"),
                                                               "listed": listed}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def training_step(folder: Path) -> str:
    """Eight ranks: groups of two and of four, all of them, and transfers of their own between computations."""
    groups = {f"tp{k}": [2 * k + 1, 2 * k] for k in range(4)} | {f"dp{k}": [k, k + 2, k + 4, k + 6] for k in range(2)}
    (folder / "t.json").write_text(json.dumps(groups | {"pair": [0, 5]}))
    traces = []
    for rank in range(8):
        pair, copy = f"tp{rank // 2}", f"dp{rank % 2}"
        nodes = [node(1, MEM_LOAD, 3), node(2, COMP_NODE, 7 + rank, after=(1,)), node(3, COMP_NODE, 5),
                 coll(4, 30_000, 2, after=(2,), pg_name=pair, issue_order=0),
                 coll(5, 80_000, 7, after=(3,), pg_name=pair, issue_order=1),
                 node(6, COMP_NODE, 4, ctrl=(4,), after=(5,), is_cpu_op=rank % 3 == 0),
                 coll(7, 200_000, 0, after=(6,), pg_name=copy), coll(8, 9_000, 6, after=(3,), pg_name="0"),
                 node(9, SEND_NODE, after=(6,), comm_size=50_000 * (rank % 2), comm_dst=(rank + 3) % 8, comm_tag=rank),
                 node(10, RECV_NODE, comm_size=50_000 * ((rank - 3) % 2), comm_src=(rank - 3) % 8,
                      comm_tag=(rank - 3) % 8),
                 node(11, METADATA_NODE, after=(7, 8, 9, 10)), node(12, COMP_NODE, 6, after=(10, 99))]
        if rank in (0, 5):
            nodes.append(coll(13, 700, 5, after=(12,), pg_name="pair"))
        traces.append(trace(*nodes))
    return write(folder, *traces)


# Scale-up groups of four with two subgroups, over racks 0 to 3: no partition keeps one whole.
MAPPING = "0,0,1,0\n1,4,1,0\n2,2,1,1\n3,6,1,1\n4,1,2,0\n5,5,2,0\n6,3,2,1\n7,7\n@\n1,800,100,25\n2,300,150,50\n"


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("step")
    (folder / "map").write_text(MAPPING)
    (folder / "step.yaml").write_text(
        "simulation: step\n" + FABRIC + SHORT
        + f"workload: {{kind: chakra, file: {training_step(folder)}, mapping: {folder / 'map'}, "
          "ProfilingEnabled: true, ProfilingInterval: 0.00001}\n")
    return folder / "step.yaml"


def test_a_training_step_with_scale_up_groups_is_equal_on_1_to_4_ranks_and_under_other_partitions(step, tmp_path):
    one = run(step, tmp_path / "1")
    assert {f"step-chakra-{name}" for name in CHAKRA_RECORDS} < set(one)
    assert all(len(one[f"step-chakra-{name}"]) > 1 for name in CHAKRA_RECORDS)
    # 4 + 4 in pairs, 2 of four, 1 of all and 1 of the pair; each rank has a profile and an annotated trace.
    assert len(one["collectives"]) == 12 and one["flows"]["unfinished"] == 0
    assert {f"t.{rank}.json" for rank in range(8)} < set(one)
    assert {f"step-chakra-profiling-{rank}-0.txt" for rank in range(8)} < set(one)
    for ranks in (2, 3, 4):
        assert run(step, tmp_path / str(ranks), ranks) == one, f"{ranks} ranks"
        assert not list((tmp_path / str(ranks)).glob("*-chakra-*-1.*")), "chakra records are written once"
    for partition in ("interleaved", "in-order"):
        assert run(step, tmp_path / partition, 3, DISTSIM_PARTITION=partition) == one, partition
    cores = {name: [row["Core"] for row in rows_of(tmp_path / "interleaved" / f"step-chakra-{name}-0.csv")]
             for name in ("mapping", "apps")}
    assert set(cores["mapping"]) == {"0", "1", "2"} and cores["mapping"] == cores["apps"]
    assert {row["Core"] for row in rows_of(tmp_path / "1" / "step-chakra-mapping-0.csv")} == {"0"}


def test_a_run_that_is_stopped_says_the_same_on_1_and_3_ranks(step, tmp_path):
    """At 13.7 us most is under way: records are of what has happened, and the same is listed as unfinished."""
    stop = ("--set", "SimulationParameters.RunTime=0.0000137")
    one = run(step, tmp_path / "1", code=3, options=stop)
    assert one["status"] == "unfinished" and one["flows"]["finished"] > 20 and len(one["collectives"]) == 2
    assert one["listed"][0] == "waiting               rank 0: RECV node 10 from rank 5, tag 5, 50,000 bytes"
    assert one["listed"][-1].startswith(f"unfinished: {one['flows']['unfinished']} of 173 flows had not finished")
    assert run(step, tmp_path / "3", 3, code=3, options=stop) == one


GOAL = """num_ranks 6
rank 0 {
a: calc 4000
b: send 90000b to 3 tag 4
c: send 1b to 5 tag 9
b requires a
c irequires b
}
rank 3 {
r: recv 90000b from -1 tag 4
x: calc 2000
y: calc 1500
s: send 70000b to 1 tag 2
x requires r
y requires r
s requires x
}
rank 1 { r: recv 70000b from 3 tag 2
s: send 0b to 4
s requires r }
rank 4 { recv 0b from 1 }
rank 5 { recv 1b from 0 tag 9 }
"""
COLLECTIVE = ("{kind: collective, size: 300KB, groups: [[0, 3, 5, 6], [7, 1], [2, 4, 0]], iterations: 2, launch: 2us, "
              "synchronize: true, scale_up: {gpus_per_server: 4}}")


@pytest.mark.parametrize("case", ["goal", "collective", "simai"])
def test_other_kinds_are_equal_on_1_and_3_ranks(case, tmp_path):
    (tmp_path / "x.goal").write_text(GOAL)
    (tmp_path / "job.txt").write_text("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 all_gpus: 8\n1\n"
                                      "l -1 3000 ALLGATHER 90000 2000 ALLTOALL_EP 80000 1500 ALLREDUCE 50000 500\n")
    section = {"goal": f"{{kind: goal, file: {tmp_path / 'x.goal'}, hosts: [7, 2, 0, 1, 6, 4]}}",
               "collective": COLLECTIVE, "simai": f"{{kind: simai, file: {tmp_path / 'job.txt'}}}"}[case]
    (tmp_path / "run.yaml").write_text(f"simulation: {case}\n{FABRIC}{SHORT}workload: {section}\n")
    one = run(tmp_path / "run.yaml", tmp_path / "1")
    assert one["flows"]["finished"] > 0 and one["flows"]["unfinished"] == 0
    assert (f"{case}-chakra-perf" in one) == (case != "collective")
    assert run(tmp_path / "run.yaml", tmp_path / "3", 3) == one
    if case != "simai":
        assert run(tmp_path / "run.yaml", tmp_path / "in-order", 3, DISTSIM_PARTITION="in-order") == one


def test_bad_input_and_what_does_not_end_on_two_ranks(tmp_path):
    """All processes end, with one line; and a receive without a send is listed with exit code 3."""
    def command(*options: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "run.yaml").write_text(f"simulation: bad\n{FABRIC}{SHORT}workload: {{kind: chakra, file: "
                                           f"{tmp_path / 't'}}}\n")
        return subprocess.run([sys.executable, "-m", "distsim", "run", str(tmp_path / "run.yaml"), "-o",
                               str(tmp_path / "out"), "--ranks", "2", "--overwrite", *options], capture_output=True,
                              text=True, timeout=60)

    write(tmp_path, trace(coll(1))[:-2], trace(coll(1)))
    done = command()
    assert done.returncode == 2 and "Traceback" not in done.stderr and done.stdout == ""
    assert [line for line in done.stderr.splitlines() if line.startswith("distsim: error: ")] \
        == [line for line in done.stderr.splitlines() if "t.0.et: truncated: " in line]
    assert done.stderr.count("truncated") == 1
    write(tmp_path, trace(node(1, RECV_NODE, comm_size=7, comm_src=7)), *[trace(node(1, COMP_NODE, 2))] * 6,
          trace(node(3, RECV_NODE, comm_size=7, comm_src=0)))
    done = command()
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert "rank 0: RECV node 1 from rank 7, tag 0, 7 bytes" in done.stdout
    assert "rank 7: RECV node 3 from rank 0, tag 0, 7 bytes" in done.stdout
    assert done.stdout.splitlines()[-1] == "unfinished: 2 nodes of ranks had not finished when the run ended"
