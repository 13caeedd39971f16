"""Timelines: what a reader of its own finds in the trace, against the CSV and JSON files of the run."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from perfetto_cases import BEGIN, Decoded, read_trace
from plot_cases import copied, rewrite_json, rows, shipped_runs  # noqa: F401

from distsim.cli.entry import run_cli
from distsim.errors import InputError
from distsim.results import Run, open_run
from distsim.results.timeline import write_timeline

NS = 10**9
ALL = ("simai16", "faults", "features", "nccl-tests64", "training16")


def traced(run: Run, path: Path, **options) -> Decoded:
    write_timeline(run, path, **options)
    return read_trace(path)


def ns(seconds: str) -> int:
    return round(float(seconds) * NS)


@pytest.mark.parametrize("name", ALL)
def test_every_begin_has_its_end_and_nothing_is_out_of_order(shipped, tmp_path, name):
    trace = traced(shipped(name), tmp_path / "x")
    times = [event.time for event in trace.events]
    assert times == sorted(times) and min(times) >= 0
    for track in trace.tracks:
        mine = [event for event in trace.events if event.track == track]
        kinds = [event.kind for event in mine if event.kind in (1, 2)]
        assert kinds == [1, 2] * (len(kinds) // 2)  # no slice within another, none left open
    assert {trace.tracks[number][1] for number in trace.tracks} <= {0, *trace.tracks}


@pytest.mark.parametrize("name", ALL)
def test_perfettos_own_messages_read_it(shipped, tmp_path, name):
    trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    from google.protobuf.unknown_fields import UnknownFieldSet

    def known(message) -> bool:
        inner = [one for described, value in message.ListFields() if described.message_type is not None
                 for one in (value if described.is_repeated else [value])]
        return not len(UnknownFieldSet(message)) and all(map(known, inner))

    ours = traced(shipped(name), tmp_path / "x")
    theirs = trace_pb2.Trace.FromString((tmp_path / "x").read_bytes())
    assert known(theirs)
    events = [packet for packet in theirs.packet if packet.HasField("track_event")]
    assert [(one.timestamp, one.track_event.type, one.track_event.track_uuid) for one in events] == [
        (one.time, one.kind, one.track) for one in ours.events]
    described = [packet.track_descriptor for packet in theirs.packet if packet.HasField("track_descriptor")]
    assert {one.uuid: (one.name, one.parent_uuid) for one in described} == ours.tracks


def test_messages_are_those_of_perf(shipped, tmp_path):
    run = shipped("features")
    found = traced(run, tmp_path / "x").slices("Messages by sender")
    expected = [(row["metric_path"].split(">")[0], row["metric_path"], ns(row["start_time_sec"]),
                 ns(row["sim_time_sec"]), int(row["transfer_size_b"]), int(row["transaction_number"]))
                for row in rows(run, "perf")]
    assert Counter((*one[:4], one[4]["size_B"], one[4]["flow"]) for one in found) == Counter(expected)
    assert {one[4]["application"] for one in found} == {row["application_name"] for row in rows(run, "perf")}


def annotated(run: Run) -> list[tuple]:
    hosts = {row["ChakraId"]: row["Hostname"] for row in rows(run, "chakra-mapping")}
    found = []
    for row in rows(run, "chakra-completion-stats"):
        rank = row["chakra_app_logical_id"]
        for node in json.loads((run.directory / row["post_annotated_results_path"]).read_text())["nodes"]:
            if node["type"] != "METADATA_NODE":
                found.append((f"rank {rank} ({hosts[rank]})", node["name"], round(float(node["s"]) * 1000),
                              round(float(node["e"]) * 1000)))
    return found


def test_operations_of_ranks_are_those_of_the_annotated_traces(shipped, tmp_path):
    run = shipped("simai16")
    trace = traced(run, tmp_path / "x")
    found = trace.slices("Ranks")
    assert Counter(one[:4] for one in found) == Counter(annotated(run)) and len(found) > 600
    sizes = {one[4]["size_B"] for one in found if one[4]["type"] == "AllReduce"}
    assert sizes == {2097152} and {one[4].get("process_group") for one in found} >= {"TP-0", "DP-3", None}
    assert {event.category for event in trace.events if event.kind == BEGIN} == {
        "messages", "collectives", "operations of ranks"}


def test_without_annotated_traces_ranks_have_their_transfers(shipped, tmp_path):
    directory = copied(shipped("simai16"), tmp_path)
    for path in (directory / "post_annotated").iterdir():
        path.unlink()
    run = open_run(directory)
    found = traced(run, tmp_path / "x").slices("Ranks")
    expected = [(f"rank {n} (NIC-{n})", f"{row['metric_path'].split('.')[1]} to rank {row['receiving_app_name'][10:]}",
                 ns(row["start_time_sec"]), ns(row["sim_time_sec"]))
                for row in rows(run, "chakra-perf") for n in [row["sending_app_name"][10:]]]
    assert Counter(one[:4] for one in found) == Counter(expected)


def test_an_operation_that_did_not_end_runs_to_the_end_of_the_run(shipped, tmp_path):
    directory = copied(shipped("simai16"), tmp_path)
    path = directory / "post_annotated" / "workload.txt.3.json"
    lines = path.read_text().splitlines(keepends=True)
    lines[-3] = re.sub(r'"e": "[^"]*"', '"e": "XXXXXXXXXXXXX"', lines[-3])
    lines[-2] = re.sub(r'"(s|e)": "[^"]*"', r'"\1": "XXXXXXXXXXXXX"', lines[-2])
    path.write_text("".join(lines))
    run = open_run(directory)
    mine = [one for one in traced(run, tmp_path / "x").slices("Ranks") if one[0] == "rank 3 (NIC-3)"]
    assert len(mine) == 41
    (cut,) = (one for one in mine if one[1].endswith(" (not finished)"))
    assert cut[3] == round(run.info["simulated_s"] * NS)


def test_collectives_and_steps(shipped, tmp_path):
    run = shipped("simai16")
    found = traced(run, tmp_path / "x").slices("Collectives by group")
    expected = [(one["group"], 2_000_000 + round(one["begin_us"] * 1000), 2_000_000 + round(one["end_us"] * 1000),
                 one["size_bytes"], one["members"]) for one in run.info["collectives"]]
    assert Counter((one[0], one[2], one[3], one[4]["size_B"], one[4]["members"]) for one in found) == Counter(expected)
    run = shipped("training16")
    steps = (run.directory / "training16-training-steps.csv").read_text().splitlines()[1:]
    found = traced(run, tmp_path / "x").slices("Training steps")
    assert [(one[0], one[2], one[3]) for one in found] == [
        ("training16", round(int(begin) / 1000), round(int(end) / 1000))
        for _, begin, end, _ in (line.split(",") for line in steps)]
    assert found[0][1] == "step 1"


def test_faults_of_the_configuration(shipped, tmp_path):
    trace = traced(shipped("faults"), tmp_path / "x")
    device = "link RackSwitch-0 - SpineSwitch-1"
    assert trace.slices("Faults") == [(device, "down", 2_600_000, 4_600_000, {})]  # at 600 us for 2 ms, start 2 ms
    end = 10**9 * shipped("faults").info["simulated_s"]
    expected = [(device, "routes avoid it", 3_100_000, {}), (device, "routes use it again", 5_100_000, {})]
    assert trace.instants("Faults") == [one for one in expected if one[2] <= end] != []


def test_a_fault_for_good_lasts_to_the_end_of_the_run(shipped, tmp_path):
    directory = copied(shipped("faults"), tmp_path)
    event = {"target": "switch", "between": None, "name": "SpineSwitch-*", "at": "1us", "duration": None,
             "detection_time": "3ns"}
    rewrite_json(directory, "faults", lambda info: info["configuration"]["faults"].update(events=[event]))
    run = open_run(directory)
    trace = traced(run, tmp_path / "x")
    assert trace.slices("Faults") == [("switch SpineSwitch-*", "down for good", 2_001_000,
                                       round(run.info["simulated_s"] * NS), {})]
    assert trace.instants("Faults") == [("switch SpineSwitch-*", "routes avoid it", 2_001_003, {})]


def test_counters_are_the_utilisation_of_tiers(shipped, tmp_path):
    run = shipped("features")
    tiers, ways = {"3": "NIC", "2": "rack", "0": "spine"}, {"ul": "up", "dl": "down"}
    used = defaultdict(lambda: defaultdict(list))
    for row in rows(run, "nd-stats"):
        used[f"{tiers[row['tier']]} {ways[row['uldl']]}"][ns(row["sim_time_sec"])].append(
            float(row["tx_link_percent_util"]))
    trace = traced(run, tmp_path / "x")
    counters = trace.counters()
    assert set(counters) == {f"{name}, {which}" for name in used for which in ("mean", "busiest")}
    assert set(trace.units.values()) == {"%"}
    for name, by_time in used.items():
        times = sorted(by_time)
        begins = [20_000, *times[:-1]]  # StartTime + ClientStartOffset, then the row before
        for which, of in (("mean", lambda values: sum(values) / len(values)), ("busiest", max)):
            values = [of(by_time[time]) for time in times]
            found = counters[f"{name}, {which}"]
            assert [time for time, _ in found] == [*begins, times[-1]]
            assert [value for _, value in found] == pytest.approx([*values, values[-1]], abs=1e-8)


def test_nothing_left_out_is_said(shipped, tmp_path):
    written = write_timeline(shipped("features"), tmp_path / "x")
    assert written.shown == [("messages", 24, 24)] and written.notes == []
    trace = read_trace(tmp_path / "x")
    assert [one[:2] for one in trace.instants("Notes")] == [("distsim features", "nothing is left out")]
    assert written.size_bytes == trace.size


@pytest.mark.parametrize("limit", [100_000, 130_000, 160_000])
def test_a_timeline_is_sampled_to_its_limit_and_says_so(shipped, tmp_path, limit):
    run = shipped("simai16")
    written = write_timeline(run, tmp_path / "x", limit)
    trace = read_trace(tmp_path / "x")
    assert limit * 0.5 < trace.size <= limit
    found = {"messages": trace.slices("Messages by sender"), "operations of ranks": trace.slices("Ranks"),
             "collectives": trace.slices("Collectives by group")}
    assert {what: (shown, total) for what, shown, total in written.shown} == {
        "messages": (len(found["messages"]), len(rows(run, "perf"))),
        "operations of ranks": (len(found["operations of ranks"]), len(annotated(run))),
        "collectives": (len(found["collectives"]), len(run.info["collectives"]))}
    assert len(found["collectives"]) == len(run.info["collectives"])  # the smallest source stays whole
    notes = [name for _, name, _, _ in trace.instants("Notes")]
    shown = len(found["messages"])
    assert f"messages: {shown:,} of 2,064 shown, the longest and an even sample of the others" in notes == written.notes
    lengths = sorted(ns(row["start_time_sec"]) - ns(row["sim_time_sec"]) for row in rows(run, "perf"))
    kept = sorted(begin - end for _, _, begin, end, _ in found["messages"])
    assert kept[:shown // 2 - 1] == lengths[:shown // 2 - 1]  # the longest are there


def test_intervals_of_counters_are_joined_when_there_are_many(shipped, tmp_path, monkeypatch):
    from distsim.results.timeline import trace

    monkeypatch.setattr(trace, "COUNTER_SLOTS", 3)
    written = write_timeline(shipped("features"), tmp_path / "x")
    assert written.notes == ["utilisation: 2 report intervals are joined into one"]
    assert all(len(values) == 4 for values in read_trace(tmp_path / "x").counters().values())


def cluster_run(directory: Path) -> Path:
    (directory / "timeline.csv").write_text(
        "time_ms,kind,job,pod,node,message\n1000,scheduled,default/train,,,\"4 pods, 4 nodes\"\n"
        "1250,fault,,,,link RackSwitch-0 - SpineSwitch-0 is down\n1950,fault,,,node1,NodeNotReady\n")
    (directory / "steps.csv").write_text(
        "job,from_ms,to_ms,steps,step_us,source,simulation,busbw_gbs\n"
        "default/train,1000,1200.60615864,2,100303.07932,simulated,sim-0001,\n")
    return directory


def test_what_a_cluster_did(tmp_path, capsys):
    out = tmp_path / "x.pftrace"
    assert run_cli(["results", "timeline", str(cluster_run(tmp_path)), "-o", str(out)]) == 0
    assert "events of the cluster" in capsys.readouterr().out
    trace = read_trace(out)
    assert trace.instants("Cluster (its own clock)") == [
        ("job default/train", "scheduled", NS, {"job": "default/train", "message": "4 pods, 4 nodes"}),
        ("cluster", "fault", 1_250_000_000, {"message": "link RackSwitch-0 - SpineSwitch-0 is down"}),
        ("node node1", "fault", 1_950_000_000, {"node": "node1", "message": "NodeNotReady"})]
    assert trace.slices("Cluster (its own clock)") == [
        ("job default/train", "2 steps of 100303.07932 us", NS, 1_200_606_159,
         {"steps": 2, "source": "simulated", "simulation": "sim-0001"})]


def test_a_timeline_csv_of_another_kind_is_refused(tmp_path, capsys):
    (tmp_path / "timeline.csv").write_text("when,what\n1,x\n")
    assert run_cli(["results", "timeline", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "has no column time_ms, kind; needed are time_ms, kind" in said and len(said.splitlines()) == 1


def test_the_command_writes_the_trace_beside_its_summary(shipped, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = shipped("simai16")
    assert run_cli(["results", "timeline", str(run.directory), "--limit", "0.12"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("simai16-timeline.pftrace") and read_trace(tmp_path / "simai16-timeline.pftrace")
    assert sum(line.startswith("sampled: ") for line in lines) == 2


@pytest.mark.parametrize("arguments, said", [
    (["--limit", "0.01"], "0.01 is not in the range x>=0.1"), (["-o", "/none/x"], "cannot be written")])
def test_errors_are_one_line(shipped, capsys, arguments, said):
    assert run_cli(["results", "timeline", str(shipped("features").directory), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_run_with_nothing_to_show_and_a_limit_that_holds_nothing(shipped, tmp_path):
    (tmp_path / "features-run.json").write_text((shipped("features").directory / "features-run.json").read_text())
    with pytest.raises(InputError, match="has nothing for a timeline"):
        write_timeline(open_run(tmp_path), tmp_path / "x")
    with pytest.raises(InputError, match=r"give 0\.1 MB or more"):
        write_timeline(shipped("features"), tmp_path / "x", 50_000)


def test_a_run_in_progress_and_equal_bytes(shipped, tmp_path):
    run = shipped("features")
    directory = copied(run, tmp_path)
    (directory / "features-run.json").unlink()
    path = directory / "features-perf-0.csv"
    text = path.read_text().splitlines(keepends=True)
    path.write_text("".join(text[:-1]) + text[-1][:30])
    assert len(traced(open_run(directory), tmp_path / "x").slices("Messages by sender")) == 23
    for name in "ab":
        write_timeline(run, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
