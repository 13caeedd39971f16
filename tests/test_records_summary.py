"""The final table: its numbers by hand, its width, and what it says of unfinished flows."""

import numpy as np
import pytest
from records_cases import messages

from distsim.results_summary import (
    FlowStatistics,
    Totals,
    Unfinished,
    flow_statistics,
    nearest_rank,
    summary_lines,
)

US = 10**6
# Receiver 1: 50 kB in 1 us after its start at 0, and 50 kB from 1 us to 3 us: 100 kB in 3 us = 266.67 Gb/s.
# Receiver 2: 30 kB from 2 us to 6 us = 60 Gb/s. Flows: 400, 200 and 60 Gb/s, 220 on average.
FLOWS = [
    {"start_ps": 0, "time_ps": 1 * US, "length_bytes": 50_000, "dst": 1, "node": 5, "rtx_packets": 3},
    {"start_ps": 2 * US, "time_ps": 6 * US, "length_bytes": 30_000, "dst": 2, "node": 6},
    {"start_ps": 1 * US, "time_ps": 3 * US, "length_bytes": 50_000, "dst": 1, "node": 7, "rtx_packets": 4},
]
FILES = [{"record": record, "shard": shard, "file": f"s-perf-1-{record}-{shard}.csv", "rows": 10 + shard, "bytes": 1}
         for shard in (0, 1) for record in ("nd-stats", "perf")]


def totals(**changes):
    return Totals(**{"flows": 3, "retransmitted": 7, "hops": 3_000_000, "loop_seconds": 0.25, **changes})


def test_nearest_rank():
    ten = np.arange(10, 101, 10)
    assert [nearest_rank(ten, p) for p in (1, 10, 11, 50, 51, 99, 100)] == [10, 10, 20, 50, 60, 100, 100]
    assert nearest_rank(np.arange(1, 201), 99) == 198 and nearest_rank(np.array([7]), 50) == 7


def test_statistics_by_hand():
    got = flow_statistics(messages(*FLOWS))
    assert (got.flows, got.p50_ps, got.p99_ps, got.max_ps, got.last_ps) == (3, 2 * US, 4 * US, 4 * US, 6 * US)
    assert got.mean_ps == pytest.approx(7 * US / 3)
    assert got.flow_goodput_gbps == pytest.approx(220)
    assert got.receiver_goodput_gbps == pytest.approx(800 / 3)
    assert got.retransmitted == 7


def test_statistics_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(2)
    rows = messages(*[{"start_ps": 0, "time_ps": int(t), "length_bytes": int(n), "dst": int(n) % 5}
                      for t, n in rng.integers(1, 10**6, (200, 2))])
    assert flow_statistics(rows) == flow_statistics(rows[::-1]) == flow_statistics(rows[rng.permutation(200)])


def test_without_flows_or_payload():
    assert flow_statistics(messages()) == FlowStatistics()
    empty = flow_statistics(messages({"time_ps": 5 * US}))
    assert (empty.flows, empty.max_ps, empty.flow_goodput_gbps, empty.receiver_goodput_gbps) == (1, 5 * US, 0, 0)


def test_lines():
    lines = summary_lines(messages(*FLOWS), totals(packets={"sent": 1234, "dropped": 0}, simulated_ps=3_000_000_000),
                          400.0, FILES, "out")
    assert lines == [
        "flows                 3 of 3 finished",
        "completion time (us)  mean 2.33   p50 2.00   p99 4.00   max 4.00",
        "goodput (Gb/s)        mean flow 220.0 (55.0 %), busiest receiver 266.7 (66.7 %)",
        "                      limit of a link 400.0",
        "retransmissions       7 packets",
        "packets               1,234 sent, 0 dropped",
        "packet-hops           3,000,000 in 0.25 s, 12.00 million a second",
        "simulated time (ms)   3.000000",
        "records               out/s-perf-1-nd-stats-*.csv  (2 files, 21 rows)",
        "                      out/s-perf-1-perf-*.csv  (2 files, 21 rows)",
    ]


def test_one_shard_shows_the_path_itself():
    lines = summary_lines(messages(*FLOWS), totals(), 400.0, FILES[:2], "/runs/a")
    assert lines[-1] == "                      /runs/a/s-perf-1-perf-0.csv  (10 rows)"


def test_unfinished_flows_are_listed_and_end_the_table():
    left = [Unfinished(i, f"NIC-{i}", "NIC-0", 4_000_000, None if i == 2 else 1_000 * i) for i in range(1, 13)]
    lines = summary_lines(messages(*FLOWS), totals(flows=15, unfinished_count=12, unfinished=left), 400.0, FILES, "out")
    assert lines[0] == "flows                 3 of 15 finished"
    assert lines[-1] == "unfinished: 12 of 15 flows had not finished when the run ended"
    assert lines[-2].split() == ["and", "2", "more"]
    assert lines[-13].split() == ["unfinished", "id", "from", "to", "bytes", "acknowledged"]
    assert lines[-12].split() == ["1", "NIC-1", "NIC-0", "4,000,000", "1,000"]
    assert lines[-11].split() == ["2", "NIC-2", "NIC-0", "4,000,000"]
    assert lines[-3].split()[0] == "10"
    assert max(map(len, lines)) <= 100 and all(line == line.rstrip() and line.isascii() for line in lines)


def test_nothing_finished():
    lines = summary_lines(messages(), totals(flows=1, unfinished_count=1, loop_seconds=0), 400.0, [])
    assert lines[0] == "flows                 0 of 1 finished"
    assert not any("completion" in line or "million" in line for line in lines)
    assert lines[-1] == "unfinished: 1 of 1 flows had not finished when the run ended"
