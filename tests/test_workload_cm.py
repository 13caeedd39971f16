""".cm files of htsim: triggers as operations and edges, worked out by hand, and every error with its line."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.workload import WORKLOADS, build
from distsim.workload.types import JOIN, LOG_MESSAGE, ON_FIRE, ON_RECV_DONE, ON_SEND_DONE, SEND, TRIGGER_DELAY, Workload

DATA = Path(__file__).parent / "data"


def read(path: Path, hosts: int = 16) -> Workload:
    return build(WORKLOADS["cm"].Spec(kind="cm", file=str(path)), hosts, 1)


def read_text(tmp_path: Path, text: str, hosts: int = 16) -> Workload:
    path = tmp_path / "case.cm"
    path.write_text(text)
    return read(path, hosts)


def edges_to(workload: Workload, user_id: int, kind: int = SEND) -> list[tuple[int, int]]:
    """(user id of the op that reports, when) of all edges to an op."""
    ids = workload.ops["user_id"]
    row = int(np.flatnonzero((ids == user_id) & (workload.ops["kind"] == kind))[0])
    assert (workload.edges["delay_ps"] == TRIGGER_DELAY).all()
    return [(int(ids[src]), int(when)) for src, dst, when, _ in workload.edges.tolist() if dst == row]


def op(workload: Workload, user_id: int, kind: int = SEND) -> np.void:
    return workload.ops[(workload.ops["user_id"] == user_id) & (workload.ops["kind"] == kind)][0]


def test_plain_flows(tmp_path: Path) -> None:
    workload = read_text(tmp_path, "Nodes 4\r\nConnections 3\r\n# header comment\r\n\r\n"
                                   "3->0 id 5 start 16000000000 size 100\r\n0->1 start 5 size 0\r\n"
                                   "1->2 id 1 start 2e3 size 1099511627776 prio 3\r\n")
    assert workload.ops[["user_id", "host", "dst", "size_bytes", "start_ps", "deps"]].tolist() == [
        (5, 3, 0, 100, 16_000_000_000, 0), (2, 0, 1, 0, 5, 0), (1, 1, 2, 2**40, 2000, 0)]
    assert len(workload.edges) == 0
    assert workload.warnings == [f"{tmp_path / 'case.cm'}: prio is not used; all flows have the same priority"]


def test_flows_without_ids_take_the_free_numbers(tmp_path: Path) -> None:
    workload = read_text(tmp_path, "Nodes 4\nConnections 4\n0->1 start 0 size 1\n0->2 id 2 start 0 size 1\n"
                                   "0->3 start 0 size 1\n1->3 id 900 start 0 size 1\n")
    assert workload.ops["user_id"].tolist() == [1, 2, 3, 900]


def test_triggers_of_every_kind() -> None:
    workload = read(DATA / "triggers.cm")
    assert len(workload.ops) == 10 and workload.ops["kind"].tolist() == [SEND] * 9 + [JOIN]
    assert workload.ops["flags"].tolist() == [LOG_MESSAGE] * 9 + [0]
    # oneshot 1: flow 1 starts flows 2 and 3.
    assert edges_to(workload, 2) == edges_to(workload, 3) == [(1, ON_SEND_DONE)]
    assert (op(workload, 2)["deps"], op(workload, 2)["any_of"]) == (1, 0)
    # barrier 2: flow 2 reports at host 2 (its receiver), flow 3 at host 0 (its sender): the lower one.
    assert edges_to(workload, 2, JOIN) == [(2, ON_RECV_DONE), (3, ON_SEND_DONE)]
    barrier = op(workload, 2, JOIN)
    assert (barrier["host"], barrier["dst"], barrier["deps"], barrier["any_of"]) == (0, -1, 2, 0)
    assert edges_to(workload, 7) == [(2, ON_FIRE)]
    # multishot 3: its first flow starts at the first of three reports, its second at the second.
    reports = [(4, ON_SEND_DONE), (5, ON_SEND_DONE), (6, ON_RECV_DONE)]
    assert edges_to(workload, 8) == edges_to(workload, 9) == reports
    assert [(op(workload, i)["deps"], op(workload, i)["any_of"]) for i in (8, 9)] == [(3, 1), (3, 2)]
    assert len(workload.edges) == 2 + 2 + 1 + 3 + 3
    assert workload.ops["deps"].sum() == len(workload.edges)
    # trigger 4 starts nothing, which is said.
    assert workload.warnings == [f"{DATA / 'triggers.cm'}:18: trigger 4 starts no flow"]


def test_last_shot_of_a_multishot_waits_for_all(tmp_path: Path) -> None:
    workload = read_text(tmp_path, "Nodes 8\nConnections 4\nTriggers 1\n0->1 id 1 start 0 size 1 send_done_trigger 7\n"
                                   "0->2 id 2 start 0 size 1 send_done_trigger 7\n0->3 id 3 trigger 7 size 1\n"
                                   "0->4 id 4 trigger 7 size 1\ntrigger id 7 multishot\n")
    assert workload.ops["any_of"].tolist() == [0, 0, 1, 0]
    assert workload.ops["deps"].tolist() == [0, 0, 2, 2]


def test_oneshot_with_several_reports_takes_the_first(tmp_path: Path) -> None:
    workload = read_text(tmp_path, "Nodes 8\nConnections 3\nTriggers 1\n0->1 id 1 start 0 size 1 send_done_trigger 7\n"
                                   "2->1 id 2 start 0 size 1 recv_done_trigger 7\n1->3 id 3 trigger 7 size 1\n"
                                   "trigger id 7 oneshot\n")
    assert edges_to(workload, 3) == [(1, ON_SEND_DONE), (2, ON_RECV_DONE)]
    assert (op(workload, 3)["deps"], op(workload, 3)["any_of"]) == (2, 1)
    assert ":7: 2 flows report to oneshot 7; the first report starts its flows" in workload.warnings[0]


def test_ring_of_the_generator_as_a_file(tmp_path: Path) -> None:
    generated = build(WORKLOADS["ring"].Spec(kind="ring", hosts=[1, 4, 6], size="3KB"), 8, 1)
    lines = ["Nodes 8", f"Connections {len(generated.ops)}", f"Triggers {len(generated.edges)}"]
    trigger_of = {int(src): number for number, src in enumerate(generated.edges["src"], 1)}
    for row, flow in enumerate(generated.ops):
        start = f"trigger {trigger_of[row - 1]}" if flow["deps"] else "start 0"
        end = f" send_done_trigger {trigger_of[row]}" if row in trigger_of else ""
        lines.append(f"{flow['host']}->{flow['dst']} id {flow['user_id']} {start} size {flow['size_bytes']}{end}")
    lines += [f"trigger id {number} oneshot" for number in trigger_of.values()]
    workload = read_text(tmp_path, "\n".join(lines))
    assert (workload.ops == generated.ops).all()
    assert sorted(workload.edges.tolist()) == sorted(generated.edges.tolist())


def test_no_flows_is_said(tmp_path: Path) -> None:
    workload = read_text(tmp_path, "Nodes 4\nConnections 0\n")
    assert len(workload.ops) == 0 and workload.warnings[0].endswith("holds no flows")


def test_fewer_nodes_than_hosts_pass_and_more_are_refused(tmp_path: Path) -> None:
    text = "# seven\nNodes 7\nConnections 1\n0->6 start 0 size 1\n"
    assert len(read_text(tmp_path, text, hosts=8).ops) == 1
    with pytest.raises(InputError, match="Nodes 7 is more than the 6 hosts of the fabric") as caught:
        read_text(tmp_path, text, hosts=6)
    assert caught.value.line == 2


TEXT = (DATA / "triggers.cm").read_text()


@pytest.mark.parametrize(("old", "new", "line", "message"), [
    ("Nodes 6\n", "", 5, "Nodes is missing"),
    ("Nodes 6", "Nodes 0", 2, "Nodes 0 is out of range"),
    ("Nodes 6", "Nodes six", 2, "Nodes 'six' is not a number"),
    ("Nodes 6", "Nodes 6\nNodes 6", 3, "Nodes stands in line 2 already"),
    ("Nodes 6", "Node 6", 2, "cannot start with 'Node'; did you mean Nodes?"),
    ("Nodes 6", "Nodes", 2, "Nodes takes one number"),
    ("Connections 9", "Connections 10", 3, "Connections 10 is declared, but the file holds 9 flows"),
    ("Connections 9\n", "", None, "Connections is missing from the header; the file holds 9 flows"),
    ("Triggers 4", "Triggers 3", 4, "Triggers 3 is declared, but the file holds 4 triggers"),
    ("Triggers 4", "Triggers 4\nFailures 1", 5, "link failures are not modelled in this version"),
    ("trigger id 1 oneshot", "failure switch_type AGG switch_id 0 link_id 1", 15, "link failures are not modelled"),
    ("0->1 id 1", "1->1 id 1", 6, "host 1 would send to itself"),
    ("0->1 id 1", "6->1 id 1", 6, "unknown host 6; Nodes is 6, so hosts are 0 to 5"),
    ("0->1 id 1", "0->-1 id 1", 6, "host -1 is negative"),
    ("0->1 id 1", "0->1->2 id 1", 6, "is not SRC->DST"),
    ("0->1 id 1", "0->1 id 0", 6, "id 0 is out of range"),
    ("0->1 id 1", "0->1 id 2", 7, "id 2 is the id of the flow in line 6 already"),
    ("size 1000", "size -1", 6, "size -1 is negative"),
    ("size 1000", "size 1099511627777", 6, "size 1099511627777 is out of range, 0 to 1099511627776"),
    ("size 1000", "size 1e999999999999", 6, "size 1e999999999999 is out of range, 0 to 1099511627776"),
    ("size 1000", "size 0.5", 6, "size 0.5 is not a whole number"),
    ("size 1000", "siez 1000", 6, "unknown key 'siez' of a flow; did you mean size?"),
    ("size 1000 ", "", 6, "the flow has no size"),
    ("size 1000", "size 1000 size 1000", 6, "size is given twice"),
    ("size 1000 send_done_trigger 1", "size 1000 send_done_trigger", 6, "send_done_trigger has no value"),
    ("start 500 ", "", 9, "the flow has no start or trigger"),
    ("start 500", "start 500 trigger 1", 9, "the flow has both start and trigger"),
    ("start 500", "start 0.25", 9, "start 0.25 is not a whole number of picoseconds"),
    ("start 500", "start -500", 9, "start -500 is negative"),
    ("trigger 2 size 7000", "trigger 5 size 7000", 12, "trigger 5 is not defined"),
    ("size 9000 send_done_trigger 4", "size 9000 send_done_trigger 6", 14, "trigger 6 is not defined"),
    ("1000 send_done_trigger 1", "1000", 15, "trigger 1 is never fired: no flow names it as send_done_trigger or "
                                             "recv_done_trigger, so flow 2 (line 7) would never start"),
    ("barrier count 2", "barrier count 3", 16, "barrier 2 counts 3 reports, but 2 are made; it would never fire"),
    ("barrier count 2", "barrier count 1", 16, "barrier 2 counts 1 reports, but 2 are made"),
    ("barrier count 2", "barrier", 16, "barrier 2 has no count"),
    ("barrier count 2", "barier count 2", 16, "'barier' does not belong here"),
    ("id 3 multishot", "id 3 multishot count", 17, "trigger count '' is not a number"),
    ("id 3 multishot", "id 3", 17, "the trigger has no kind: oneshot, multishot, barrier"),
    ("trigger id 3 multishot", "trigger multishot", 17, "the trigger has no id"),
    ("trigger id 4 oneshot", "trigger id 1 oneshot", 18, "trigger 1 is declared in line 15 already"),
    ("trigger id 4 oneshot", "trigger id 4 oneshot\nNodes 6", 19, "the header comes first"),
    ("0->1 id 1 start 0", "0->1 id 1 trigger 2", 6, "flow 1 waits for trigger 2, to which only flows report that wait"),
])
def test_errors_name_file_and_line(tmp_path: Path, old: str, new: str, line: int | None, message: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, TEXT.replace(old, new))
    assert caught.value.file == str(tmp_path / "case.cm")
    assert caught.value.line == line
    assert message in caught.value.message


def test_too_few_reports_for_a_multishot(tmp_path: Path) -> None:
    text = TEXT.replace("size 6000 recv_done_trigger 3", "size 6000")
    text = text.replace("size 5000 send_done_trigger 3", "size 5000")
    with pytest.raises(InputError, match=r"gets 1 reports for 2 flows; flow 9 \(line 14\) would never start") as caught:
        read_text(tmp_path, text)
    assert caught.value.line == 17


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.cm")
    (tmp_path / "binary.cm").write_bytes(b"\x00\x01\xff")
    with pytest.raises(InputError, match="not a text file"):
        read(tmp_path / "binary.cm")
    with pytest.raises(InputError, match="Nodes is missing"):
        read_text(tmp_path, "")


def test_8192_flows_are_read_quickly(tmp_path: Path) -> None:
    path = tmp_path / "large.cm"
    path.write_text("Nodes 8192\nConnections 8192\n" + "".join(
        f"{i}->{(i + 17) % 8192} id {i + 1} start 0 size 2000000\n" for i in range(8192)))
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        workload = read(path, 8192)
        best = min(best, time.perf_counter() - start)
    assert len(workload.ops) == 8192 and best < 0.2
