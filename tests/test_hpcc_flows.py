"""HPCC flow files: flows worked out by hand, and every error with its line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from distsim.errors import InputError
from distsim.workload import WORKLOADS
from distsim.workload.base import Context
from distsim.workload.types import LOG_MESSAGE, Workload

TEXT = "3\n2 1 3 100 200000000 2\n0 3 3 100 0 2.000000001\r\n\n1 0 3 200 5 2.5e0\n"


def read(tmp_path: Path, text: str, nics: int = 4, **fields: object) -> Workload:
    path = tmp_path / "flow.txt"
    path.write_text(text)
    module = WORKLOADS["hpcc"]
    built: Workload = module.build(module.Spec(kind="hpcc", file=str(path), **fields), Context(nics, 1))
    return built


def test_flows(tmp_path: Path) -> None:
    workload = read(tmp_path, TEXT)
    assert workload.ops[["user_id", "host", "dst", "size_bytes", "start_ps", "deps", "flags"]].tolist() == [
        (1, 2, 1, 200_000_000, 2 * 10**12, 0, LOG_MESSAGE), (2, 0, 3, 0, 2_000_000_001_000, 0, LOG_MESSAGE),
        (3, 1, 0, 5, 2_500_000_000_000, 0, LOG_MESSAGE)]
    assert len(workload.edges) == 0 and workload.warnings == []


def test_starts_can_be_moved_to_the_beginning(tmp_path: Path) -> None:
    assert read(tmp_path, TEXT, start="3us").ops["start_ps"].tolist() == [3 * 10**6, 3_001_000,
                                                                       3 * 10**6 + 5 * 10**11]


def test_node_ids_that_begin_with_switches(tmp_path: Path) -> None:
    text = "1\n2 1 3 100 5 0\n"
    assert read(tmp_path, text, nics=2, first_host=1).ops[["host", "dst"]].tolist() == [(1, 0)]
    with pytest.raises(InputError, match=r":2: src 2 is no host; hosts are nodes 0 to 1"):
        read(tmp_path, text, nics=2)


def test_what_is_not_used_is_said(tmp_path: Path) -> None:
    name = tmp_path / "flow.txt"
    assert read(tmp_path, TEXT + "First line: # of flows\n").warnings == [
        f"{name}:6: what follows the 3 flows of line 1 is not read"]
    assert read(tmp_path, TEXT.replace("0 3 3", "0 3 4")).warnings == [
        f"{name}: priority groups (2 of them) are not used; all flows have the same priority"]
    assert read(tmp_path, "0\n").warnings == [f"{name}: holds no flows"]


@pytest.mark.parametrize(("old", "new", "place", "message"), [
    ("3\n2 1", "3 4\n2 1", ":1", "the first line holds 2 words"),
    ("3\n2 1", "three\n2 1", ":1", "number of flows 'three' is not a whole number"),
    ("3\n2 1", "4\n2 1", "", "ends before flow 4 of 4"),
    ("3\n2 1", "-3\n2 1", ":1", "number of flows -3 is out of range"),
    ("0 3 3 100 0", "0 3 3 100", ":3", "a flow has 6 words, here are 5; valid: src, dst"),
    ("0 3 3", "0 4 3", ":3", "dst 4 is no host; hosts are nodes 0 to 3"),
    ("0 3 3", "0 0 3", ":3", "node 0 would send to itself"),
    ("200000000 2", "-1 2", ":2", "bytes -1 is out of range"),
    ("200000000 2", "1099511627777 2", ":2", "bytes 1099511627777 is out of range"),
    ("200000000 2", "1.5 2", ":2", "bytes '1.5' is not a whole number"),
    ("200000000 2", "1 x", ":2", "start_s 'x' is not a number"),
    ("200000000 2", "1 -1", ":2", "start_s -1 is out of range, 0 to 1000000 s"),
    ("200000000 2", "1 nan", ":2", "start_s nan is out of range"),
    ("200000000 2", "1 1e999999", ":2", "start_s 1e999999 is out of range"),
])
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as error:
        read(tmp_path, TEXT.replace(old, new, 1))
    assert str(error.value).startswith(f"{tmp_path / 'flow.txt'}{place}: ") and message in str(error.value)


def test_reading_does_not_hold_the_text(tmp_path: Path) -> None:
    count = 2000
    (tmp_path / "flow.txt").write_text(f"{count}\n" + ("0 1 3 100 5 2" + " " * 2000 + "\n") * count)
    module = WORKLOADS["hpcc"]
    tracemalloc.start()
    workload = module.build(module.Spec(kind="hpcc", file=str(tmp_path / "flow.txt")), Context(2, 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The file has 4 MB; 2,000 rows of four numbers twice, and of OPS.
    assert len(workload.ops) == count and peak < 1_000_000
