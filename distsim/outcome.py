"""What a run came to: every rank's totals, and on rank 0 run.json, the final table and the exit code."""

from __future__ import annotations

import platform
import resource
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from . import records
from .errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFINISHED
from .fault_steps import lost_by_link
from .kernels.mode import COMPILED
from .phases import last_event_ps
from .results_summary import Totals, Unfinished, collective_lines, flow_statistics, summary_lines
from .state import tables as t
from .state.allocate import cell, to_array
from .unfinished import LISTED, undone_facts, unreceived_sends

if TYPE_CHECKING:
    from .session import Session

PAYLOAD_OVERHEAD_BYTES = 106
LISTED_LINKS = 200            # of run.json, those that lost most
TOTALS = ("hops", "created", "delivered", "trimmed", "dropped", "ties", "sends_done", "ops_started")
SUMMED = (*TOTALS, "in_flight", "retransmitted", "unfinished", "undone", "waiting", "dropped_by_nics",
          "waits_for_pdc_id")


def rank_totals(session: Session) -> dict[str, Any]:
    """What this rank contributes, as plain data."""
    state = session.simulation.state
    timing, exchange = session.simulation.timing, session.simulation.exchange
    perf = np.concatenate(session.perf) if session.perf else np.zeros(0, t.PERF)
    wall = {"hot_s": timing.kernels, "records_s": timing.records, "exchange_s": exchange.seconds}
    counters = to_array(state.counters, t.COUNTERS)
    return {name: cell(state.clock, 0, name) for name in TOTALS} | {
        "dropped_by_nics": cell(state.clock, 0, "rx_dropped"), "waits_for_pdc_id": int(counters["pdc_waits"].sum()),
        "last_event_ps": last_event_ps(state),
        "in_flight": cell(state.pools, t.P_PACKET, "used"),
        "retransmitted": int(counters["num_rtx"].sum()),
        "oplog": np.concatenate([np.zeros(0, t.OPLOG), *session.phases.oplog]).tobytes(),
        "on_fabric": np.concatenate([np.zeros(0, bool), *session.on_fabric]).tobytes(),
        "perf": perf.tobytes(), "files": session.records.files(), "wall": session.wall | wall,
        "windows": exchange.windows, "packets_exchanged": exchange.packets_sent, "nodes": len(session.here.nodes),
        "cpu_s": time.process_time(), "loop_cpu_s": session.loop_cpu_s, "peak_memory_mb": peak_memory_mb(),
        "lost": [[link, *lost] for link, lost in lost_by_link(state, session.here).items()],
    } | undone_facts(session)


def conclude(session: Session, ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """On rank 0: write run.json; the final table and the exit code. RunError when run.json cannot be written."""
    perf = np.frombuffer(b"".join(rank.pop("perf") for rank in ranks), t.PERF)
    order = np.lexsort([perf["op"], perf["node"], perf["time_ps"]])
    on_fabric = np.frombuffer(b"".join(rank.pop("on_fabric") for rank in ranks), bool)
    perf, fabric = perf[order], perf[order[on_fabric[order]]]
    total = {name: sum(rank[name] for rank in ranks) for name in SUMMED}
    unreceived = unreceived_sends(session.model.workload)
    status, code = "finished", EXIT_OK
    if total["undone"] or unreceived[0]:
        status, code = "unfinished", EXIT_UNFINISHED
    if session.simulation.interrupted:
        status, code = "interrupted", EXIT_INTERRUPTED
    files = [file for rank in ranks for file in rank["files"]]
    oplog = np.frombuffer(b"".join(rank.pop("oplog") for rank in ranks), t.OPLOG)
    collectives: list[dict[str, Any]] = []
    if session.model.workload is not None and session.model.workload.graph is not None:
        from .rank_records import collective_times, wanted, write_rank_records

        if wanted(session.model.workload):
            files += write_rank_records(session, perf, oplog, end_ps(session, ranks))
        collectives = collective_times(session, oplog)
    limited = records.limit_warnings(files, session.config.parameters.MaxRecordRows)
    session.model.warnings.extend(limited)
    perf = fabric
    info = run_info(session, status, total, perf, files, ranks)
    info["collectives"] = collectives
    if session.model.faults is not None:
        info["faults"] = faults_info(session, ranks)
    info["jobs"] = jobs_info(session)
    records.write_run_json(session.output, session.config.simulation, info)
    totals = final_totals(session, total, info, ranks, unreceived)
    lines = summary_lines(perf, totals, link_goodput_gbps(session), files, str(session.output))
    shown = [line for job in session.jobs for line in [*([f"# job {job.name}"] if job.name else []), *job.lines]]
    lines = [*shown, *lines] if session.jobs else collective_lines(collectives) + lines
    lines += [f"warning: {line}" for line in limited]
    if status == "interrupted":
        lines.append("interrupted: the records hold what was simulated until then")
    return {"exit_code": code, "lines": lines, "info": info}


def faults_info(session: Session, ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """What links lost, all together and by direction, worst first, at most LISTED_LINKS of them."""
    lost: dict[int, list[int]] = {}
    for rank in ranks:
        for link, packets, size in rank["lost"]:
            total = lost.setdefault(link, [0, 0])
            total[0] += packets
            total[1] += size
    fabric = session.model.fabric
    worst = sorted(lost, key=lambda link: (-lost[link][0], link))[:LISTED_LINKS]
    rows = fabric.links[worst]
    return {"lost_packets": sum(one[0] for one in lost.values()), "lost_bytes": sum(one[1] for one in lost.values()),
            "links": [{"from": fabric.names[row["src"]], "to": fabric.names[row["dst"]], "lost_packets": lost[link][0],
                       "lost_bytes": lost[link][1]} for link, row in zip(worst, rows, strict=True)]}


def jobs_info(session: Session) -> list[dict[str, Any]]:
    """Parts of a workload in several parts of which some run in phases: name, whether it was over, and its last
    completion, us after the workload's start."""
    workload = session.model.workload
    lanes = workload.lanes.lanes if workload is not None and workload.lanes is not None else []
    return [{"name": lane.name, "over": lane.workload is None,
             "end_us": max(0, lane.end_ps - session.config.workload_start_ps) / 1e6} for lane in lanes]


def end_ps(session: Session, ranks: list[dict[str, Any]]) -> int:
    """When the run was over: its stop or interruption, or the last event anywhere when nothing was left."""
    if session.simulation.interrupted or session.simulation.stopped:
        return session.simulation.now_ps
    return max(rank["last_event_ps"] for rank in ranks)


def simulated_ps(session: Session, ranks: list[dict[str, Any]]) -> int:
    """How far time went: `end_ps`, or the periodic rows after it."""
    due_ps, clocks = session.simulation.due_ps, session.simulation.clocks
    return max([end_ps(session, ranks), *(due_ps[name] - clocks[name] for name in clocks)])


def final_totals(session: Session, total: dict[str, int], info: dict[str, Any], ranks: list[dict[str, Any]],
                 unreceived: tuple[int, list[str]]) -> Totals:
    """The figures of the final table. unreceived : unfinished.unreceived_sends."""
    names = session.model.fabric.names
    listed = sorted(row for rank in ranks for row in rank["unfinished_list"])[:LISTED]
    waiting = sorted(entry for rank in ranks for entry in rank["waiting_list"])[:LISTED]
    return Totals(
        flows=session.flows, finished=total["sends_done"], waiting_count=total["waiting"],
        waiting=[text for _, text in waiting], unreceived_count=unreceived[0], unreceived=unreceived[1],
        retransmitted=total["retransmitted"], hops=total["hops"],
        loop_seconds=info["wall"]["busy_s"], simulated_ps=simulated_ps(session, ranks),
        packets={"sent": total["created"], "delivered": total["delivered"], "trimmed": total["trimmed"],
                 "dropped": total["dropped"], "in flight": total["in_flight"]},
        unfinished_count=total["unfinished"],
        unfinished=[Unfinished(user, names[src], names[dst], size, acked) for user, src, dst, size, acked in listed])


def link_goodput_gbps(session: Session) -> float:
    """Payload rate of the fastest NIC link, Gb/s."""
    mss = session.config.largest_mss_bytes
    rate = session.model.fabric.links["rate_bps"][session.model.routes.up_link].max()
    return float(rate) / 1e9 * mss / (mss + PAYLOAD_OVERHEAD_BYTES)


def run_info(session: Session, status: str, total: dict[str, int], perf: np.ndarray, files: list[dict[str, Any]],
             ranks: list[dict[str, Any]]) -> dict[str, Any]:
    """The content of run.json.

    `counts`, `flows`, `fct_us` and `simulated_s` are results and do not depend on the ranks; wall-clock figures and
    what describes the machine do.
    """
    flows = flow_statistics(perf)
    config = session.config
    wall = {key: max(rank["wall"][key] for rank in ranks) for key in ranks[0]["wall"]}
    busy = max(rank["wall"]["hot_s"] + rank["wall"]["exchange_s"] for rank in ranks)
    counts = ("hops", "created", "delivered", "trimmed", "dropped", "dropped_by_nics", "in_flight", "retransmitted",
              "ties", "waits_for_pdc_id")
    return {
        "simulation": config.simulation, "status": status, "seed": config.seed,
        "configuration": config.canonical(), "configuration_sha256": config.digest(), "versions": versions(),
        "ranks": session.comm.size,
        "partition": [{"rank": rank, "nodes": found["nodes"]} for rank, found in enumerate(ranks)],
        "window_ps": session.here.window_ps, "trigger_delay_ps": config.trigger_delay_ps,
        "warnings": session.model.warnings,
        "counts": {name: total[name] for name in counts},
        "flows": {"total": session.flows, "finished": total["sends_done"], "unfinished": total["unfinished"]},
        "fct_us": {"mean": flows.mean_ps / 1e6, "p50": flows.p50_ps / 1e6, "p99": flows.p99_ps / 1e6,
                   "max": flows.max_ps / 1e6, "last": max(0, flows.last_ps - config.workload_start_ps) / 1e6},
        "simulated_s": simulated_ps(session, ranks) / 1e12,
        "wall": wall | {"busy_s": busy}, "hops_per_s": total["hops"] / busy if busy > 0 else 0.0, "compiled": COMPILED,
        "files": files,
    } | {name: [rank[name] for rank in ranks]
         for name in ("peak_memory_mb", "cpu_s", "loop_cpu_s", "windows", "packets_exchanged")}


def peak_memory_mb() -> float:
    """Greatest resident size of this process so far, MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def versions() -> dict[str, str]:
    """Versions of what decides the results."""
    found = {"python": platform.python_version()}
    for name in ("distsim-uet", "numba", "numpy", "polars", "mpi4py"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found
