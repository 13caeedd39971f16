"""Corner cases of operations and phases: ties at one instant, late notices, queues of scale-up transfers, large ids."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from engine_cases import NS, US, Run, model, one_rack, send, workload
from test_phases import compute, phased, run_phases, with_workload
from test_work import done, op, transfers

from distsim.assemble import assemble
from distsim.config.document import load
from distsim.errors import InputError
from distsim.state.model import number_messages
from distsim.workload.types import COMPUTE, DELAY, EDGES, LOCAL, LOCAL_IN, ON_FIRE, ON_LOCAL, OPS, Phase, Workload

pytestmark = pytest.mark.core


def any_of(row: tuple, count: int) -> tuple:
    """The operation, started by the `count`-th of its notices."""
    return (*row[:2], count, *row[3:])


# ---- scale-up: two entries of the heap at one instant ----------------------------------------------------------------
def test_a_transfer_that_starts_when_another_ends_does_not_acknowledge_it():
    # The second is done at 5 us; the first, of a lower row, starts at that very picosecond and calls for another look.
    ops, edges = transfers([(0, 2, 1 * US, 5 * US), (0, 1, 5 * US, 0)], 300 * NS)
    assert done(ops, edges) == [6_600 * NS, 6_300 * NS, 5_600 * NS, 5_300 * NS]


def test_a_transfer_without_work_does_not_acknowledge_another_early():
    # It takes nothing of the port, so the other is done at 5 us and acknowledged at 5.6 us.
    ops, edges = transfers([(0, 1, 5 * US, 0), (0, 2, 0, 2 * US)], 300 * NS)
    assert done(ops, edges) == [5_600 * NS, 5_300 * NS, 2_600 * NS, 2_300 * NS]


# ---- scale-up: several between two hosts -----------------------------------------------------------------------------
def test_a_transfer_that_waits_its_turn_takes_nothing_of_the_receivers_rate():
    # Host 0 sends to 1 twice and to 2 once, at half rate each: the first to 1 leaves until 10 us, the second from then.
    # Host 1 has taken in the first by 5.3 us. Host 3 sends to 1 from 6 us on, 2 us of work, alone: in at 8.3 us.
    pairs = [(0, 1, 5 * US, 0), (0, 1, 5 * US, 0), (0, 2, 20 * US, 0), (3, 1, 2 * US, 6 * US)]
    ops, edges = transfers(pairs, 300 * NS)
    assert done(ops, edges)[7] == 8_300 * NS


def test_transfers_between_two_hosts_arrive_in_the_order_in_which_they_are_sent():
    ops = [op(LOCAL, 0, 5 * US, dst=1), op(LOCAL, 0, 5 * US, dst=1), op(LOCAL_IN, 1, 5 * US, dst=0),
           op(LOCAL_IN, 1, 5 * US, dst=0)]
    edges = [(0, 3, ON_LOCAL, 300 * NS), (1, 2, ON_LOCAL, 300 * NS)]      # the halves in the other order
    assert done(ops, edges) == [5_600 * NS, 10_600 * NS, 10_300 * NS, 5_300 * NS]


# ---- any_of ------------------------------------------------------------------------------------------------------
def test_late_notices_do_not_end_a_delay():
    # Told at 1 and 2 us; it starts at the first and takes 5 us.
    ops = [op(COMPUTE, 0, 1 * US), op(COMPUTE, 1, 2 * US), any_of(op(DELAY, 0, 5 * US, deps=2), 1)]
    edges = [(0, 2, ON_FIRE), (1, 2, ON_FIRE, 100 * NS)]
    assert done(ops, edges)[2] == 6 * US


def test_late_notices_do_not_acknowledge_a_transfer():
    # It starts at 1 us and is sent at 3 us; a notice at 3.2 us is before its acknowledgement at 3.6 us.
    ops, edges = transfers([(0, 1, 2 * US, 0)], 300 * NS)
    ops[0] = any_of((*ops[0][:7], 2, *ops[0][8:]), 1)
    ops += [op(COMPUTE, 0, 1 * US), op(DELAY, 0, 3_200 * NS)]
    edges += [(2, 0, ON_FIRE), (3, 0, ON_FIRE)]
    assert done(ops, edges)[:2] == [3_600 * NS, 3_300 * NS]


def test_late_notices_do_not_end_a_computation():
    ops = [op(DELAY, 0, 1 * US), op(DELAY, 0, 2 * US), op(DELAY, 0, 3 * US), any_of(op(COMPUTE, 0, 5 * US, deps=3), 1)]
    assert done(ops, [(k, 3, ON_FIRE) for k in range(3)])[3] == 6 * US


QUEUED = """
from test_ops_adversarial import *
ops, edges = transfers([(0, 1, 5 * US, 0), (0, 1, 2 * US, 0)], 300 * NS)
ops[2] = any_of((*ops[2][:7], 2, *ops[2][8:]), 1)
ops += [op(DELAY, 0, 1 * US), op(DELAY, 0, 2 * US)]
edges += [(4, 2, ON_FIRE), (5, 2, ON_FIRE)]
print(done(ops, edges)[:4])
"""


def test_late_notices_do_not_disturb_a_transfer_that_waits_its_turn():
    # The second starts at 1 us, waits for the first until 5 us and is sent at 7 us. (In a process: it could not end.)
    found = subprocess.run([sys.executable, "-c", QUEUED], capture_output=True, text=True, timeout=60, check=False,
                           cwd=Path(__file__).parent, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert json.loads(found.stdout) == [5_600 * NS, 5_300 * NS, 7_600 * NS, 7_300 * NS]


def test_a_heap_has_room_for_all_late_notices():
    # Two transfers of host 0, each started by the first of four notices; the other three come 500 us later. The short
    # one comes and goes while the long one is sent, so the end of the long one stands in the heap twice.
    ops, edges = transfers([(0, 1, 100 * US, 0), (0, 2, 1 * US, 0)], 300 * NS)
    for row, first_ps in ((0, 1 * US), (2, 2 * US)):
        ops[row] = any_of((*ops[row][:7], 4, *ops[row][8:]), 1)
        ops.append(op(DELAY, 3, 0))
        edges.append((len(ops) - 1, row, ON_FIRE, first_ps))
        edges += [(len(ops) - 1, row, ON_FIRE, 500 * US)] * 3
    going = Run(model(one_rack(4), ops, edges))
    for time_ps in (3, 5, 600):
        going.to(time_ps * US)


PARTS = """
simulation: parts
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 4, spines: 1}
workload:
  kind: several
  parts:
    - {kind: nccl-tests, hosts: [0, 1, 2, 3], command: all_reduce_perf -b 8 -e 8 -n 1 -w 0,
       scale_up: {gpus_per_server: 2}}
    - {kind: collective, hosts: [4, 5, 6, 7], collective: all_to_all, size: 1MB,
       scale_up: {gpus_per_server: 4, switch_latency: 1ns, cable_latency: 1ns}}
"""


# ---- phases ----------------------------------------------------------------------------------------------------------
def test_a_phase_of_nothing_takes_its_pause_and_ends_where_it_starts():
    # Done at 3 us; nothing from 8 us on; the last starts 2 us after that.
    seen: list[Phase] = []
    nothing = Workload(np.zeros(0, OPS), np.zeros(0, EDGES), pause_ps=5 * US)
    last = workload([compute(0, 1 * US)])
    last.pause_ps = 2 * US
    first = phased(workload([compute(0, 3 * US)]), [nothing, last], seen)
    run_phases(with_workload(model(one_rack(2), [compute(0, 0)]), first), np.zeros(3, "i4"))
    assert [(phase.start_ps, phase.end_ps) for phase in seen] == [(0, 3 * US), (8 * US, 8 * US), (10 * US, 11 * US)]


def test_operations_beyond_what_their_ids_can_number_are_refused():
    first = phased(workload([send(0, 1, 10)]), [workload([send(0, 1, 10), send(1, 0, 10)])], [])
    made = with_workload(model(one_rack(2), [send(0, 1, 1)]), first)
    made = replace(made, messages=number_messages(first, 2**31 - 2, 5))
    with pytest.raises(InputError):
        run_phases(made, np.zeros(3, "i4"))


def test_parts_that_run_in_phases_foresee_the_notices_of_those_that_do_not(tmp_path):
    (tmp_path / "parts.yaml").write_text(PARTS)
    assemble(load(tmp_path / "parts.yaml")).check_notices()


# ---- the end ---------------------------------------------------------------------------------------------------------
ENDS = """
simulation: ends
SimulationParameters: {RunTime: 0.0025, NDStatsReportInterval: 0.001}
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 2, spines: 1}
workload: {kind: goal, file: schedule.goal}
"""
# The workload starts at 2 ms and has nothing left to do at 3.1 ms, after the last row at 3 ms; rank 3 waits for ever.
SCHEDULE = """
num_ranks 4
rank 0 {
l1: calc 1100000
l2: send 100000b to 1 tag 1
l2 requires l1
}
rank 1 {
l1: recv 100000b from 0 tag 1
}
rank 2 {
l1: calc 5
}
rank 3 {
l1: recv 10b from 0 tag 9
}
"""


@pytest.mark.ranks
def test_a_run_with_nothing_left_ends_at_the_same_time_on_any_number_of_ranks(tmp_path):
    (tmp_path / "ends.yaml").write_text(ENDS)
    (tmp_path / "schedule.goal").write_text(SCHEDULE)
    found = []
    for ranks in (1, 2):
        out = tmp_path / str(ranks)
        ran = subprocess.run([sys.executable, "-m", "distsim", "run", tmp_path / "ends.yaml", "-o", out, "--ranks",
                              str(ranks), "--quiet"], timeout=120, check=False)
        assert ran.returncode == 3
        with (out / "ends-chakra-completion-stats-0.csv").open(newline="") as file:
            found.append([*csv.reader(file), json.loads((out / "ends-run.json").read_text())["simulated_s"]])
    assert found[0] == found[1]
