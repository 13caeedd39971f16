"""One rank's part of a run: model, state, records and totals around the `Simulation` loop."""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import records
from .assemble import assemble, eager_wanted
from .errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFINISHED, DistsimError
from .fabric.types import NIC
from .kernels.mode import COMPILED
from .kernels.native import Kernels, load_kernels
from .parallel.comm import Communicator
from .parallel.partition import partition
from .progress import Progress
from .results_summary import Totals, Unfinished, flow_statistics, summary_lines
from .simulation import Simulation
from .state import tables as t
from .state.allocate import cell, to_array
from .state.build import build
from .workload.types import SEND

if TYPE_CHECKING:
    from .config import Config
    from .engine import Result, StopSignals
    from .state.view import State

PAYLOAD_OVERHEAD_BYTES = 106
UNFINISHED_LISTED = 10
TOTALS = ("hops", "created", "delivered", "trimmed", "dropped", "ties", "sends_done", "ops_started")


class Session:
    """A run on one rank: `set_up`, `simulate`, `finish`, in this order."""

    def __init__(self, config: Config, output: Path, comm: Communicator, quiet: bool, signals: StopSignals) -> None:
        self.config, self.output, self.comm, self.signals = config, output, comm, signals
        self.quiet = quiet or comm.rank != 0
        self.begin_s = time.perf_counter()
        self.perf: list[np.ndarray] = []
        self.wall: dict[str, float] = {}

    # ---- set up ------------------------------------------------------------------------------------------------------
    def set_up(self, overwrite: bool) -> None:
        """Model, state, compiled kernels, open records. Raises the same error on every rank."""
        self._together(self._build)
        if self.comm.rank == 0:
            self._together(lambda: records.claim_directory(self.output, overwrite))
        else:
            self._together(lambda: None)
        self._compile()
        self._together(self._open_records)
        self.wall["setup_s"] = time.perf_counter() - self.begin_s - self.wall["compile_s"]

    def _together(self, step: Callable[[], object]) -> None:
        """Do a step that can fail on one rank alone; its error becomes everyone's."""
        error: DistsimError | None = None
        try:
            step()
        except DistsimError as found:
            error = found
        self.comm.agree(error)

    def _build(self) -> None:
        self.model = assemble(self.config, eager=eager_wanted())
        self.owner = partition(self.model.fabric, self.comm.size)
        self.initial, self.here = build(self.model, self.owner, self.comm.rank, twin=not COMPILED)
        self.flows = int(np.count_nonzero(self.model.messages.ops["kind"] == SEND))
        if not self.quiet:
            for line in self.model.warnings:
                print(f"distsim: warning: {line}", file=sys.stderr)

    def _compile(self) -> None:
        """Rank 0 compiles, the others then load what it compiled."""
        begin = time.perf_counter()
        kernels: Kernels | None = load_kernels() if self.comm.rank == 0 else None
        self.comm.barrier()
        self.simulation = Simulation(
            self.comm, self.here, self.initial, kernels or load_kernels(), self.config.workload_start_ps,
            self.config.stop_ps, self.config.interval_ps, self._on_tick, self._on_perf, self._on_progress,
            lambda: self.signals.asked)
        self.wall["compile_s"] = time.perf_counter() - begin

    def _open_records(self) -> None:
        fabric, here = self.model.fabric, self.here
        nic_ids = here.nodes[fabric.nodes["kind"][here.nodes] == NIC]
        self.nic_order = np.argsort(nic_ids)
        nic_ids = nic_ids[self.nic_order]
        links = fabric.links[here.ports]
        self.port_order = np.lexsort([links["src_port"], links["src"]])
        links = links[self.port_order]
        self.in_order = here.in_of[links["reverse"]]
        shard = records.Shard(
            simulation=self.config.simulation, index=self.comm.rank, count=self.comm.size, directory=str(self.output),
            nic_node_id=nic_ids, nic_name=[fabric.names[i] for i in nic_ids], nic_stats=self._stats_switches(nic_ids),
            port_node_id=links["src"], port_ifid=links["src_port"], port_tier=fabric.nodes["tier"][links["src"]],
            port_uplink=links["uplink"], port_is_nic=fabric.nodes["kind"][links["src"]] == NIC,
            port_rate_bps=links["rate_bps"], port_name=[fabric.names[i] for i in links["src"]],
            interval_ps=self.config.interval_ps, start_ps=self.config.workload_start_ps, names=fabric.names)
        switches = {"EnableNetDeviceStatLogging": self.config.parameters.EnableNetDeviceStatLogging}
        self.records = records.open_records(shard, switches)
        self.progress = Progress(self.quiet, self.config.stop_ps, self.config.workload_start_ps)

    def _stats_switches(self, nic_ids: np.ndarray) -> np.ndarray:
        """EnableTransportStats of each NIC."""
        fabric = self.model.fabric
        return np.array([self.config.nic_for(int(i), int(fabric.nodes["rack"][i]), fabric.names[i]).EnableTransportStats
                         for i in nic_ids], bool)

    # ---- simulate ----------------------------------------------------------------------------------------------------
    def simulate(self) -> None:
        """Run the loop; the record files are closed with complete rows whatever happens."""
        begin = time.perf_counter()
        self.cpu_before_s = time.process_time()
        error: DistsimError | None = None
        try:
            self.simulation.run()
        except DistsimError as found:
            error = found
        finally:
            self.progress.close()
            self.records.close()
        self.wall["loop_s"] = time.perf_counter() - begin
        self.comm.agree(error)

    def _on_tick(self, time_ps: int, counters: np.ndarray, ports: np.ndarray, ins: np.ndarray) -> None:
        figures = records.port_counters(ports[self.port_order], ins[self.in_order], time_ps)
        self.records.on_tick(records.Tick(time_ps, counters[self.nic_order], figures))

    def _on_perf(self, rows: np.ndarray) -> None:
        self.perf.append(rows.copy())
        self.records.on_perf(rows)

    def _on_progress(self, state: State, now_ps: int) -> None:
        if not self.quiet:
            self.progress.update(now_ps, cell(state.clock, 0, "hops") * self.comm.size,
                                 cell(state.clock, 0, "sends_done") * self.comm.size, self.flows)

    # ---- sum up ------------------------------------------------------------------------------------------------------
    def finish(self) -> Result:
        """Gather the totals on rank 0, write run.json; the exit code is the same on every rank."""
        from .engine import Result

        self.wall["total_s"] = time.perf_counter() - self.begin_s
        gathered = self.comm.gather(self._own_totals())
        outcome: dict[str, Any] = {}
        error: DistsimError | None = None
        if gathered is not None:
            try:
                outcome = self._conclude(gathered)
            except DistsimError as found:
                error = found
        self.comm.agree(error)
        code = int(self.comm.share(outcome.get("exit_code", 0)))
        return Result(code, outcome.get("lines", []), outcome.get("info", {}))

    def _own_totals(self) -> dict[str, Any]:
        """What this rank contributes, as plain data."""
        state, timing, exchange = self.simulation.state, self.simulation.timing, self.simulation.exchange
        ops = to_array(state.ops, t.OP)
        pending = np.flatnonzero((ops["kind"] == SEND) & (ops["state"] != t.OP_DONE))
        perf = np.concatenate(self.perf) if self.perf else np.zeros(0, t.PERF)
        own = {name: cell(state.clock, 0, name) for name in TOTALS}
        return own | {
            "in_flight": cell(state.pools, t.P_PACKET, "used"),
            "retransmitted": int(to_array(state.counters, t.COUNTERS)["num_rtx"].sum()),
            "unfinished": len(pending), "unfinished_list": [self._unfinished(state, ops[row]) for row in pending[:UNFINISHED_LISTED]],
            "perf": perf.tobytes(), "files": self.records.files(),
            "wall": self.wall | {"hot_s": timing.kernels, "records_s": timing.records, "exchange_s": exchange.seconds},
            "windows": exchange.windows, "packets_exchanged": exchange.packets_sent, "calls": timing.calls,
            "cpu_s": time.process_time(), "loop_cpu_s": time.process_time() - self.cpu_before_s,
            "peak_memory_mb": peak_memory_mb(), "nodes": len(self.here.nodes), "now_ps": self.simulation.now_ps,
        }

    def _unfinished(self, state: State, op: np.void) -> list[int]:
        """[user id, from, to, bytes, acknowledged bytes] of an operation that is not done."""
        acked = 0
        if op["pdc"] >= 0 and op["state"] == t.OP_ACTIVE:
            node = cell(state.nics, int(op["nic"]), "node")
            mss = cell(state.nicpar, cell(state.nodes, node, "param"), "mss_bytes")
            acked = min(cell(state.tx, int(op["pdc"]), "unacked") * mss, int(op["length_bytes"]))
        source = self.model.messages.ops["host"][op["global_op"]]
        return [int(op["user_id"]), int(source), int(op["dst"]), int(op["length_bytes"]), acked]

    def _conclude(self, ranks: list[dict[str, Any]]) -> dict[str, Any]:
        """On rank 0: run.json, final table, exit code."""
        perf = np.frombuffer(b"".join(rank.pop("perf") for rank in ranks), t.PERF)
        perf = perf[np.lexsort([perf["op"], perf["node"], perf["time_ps"]])]
        total = {name: sum(rank[name] for rank in ranks) for name in (*TOTALS, "in_flight", "retransmitted", "unfinished")}
        files = [file for rank in ranks for file in rank["files"]]
        status, code = "finished", EXIT_OK
        if total["unfinished"]:
            status, code = "unfinished", EXIT_UNFINISHED
        if self.simulation.interrupted:
            status, code = "interrupted", EXIT_INTERRUPTED
        info = self._info(status, total, perf, files, ranks)
        records.write_run_json(self.output, self.config.simulation, info)
        names = self.model.fabric.names
        listed = sorted(row for rank in ranks for row in rank["unfinished_list"])[:UNFINISHED_LISTED]
        totals = Totals(
            flows=self.flows, retransmitted=total["retransmitted"], hops=total["hops"],
            loop_seconds=info["wall"]["hot_s"] + info["wall"]["exchange_s"], simulated_ps=self.simulation.now_ps,
            packets={"sent": total["created"], "delivered": total["delivered"], "trimmed": total["trimmed"],
                     "dropped": total["dropped"], "in flight": total["in_flight"]},
            unfinished_count=total["unfinished"],
            unfinished=[Unfinished(user, names[source], names[to], size, acked) for user, source, to, size, acked in listed])
        lines = summary_lines(perf, totals, self._limit_gbps(), files, str(self.output))
        if status == "interrupted":
            lines.append("interrupted: the records hold what was simulated until then")
        return {"exit_code": code, "lines": lines, "info": info}

    def _limit_gbps(self) -> float:
        """Payload rate of the fastest NIC link, Gb/s."""
        mss = self.config.largest_mss_bytes
        rate = self.model.fabric.links["rate_bps"][self.model.routes.up_link].max()
        return float(rate) / 1e9 * mss / (mss + PAYLOAD_OVERHEAD_BYTES)

    def _info(self, status: str, total: dict[str, int], perf: np.ndarray, files: list[dict[str, Any]],
              ranks: list[dict[str, Any]]) -> dict[str, Any]:
        """The content of run.json. Keys below `wall_clock` differ from run to run; all others are results."""
        flows = flow_statistics(perf)
        start = self.config.workload_start_ps
        wall = {key: max(rank["wall"][key] for rank in ranks) for key in ranks[0]["wall"]}
        busy = wall["hot_s"] + wall["exchange_s"]
        return {
            "simulation": self.config.simulation, "status": status, "seed": self.config.seed,
            "configuration": self.config.canonical(), "configuration_sha256": self.config.digest(),
            "versions": versions(), "ranks": self.comm.size,
            "partition": [{"rank": rank, "nodes": found["nodes"]} for rank, found in enumerate(ranks)],
            "window_ps": self.here.window_ps, "warnings": self.model.warnings,
            "counts": {"hops": total["hops"], "created": total["created"], "delivered": total["delivered"],
                       "trimmed": total["trimmed"], "dropped": total["dropped"], "in_flight": total["in_flight"],
                       "retransmitted": total["retransmitted"], "ties": total["ties"]},
            "flows": {"total": self.flows, "finished": total["sends_done"], "unfinished": total["unfinished"]},
            "fct_us": {"mean": flows.mean_ps / 1e6, "p50": flows.p50_ps / 1e6, "p99": flows.p99_ps / 1e6,
                       "max": flows.max_ps / 1e6, "last": max(0, flows.last_ps - start) / 1e6},
            "simulated_s": self.simulation.now_ps / 1e12,
            "wall": wall, "hops_per_s": total["hops"] / busy if busy > 0 else 0.0,
            "peak_memory_mb": [rank["peak_memory_mb"] for rank in ranks],
            "cpu_s": [rank["cpu_s"] for rank in ranks], "loop_cpu_s": [rank["loop_cpu_s"] for rank in ranks],
            "windows": [rank["windows"] for rank in ranks], "packets_exchanged": [rank["packets_exchanged"] for rank in ranks],
            "compiled": COMPILED, "files": files,
        }


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

