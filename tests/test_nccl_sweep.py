"""The order of measurements, the numbers printed, and the log read back, with phases whose times are made up."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from nccl_cases import START_PS, Ran, rows, run, spec

from distsim.errors import InputError
from distsim.measure.collect import Collector
from distsim.measure.json_report import read_report
from distsim.measure.profile import STRICT, builtin_profile
from distsim.workload.base import Context
from distsim.workload.graph import COLL, FIXED
from distsim.workload.nccl_tests import build, shape
from distsim.workload.types import ON_LOCAL

US = 1_000_000


def test_a_row_worked_out_by_hand():
    # out-of-place: two operations end after 20, 20, 20 and 40 us: 12.5 us each on average; in-place after 10 us: 5 us.
    phases, report = run(spec("all_reduce_perf -b 1M -e 1M -n 2 -w 0"), 4,
                         lambda ran: 10 * US if ran.step.in_place else [20 * US, 20 * US, 20 * US, 40 * US])
    assert [(ran.step.in_place, ran.operations) for ran in phases] == [(0, 2), (1, 2)]
    lines = report.take_lines()
    # 1048576 B / 12.5 us = 83.886 GB/s, times 2 x 3 / 4 = 125.829; / 5 us = 209.715 and 314.573; mean 220.201
    assert rows(lines) == ["     1048576        262144     float     sum      -1    12.50   83.89  125.83       0"
                           "     5.00  209.72  314.57       0"]
    assert lines[-6:] == ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 220.201 ", "#",
                          "# Collective test concluded: all_reduce_perf", "#", ""]
    assert report.take_lines() == []


@pytest.mark.parametrize(("words", "time"), [
    ("-a 0", "    3.00"), ("-a 1", "    6.50"), ("-a 2", "    3.00"), ("-a 3", "   10.00"),
    ("-a 0 -g 2", "    4.00"), ("-a 1 -g 2", "    7.00"), ("-a 2 -g 2", "    4.00"), ("-a 3 -g 2", "   10.00"),
    ("-a 1 -t 2", "    6.50")])
def test_ranks_are_combined_as_asked(words, time):
    # ranks take 3, 4, 9, 10 us; with -g 2 a thread waits for its two: 4 and 10
    _, report = run(spec(f"all_reduce_perf -b 1K -e 1K -n 1 -w 0 {words}"), 4, lambda ran: np.array([3, 4, 9, 10]) * US)
    assert rows(report.take_lines())[0][53:61] == time


def order(phases: list[Ran]) -> list[tuple[str, int, int]]:
    return [("timed" if ran.step.timed else "warm", ran.step.moved.asked_bytes, ran.step.in_place) for ran in phases]


def test_the_warm_up_comes_first_and_doubles():
    phases, _ = run(spec("all_reduce_perf -b 8 -e 32 -f 4 -n 1 -w 3"), 2, lambda ran: US)
    assert order(phases) == [("warm", 8, 0), ("warm", 16, 0), ("warm", 32, 0), ("timed", 8, 0), ("timed", 8, 1),
                             ("timed", 32, 0), ("timed", 32, 1)]
    assert [ran.operations for ran in phases] == [3, 3, 3, 1, 1, 1, 1]


def test_cycles_repeat_the_sizes_and_each_test_warms_up():
    phases, report = run(spec("all_reduce_perf -b 8 -e 8 -n 1 -w 1 -N 2 -d half -o all"), 2, lambda ran: US)
    assert len(phases) == 6 * (1 + 2 * 2)
    assert order(phases)[:5] == [("warm", 8, 0), ("timed", 8, 0), ("timed", 8, 1), ("timed", 8, 0), ("timed", 8, 1)]
    found = rows(report.take_lines())
    assert [line.split()[3] for line in found] == [op for op in ("sum", "prod", "max", "min", "avg", "mulsum")
                                                   for _ in range(2)]


def test_roots():
    phases, report = run(spec("broadcast_perf -b 1K -e 1K -n 1 -w 0 -r all"), 3, lambda ran: US)
    assert [int(ran.workload.graph.nodes["root"][-1]) for ran in phases] == [0, 0, 1, 1, 2, 2]
    assert [line.split()[4] for line in rows(report.take_lines())] == ["0", "1", "2"]


def test_a_size_in_several_phases(monkeypatch):
    # a ring of 4: 24 messages in 2 slices and 16 more operations are 64
    monkeypatch.setattr(shape, "OPERATIONS_A_PHASE", 100)
    phases, report = run(spec("all_reduce_perf -b 512K -e 512K -n 5 -w 0", algorithm="ring", protocol="simple"), 4,
                         lambda ran: np.array([1, 2, 3, 4]) * ran.operations * US)
    assert [ran.operations for ran in phases] == [1] * 10
    assert rows(report.take_lines())[0][53:61] == "    2.50"
    monkeypatch.setattr(shape, "OPERATIONS_A_PHASE", 2 * 64)
    phases, report = run(spec("all_reduce_perf -b 512K -e 512K -n 5 -w 0", algorithm="ring", protocol="simple"), 4,
                         lambda ran: np.array([1, 2, 3, 4]) * ran.operations * US)
    assert [ran.operations for ran in phases] == [2, 2, 1, 2, 2, 1]
    assert rows(report.take_lines())[0][53:61] == "    2.50"


def test_blocking_waits_for_all_and_takes_the_barrier():
    phases, report = run(spec("all_reduce_perf -b 1K -e 1K -n 3 -w 0 -z 1", barrier="2us"), 2,
                         lambda ran: [US, 5 * US])
    assert [ran.operations for ran in phases] == [1] * 6
    assert rows(report.take_lines())[0][53:61] == "    7.00"       # 5 us of the slower rank and 2 us
    assert phases[1].workload.pause_ps == 2 * US


def kinds(ran: Ran) -> list[int]:
    nodes = ran.workload.graph.nodes
    return nodes["kind"][nodes["rank"] == 0].tolist()


def test_launches():
    section = spec("all_reduce_perf -b 1K -e 1K -n 2 -w 0", launch="3us")
    phases, _ = run(section, 2, lambda ran: US)
    assert kinds(phases[0]) == [FIXED, COLL, FIXED, COLL]
    assert set(phases[0].workload.graph.nodes["duration_ps"].tolist()) == {0, 3 * US}
    phases, report = run(spec("all_reduce_perf -b 1K -e 1K -n 2 -m 2 -w 1", launch="3us"), 2, lambda ran: 12 * US)
    assert kinds(phases[0]) == [FIXED, COLL]
    assert kinds(phases[1]) == [FIXED, COLL, COLL, FIXED, COLL, COLL]
    assert rows(report.take_lines())[0][53:61] == "    3.00"       # 12 us over 2 x 2 operations
    phases, report = run(spec("all_reduce_perf -b 1K -e 1K -n 2 -G 2 -w 0", launch="3us"), 2, lambda ran: 12 * US)
    assert kinds(phases[0]) == [FIXED, COLL, COLL] * 2
    assert rows(report.take_lines())[0][53:61] == "    3.00"


def test_a_hypercube_launches_each_dimension():
    phases, report = run(spec("hypercube_perf -b 1K -e 1K -n 1 -w 0", launch="3us"), 8, lambda ran: 10 * US)
    assert phases[0].workload.graph.nodes["duration_ps"].max() == 9 * US
    # 256 elements / 32 = 8 blocks of 4: 32 elements, 128 B to 7 others in 10 us = 0.0896 GB/s; no operator is printed
    assert rows(report.take_lines()) == ["        1024            32     float              -1    10.00    0.09    0.09"
                                         "       0    10.00    0.09    0.09       0"]


def test_sizes_that_move_nothing_take_their_launch_and_no_phase():
    phases, report = run(spec("all_gather_perf -b 16 -e 64 -f 4 -n 1 -w 0", launch="6.6us"), 4, lambda ran: 8 * US)
    assert order(phases) == [("timed", 64, 0), ("timed", 64, 1)]
    found = rows(report.take_lines())
    assert found[0] == ("           0             0     float    none      -1     6.60    0.00    0.00       0     6.60"
                        "    0.00    0.00       0")
    assert found[1].split()[:2] == ["64", "4"]


@pytest.mark.parametrize(("program", "size", "collective"), [
    ("all_gather", 256, 2), ("gather", 256, 3), ("reduce_scatter", 1024, 7), ("scatter", 1024, 4),
    ("alltoall", 1024, 6), ("broadcast", 1024, 5), ("reduce", 1024, 1), ("sendrecv", 1024, 6)])
def test_what_the_collective_is_told(program, size, collective):
    phases, report = run(spec(f"{program}_perf -b 1K -e 1K -n 1 -w 0"), 4, lambda ran: US)
    node = phases[0].workload.graph.nodes[-1]
    assert (int(node["collective"]), int(node["size_bytes"])) == (collective, size)
    transfers = phases[0].workload.ops["kind"] == 0
    sent = {"all_gather": 12 * 256, "gather": 3 * 256, "reduce_scatter": 12 * 256, "scatter": 3 * 256,
            "alltoall": 12 * 256, "broadcast": 3 * 1024, "reduce": 3 * 1024, "sendrecv": 4 * 1024}[program]
    assert phases[0].workload.settings.options.protocol == "simple"
    assert phases[0].workload.ops["size_bytes"][transfers].sum() == sent
    wrong = rows(report.take_lines())[0].split()[-1]
    assert wrong == ("N/A" if program in ("alltoall", "sendrecv") else "0")


def test_servers_with_a_network_inside():
    section = spec("all_reduce_perf -b 64K -e 128K -f 2 -n 1 -w 0", hosts=[0, 2, 1, 3],
                   scale_up={"gpus_per_server": 2, "switch_latency": "100ns", "cable_latency": "25ns"})
    phases, report = run(section, 4, lambda ran: US)
    assert phases[0].workload.settings.algorithms == {0: "hierarchical"}
    assert phases[0].workload.settings.options.server == 2
    # ranks 0 and 1 are on hosts 0 and 2: a switch and two cables between them
    assert sorted(phases[0].workload.notices.tolist()) == [[0, 2, 150_000], [1, 3, 150_000], [2, 0, 150_000],
                                                           [3, 1, 150_000]]
    for ran in phases:
        ops, edges = ran.workload.ops, ran.workload.edges
        away = edges[edges["when"] == ON_LOCAL]
        told = set(zip(ops["host"][away["src"]].tolist(), ops["host"][away["dst"]].tolist(), strict=True))
        assert told and told <= {(a, b) for a, b, _ in ran.workload.notices.tolist()}
        assert away["delay_ps"].min() == 150_000
    assert "on   server-1 device  1 [0000:01:00] simulated NIC-3" in "".join(report.take_lines())
    phases, _ = run(spec("all_reduce_perf -b 64K -e 64K -n 1 -w 0"), 4, lambda ran: US)
    assert phases[0].workload.notices is None
    phases, _ = run(spec("alltoall_perf -b 64K -e 64K -n 1 -w 0", scale_up={"gpus_per_server": 2}), 4, lambda ran: US)
    assert phases[0].workload.settings.algorithms == {6: "nccl"}


def test_without_checks_nothing_is_said_to_be_right():
    _, report = run(spec("all_reduce_perf -b 1K -e 1K -n 1 -w 0 -c 0"), 2, lambda ran: US)
    assert rows(report.take_lines())[0].split()[8::4] == ["N/A", "N/A"]


def test_the_header_names_ranks_servers_and_network():
    section = spec("all_reduce_perf -b 8 -e 8 -n 1 -w 0 -g 2 -T 9 -C 1 -S 1", hosts=[5, 3, 1, 0], gpus_per_server=2,
                   network="IB")
    _, report = run(section, 6, lambda ran: US)
    lines = report.take_lines()
    assert "# distsim: -T 9 (timeout) has no meaning here: a run ends with RunTime" in lines
    assert "#  Rank  1 Group  0 Pid   1000 on   server-0 device  1 [0000:01:00] simulated NIC-3" in lines
    assert "#  Rank  2 Group  0 Pid   1001 on   server-1 device  0 [0000:00:00] simulated NIC-1" in lines
    assert [line for line in lines if "NCCL" in line] == [
        "server-0:1000:1000 [0] NCCL INFO Using network IB", "server-0:1000:1000 [1] NCCL INFO Using network IB",
        "server-1:1001:1001 [0] NCCL INFO Using network IB", "server-1:1001:1001 [1] NCCL INFO Using network IB"]
    assert rows(lines)[0].endswith("  1970-01-01 00:00:00") and rows(lines)[0][53:61] == "    0.00"


def test_the_log_and_the_json_report_are_read_back():
    def times(ran: Ran) -> list[int]:
        base = 7 * US + ran.step.moved.row_bytes * 31 + 13 * ran.number
        return [base, base + 17, base + 19, base + 23]

    _, report = run(spec("all_reduce_perf -b 8 -e 1G -f 8 -n 1 -w 0 -N 2 -J out/report.json"), 4, times)
    profile = builtin_profile(STRICT)
    assert profile is not None
    collector = Collector(profile)
    for line in report.take_lines():
        collector.line(line.encode())
    reading = collector.reading()
    assert reading.transport == ["UET"] and not reading.hints and not reading.misread and reading.wrong_rows == 0
    assert [result.size_bytes for result in reading.results] == [8 ** k for k in range(1, 11)]
    assert report.json_name == "nccl-tests-report.json"
    text = report.files()["nccl-tests-report.json"]
    whole = json.loads(text)
    assert len(whole["results"]) == 20 and whole["config"]["devices"][3]["hostname"] == "server-3"
    assert whole["average_bus_bandwidth"]["bandwidth"] == pytest.approx(report.average_busbw, abs=1e-6)
    found = list(read_report(io.BytesIO(text.encode())))
    for result in reading.results:
        pair = [row for row in found if row.size_bytes == result.size_bytes]
        assert len(pair) == result.samples == 2
        assert float(result.busbw) == pytest.approx(sum(row.busbw_gbs for row in pair) / 2, abs=0.0101)
        assert float(result.algbw) == pytest.approx(sum(row.algbw_gbs for row in pair) / 2, abs=0.0101)
    largest = 7 * US + 8**10 * 31 + 13 * 18 + (17 + 19 + 23) / 4
    assert found[9].algbw_gbs == pytest.approx(8**10 / (largest / 1e12) / 1e9, abs=1e-6)


def test_iterations_one_by_one():
    # the stand-in spreads a rank's time evenly over the operations: 2 x 2 of them, 8 and 12 us: 2 and 3 us each
    _, report = run(spec("all_reduce_perf -b 1K -e 1K -n 2 -m 2 -w 0 -I 1 -J r.json"), 2, lambda ran: [8 * US, 12 * US])
    assert rows(report.take_lines()) == [
        "        1024           256     float     sum      -1     2.50    0.41    0.41       0     3.00     3.00"
        "     3.00     0.00     2.50    0.41    0.41       0     3.00     3.00     3.00     0.00"]
    found = json.loads(report.files()["nccl-tests-r.json"])["results"][0]["in_place_per_iter"]
    assert found["times_us"] == [3.0, 3.0] and found["cv_pct"] == 0.0


def test_a_json_file_needs_its_suffix():
    _, report = run(spec("all_reduce_perf -b 8 -e 8 -n 1 -w 0 -J report.txt"), 2, lambda ran: US)
    assert report.files() == {}
    assert "# distsim: -J report.txt: only files that end in .json are written, as in nccl-tests" in report.take_lines()


def test_steady_stops_simulating_and_says_so():
    # 5 us + 40 ps a byte: the rates agree at once, so sizes after the fourth that counts (8 to 64 MiB) are extrapolated
    section = spec("all_reduce_perf -b 1M -e 512M -f 2 -n 1 -w 0", steady=True, algorithm="ring", protocol="simple")
    phases, report = run(section, 2, lambda ran: 5 * US + 40 * ran.step.moved.row_bytes)
    mib = 1 << 20
    assert order(phases)[-2:] == [("timed", 64 * mib, 0), ("timed", 64 * mib, 1)]
    lines = report.take_lines()
    found = rows(lines)
    assert len(found) == 10
    assert found[-1].split()[5] == f"{5 + 512 * mib * 40 / 1e6:.1f}"                 # 21479.8 us
    sources = " ".join(str(size * mib) for size in (8, 16, 32, 64))
    after = lines[lines.index(found[-1]) + 1]
    assert after == f"# distsim: size {512 * mib} out-of-place was not simulated; extrapolated from sizes {sources}"
    table = report.files()["nccl-tests-extrapolated.csv"].splitlines()
    assert table[0] == "cycle,size,type,redop,root,in_place,extrapolated,time_us,from_sizes,simulated_operations"
    assert table[13] == f"0,{64 * mib},float,sum,-1,0,0,2689.354560,,1"
    assert table[15] == f"0,{128 * mib},float,sum,-1,0,1,5373.709120,{sources},0"
    assert len(table) == 21


def test_steady_simulates_a_few_iterations_until_two_are_alike():
    section = spec("all_reduce_perf -b 8 -e 8 -n 100 -w 0", steady=True)
    phases, report = run(section, 2, lambda ran: 10 * US)
    # Out-of-place and in-place: four operations each in one phase, all of 10 us but the launches, which are theirs.
    assert [len(ran.workload.instances) for ran in phases] == [4, 4]
    lines = report.take_lines()
    assert sum("only the first are simulated" in line for line in lines) == 1
    assert report.files()["nccl-tests-extrapolated.csv"].splitlines()[1].endswith(",4")
    whole, _ = run(spec("all_reduce_perf -b 8 -e 8 -n 100 -w 0"), 2, lambda ran: 10 * US)
    assert [len(ran.workload.instances) for ran in whole] == [100, 100]


@pytest.mark.parametrize(("words", "simulated"), [
    ("-a 0", 6), ("-a 1", 4), ("-a 2", 6), ("-a 3", 6), ("-a 1 -I 1", 4), ("-a 1 -z 1", 4)])
def test_steady_goes_on_while_what_is_printed_differs(monkeypatch, words, simulated):
    # An operation a phase, of 5 us on one rank and 10 us on the other, in turn: only the mean is always the same, and
    # the slower one's, which -I prints and all wait for with -z 1.
    monkeypatch.setattr(shape, "OPERATIONS_A_PHASE", 1)
    section = spec(f"all_reduce_perf -b 8 -e 8 -n 6 -w 0 {words}", steady=True)
    phases, report = run(section, 2, lambda ran: [10 * US, 5 * US] if ran.number % 2 else [5 * US, 10 * US])
    assert [ran.step.in_place for ran in phases] == [0] * simulated + [1] * simulated
    assert rows(report.take_lines())[0].split()[5] == ("10.00" if "-z" in words else "7.50")


def test_steady_with_single_iterations_goes_on_while_the_slowest_rank_differs(monkeypatch):
    # The mean is 10 us, the slower rank's 11, 12, 11, 12, ...
    monkeypatch.setattr(shape, "OPERATIONS_A_PHASE", 1)
    for words, simulated in (("-I 0", 4), ("-I 1", 6)):
        section = spec(f"all_reduce_perf -b 8 -e 8 -n 6 -w 0 {words}", steady=True)
        phases, _ = run(section, 2, lambda ran: [9 * US, 11 * US] if ran.number % 2 == 0 else [8 * US, 12 * US])
        assert len(phases) == 2 * simulated


@pytest.mark.parametrize("words", ["-m 2", "-G 2"])
def test_steady_simulates_all_iterations_that_share_a_launch(words):
    phases, report = run(spec(f"all_reduce_perf -b 8 -e 8 -n 10 -w 0 {words}", steady=True), 2, lambda ran: US)
    assert [ran.operations for ran in phases] == [20, 20]
    assert not any("only the first" in line for line in report.take_lines())
    assert report.files()["nccl-tests-extrapolated.csv"].splitlines()[1].endswith(",20")


def test_steady_is_told_in_the_json_report():
    section = spec("all_reduce_perf -b 8M -e 128M -f 2 -n 10 -w 0 -J r.json", steady=True, algorithm="ring",
                   protocol="simple")
    _, report = run(section, 2, lambda ran: ran.operations * 40 * ran.step.moved.row_bytes)
    halves = [result["in_place"] for result in json.loads(report.files()["nccl-tests-r.json"])["results"]]
    assert [half["simulated_operations"] for half in halves] == [4, 4, 4, 4, 0]
    assert [half["extrapolated_from"] for half in halves] == [[], [], [], [], [size << 20 for size in (8, 16, 32, 64)]]


def test_steady_warms_up_on_no_size_that_it_may_not_simulate():
    section = spec("all_reduce_perf -b 4M -e 512M -f 2 -n 1 -w 1", steady=True, algorithm="ring", protocol="simple")
    phases, report = run(section, 2, lambda ran: 5 * US + 40 * ran.step.moved.row_bytes)
    assert [step[1] >> 20 for step in order(phases) if step[0] != "timed"] == [4, 8]
    lines = report.take_lines()
    assert lines.count("# distsim: steady: the warm-up is not simulated above 8388608 bytes") == 1


def test_steady_is_not_used_unasked_nor_while_the_rate_still_changes():
    phases, report = run(spec("all_reduce_perf -b 8M -e 256M -f 2 -n 1 -w 0", algorithm="ring", protocol="simple"), 2,
                         lambda ran: 40 * ran.step.moved.row_bytes)
    assert len(phases) == 12 and report.files() == {}
    section = spec("all_reduce_perf -b 8M -e 256M -f 2 -n 1 -w 0", steady=True, algorithm="ring", protocol="simple")
    phases, report = run(section, 2, lambda ran: int(ran.step.moved.row_bytes ** 1.1))
    assert len(phases) == 12 and ",1," not in report.files()["nccl-tests-extrapolated.csv"].replace("-1,1,0", "")


def test_the_first_phase_starts_nothing_by_itself_and_pauses_follow():
    phases, report = run(spec("all_reduce_perf -b 8 -e 8 -n 1 -w 0", barrier="10us"), 2, lambda ran: US)
    assert [ran.workload.pause_ps for ran in phases] == [10 * US, 10 * US]
    assert report._last_ps == START_PS + US + 10 * US + US
    assert (phases[0].workload.ops["flags"] & 1).max() == 0            # no PERF rows


@pytest.mark.parametrize(("section", "words"), [
    (spec("all_reduce_perf -r 4"), "command: -r 4 (root): there are ranks 0 to 3"),
    (spec("all_reduce_perf -g 3"), "command: -t 1 times -g 3 does not divide the 4 ranks"),
    (spec("all_reduce_perf -g 2", gpus_per_server=3), "gpus_per_server: 3 is no multiple of -t 1 times -g 2"),
    (spec("all_reduce_perf", hosts=1), "hosts: 1 host given; at least 2 are needed"),
    (spec("all_reduce_perf", algorithm="chain"), "algorithm: 'chain' is no algorithm of all_reduce; valid: auto, ring"),
    (spec("sendrecv_perf", algorithm="nccl"), "valid: auto, sendrecv"),
    (spec("all_reduce_perf", algorithm="halving-doubling", hosts=3),
     "workload.algorithm: all_reduce_perf of 33554432 bytes by halving-doubling: halving-doubling needs a group whose "
     "size is a power of two, got 3 members"),
    (spec("all_reduce_perf -e 1G", algorithm="ring", chunk="8B"),
     "command: an operation of 1073741824 bytes makes 805,306,368 messages; at most 134,217,728 are possible"),
    (spec("all_reduce_perf", gpus_per_server=2, scale_up={"gpus_per_server": 4}), "2 is not scale_up.gpus_per_server"),
    (spec("all_gather_perf -b 8 -e 8"), "command: all_gather on 4 ranks moves no bytes at any of these sizes"),
    (spec("hypercube_perf", hosts=3), "needs a number of ranks that is a power of two, got 3")])
def test_what_does_not_fit_is_refused(section, words):
    with pytest.raises(InputError) as caught:
        build(section, Context(4, 1))
    assert words in str(caught.value)
