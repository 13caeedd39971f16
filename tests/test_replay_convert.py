"""What `distsim trace convert` writes runs as what it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from replay_cases import config, ends, replayed, transfers

from distsim.cli import run_cli

GOAL = """num_ranks 4
rank 0 {
a: calc 4500
b: send 20000b to 1 tag 4
c: send 1b to 3 tag 9
d: recv 7b from -1 tag 2
b requires a
c irequires b
}
rank 1 {
r: recv 20000b from 0 tag 4
x: calc 2000
y: calc 1500
s: send 7b to 0 tag 2
x requires r
y requires r
s requires x
}
rank 3 { recv 1b from 0 tag 9 }
"""
SIMAI = """HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4
2
l1 -1 3000 ALLGATHER 9001 2000 REDUCESCATTER 8000 1500 ALLREDUCE 50000 500
l2 -1 3000 ALLREDUCE 9000 2000 NONE 0 1000 ALLTOALL 6000 0
"""
NO_BARRIER = {"CommCollectiveSynchronization": False}


@pytest.fixture
def convert(tmp_path, monkeypatch):
    """Convert a source; the prefix of what was written."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)

    def command(source, *options):
        prefix = str(tmp_path / "converted" / "c")
        assert run_cli(["trace", "convert", str(source), prefix, "--overwrite", *options]) == 0
        return prefix

    return command


def saved(folder: Path, section: dict, hosts: int = 4) -> Path:
    (folder / "source.yaml").write_text(yaml.safe_dump(config(section, hosts)))
    return folder / "source.yaml"


def same(folder: Path, section: dict, prefix: str, hosts: int = 4, **fields: object) -> None:
    """Both run to the same times."""
    first = replayed(folder, section, hosts)
    wanted = first.info["fct_us"], first.info["flows"], first.info["counts"]
    collectives = [{**one, "group": ""} for one in first.info["collectives"]] if "collectives" in first.info else []
    perf, done = first.frame("perf").drop("time_utc", "metric_aggregation_id"), None
    if "chakra-perf" in first.records:
        done = ends(first), transfers(first)
    second = replayed(folder, {"kind": "chakra", "file": prefix, **fields}, hosts)
    assert (second.info["fct_us"], second.info["flows"], second.info["counts"]) == wanted
    assert perf.equals(second.frame("perf").drop("time_utc", "metric_aggregation_id"))
    assert [{**one, "group": ""} for one in second.info.get("collectives", [])] == collectives
    assert done is None or (ends(second), transfers(second)) == done


def test_goal(tmp_path, convert):
    (tmp_path / "x.goal").write_text(GOAL)
    same(tmp_path, {"kind": "goal", "file": str(tmp_path / "x.goal")}, convert(tmp_path / "x.goal"))


def test_a_collective(tmp_path, convert):
    section = {"kind": "collective", "size": "10001B", "groups": [[0, 1, 2], [3, 5], [4, 0]], "iterations": 2}
    same(tmp_path, section, convert(saved(tmp_path, section, 6)), 6, **NO_BARRIER)
    barred = section | {"synchronize": True}
    same(tmp_path, barred, convert(saved(tmp_path, barred, 6)), 6)


@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather",
                                        "scatter", "barrier"])
def test_every_collective(tmp_path, convert, collective):
    section = {"kind": "collective", "size": "9001B", "collective": collective}
    if collective in ("broadcast", "reduce", "gather", "scatter"):
        section["root"] = 2
    same(tmp_path, section, convert(saved(tmp_path, section)), **NO_BARRIER)


SERVERS = {"gpus_per_server": 2, "bandwidth": "123.456789Gbps", "switch_latency": "100ns", "cable_latency": "0.5ns"}


def test_hosts_and_scale_up_groups_are_in_a_mapping_file(tmp_path, convert):
    (tmp_path / "x.goal").write_text(GOAL)
    plain = {"kind": "goal", "file": str(tmp_path / "x.goal")}
    assert not Path(convert(saved(tmp_path, plain)) + ".mapping").exists()
    for more in ({"hosts": [3, 1, 0, 2]}, {"scale_up": SERVERS}, {"hosts": [3, 1, 0, 2], "scale_up": SERVERS}):
        prefix = convert(saved(tmp_path, plain | more))
        same(tmp_path, plain | more, prefix, mapping=prefix + ".mapping")
    text = Path(prefix + ".mapping").read_text().splitlines()
    assert text[1:3] == ["0, 3, 0, 0", "1, 1, 0, 0"] and text[-1] == "1, 123.456789, 100, 0.5"
    assert not Path(convert(saved(tmp_path, plain)) + ".mapping").exists()               # that of before is gone


def test_settings_of_the_replay_are_said(tmp_path, convert, capsys):
    section = {"kind": "collective", "size": "9KB", "algorithm": "tree", "synchronize": True}
    said = "to replay it as it was, in the section workload: "
    prefix = convert(saved(tmp_path, section))
    assert capsys.readouterr().out.splitlines()[1:] == [said + "AllReduceAlgorithm: tree"]
    same(tmp_path, section, prefix, AllReduceAlgorithm="tree")
    convert(saved(tmp_path, section | {"channels": 2, "launch": "1us", "synchronize": False, "hosts": [1, 0],
                                       "scale_up": SERVERS | {"header": "7B"}}))
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == said + (
        f"mapping: {prefix}.mapping; AllReduceAlgorithm: tree; CommCollectiveSynchronization: false; "
        "ScaleUpHeaderSize: 7B; ScaleUpMaxPayloadSize: 4096B")
    assert [line.split(": ")[2].split(" are not in")[0].split(" is not in")[0] for line in err.splitlines()] == [
        "channels, chunks, slices and protocol of collectives", "the launch delay of collectives"]


def test_servers_of_a_collective_are_the_scale_up_groups_of_the_replay(tmp_path, convert, capsys):
    section = {"kind": "collective", "size": "9KB", "algorithm": "hierarchical", "synchronize": True}
    lost = "servers of hierarchical are not in the traces; its replay takes the scale-up groups for them"
    convert(saved(tmp_path, section | {"server": 2}))
    assert lost in capsys.readouterr().err
    convert(saved(tmp_path, section | {"server": 4, "scale_up": SERVERS}))
    assert lost in capsys.readouterr().err
    prefix = convert(saved(tmp_path, section | {"scale_up": SERVERS}))
    assert lost not in capsys.readouterr().err
    same(tmp_path, section | {"scale_up": SERVERS}, prefix, mapping=prefix + ".mapping",
         AllReduceAlgorithm="hierarchical")


def test_simai(tmp_path, convert):
    (tmp_path / "job.txt").write_text(SIMAI)
    same(tmp_path, {"kind": "simai", "file": str(tmp_path / "job.txt")},
         convert(tmp_path / "job.txt", "--kind", "simai"), **NO_BARRIER)


def test_what_is_converted_once_more_is_the_same(tmp_path, convert):
    (tmp_path / "x.goal").write_text(GOAL)
    first = {path.name: path.read_bytes() for path in Path(convert(tmp_path / "x.goal")).parent.iterdir()}
    again = str(tmp_path / "again" / "c")
    assert run_cli(["trace", "convert", str(tmp_path / "converted" / "c"), again]) == 0
    assert {path.name: path.read_bytes() for path in Path(again).parent.iterdir()} == first
