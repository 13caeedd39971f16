"""Small runs of workloads of ranks through `distsim.run`, and the times of tiny messages worked out by hand.

One rack, 400 Gb/s, 100 ns links, default NICs; ranks start at 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import distsim

FROM_ZERO = {"StartTime": 0.0, "ClientStartOffset": 0.0, "RunTime": 0.01, "BeaconReportInterval": 0.00001}

# Of a message of nothing and of one byte, us. The transmit process starts 15 ns after the post; a byte is fetched in
# 1.555 ns (request of 98 B) + 0.556 ns (35 B); frames of 106 and 107 B take 2.12 and 2.14 ns on each of two links of
# 100 ns.
EMPTY_IN = 0.21924
BYTE_IN = 0.221391
# The receiver holds the ACK of a byte for 1.412 ns (89 B on the lanes), then 78 B go back: 2 x (1.56 + 100) ns.
BYTE_ACKED = BYTE_IN + 0.001412 + 0.20312


def config(workload: dict[str, Any], hosts: int = 4, **more: Any) -> dict[str, Any]:
    """A configuration of one rack with this workload section."""
    return {"simulation": "replay", "fabric": {"kind": "leaf-spine", "racks": 1, "nics_per_rack": hosts},
            "SimulationParameters": FROM_ZERO | more.pop("parameters", {}), "workload": workload, **more}


def replayed(folder: Path, workload: dict[str, Any], hosts: int = 4, exit_code: int = 0, **more: Any) -> distsim.Run:
    """The run of a workload section; its records are in `folder`/out."""
    run = distsim.run(config(workload, hosts, **more), folder / "out", overwrite=True)
    assert run.exit_code == exit_code, run.lines
    return run


def column(run: distsim.Run, record: str, name: str) -> list[Any]:
    """A column of a record."""
    return run.frame(record)[name].to_list()


def ends(run: distsim.Run) -> list[float]:
    """When each rank ended, us after the start."""
    found: list[float] = column(run, "chakra-completion-stats", "chakra_trace_completion_time_us")
    return found


def transfers(run: distsim.Run) -> list[tuple[Any, ...]]:
    """(sender, receiver, bytes, start us, duration us) of each transfer but those of barriers, in order of start."""
    frame = run.frame("chakra-perf")
    frame = frame.filter(frame["is_added_synchronization_flow"] == "false")
    return sorted(((int(src.split("-")[1]), int(dst.split("-")[1]), size, round(start * 1e6, 6), took)
                   for src, dst, size, start, took in frame.select(
                       "sending_app_name", "receiving_app_name", "flow_comm_size", "start_time_sec",
                       "perf_metric_usec").iter_rows()), key=lambda row: (row[3], row[0], row[1]))
