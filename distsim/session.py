"""One rank's part of a run: model, state, records and totals around the `Simulation` loop."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import records
from .assemble import assemble, eager_wanted
from .errors import DistsimError, InputError
from .fault_steps import FaultSteps
from .kernels.mode import COMPILED, PLUGIN_VARIABLE, plugin_file
from .kernels.native import Kernels, load_kernels
from .launched import LaunchedJob, end_of, is_over, jobs_of
from .limits import Limits
from .outcome import conclude, rank_totals
from .parallel.comm import Communicator
from .parallel.partition import partition
from .phases import Phases, last_event_ps, undone
from .progress import Progress
from .projection import LONG_S, Projection, Senders, check_projection, project
from .shard import clocks, shard_of, switches, tick_of
from .simulation import Simulation, StoppedElsewhere
from .state import tables as t
from .state.allocate import cell
from .state.build import build, close_pauses
from .state.lookahead import notices_of
from .watching import Watching
from .workload.types import LOCAL, SEND

if TYPE_CHECKING:
    from .config import Config
    from .engine import Result, StopSignals
    from .state.view import State


# Environment variables that every rank must agree on.
SWITCHES = ("DISTSIM_PARTITION", "DISTSIM_EAGER", "NUMBA_DISABLE_JIT")


class Session:
    """A run on one rank: `set_up`, `simulate`, `finish`, in this order."""

    def __init__(self, config: Config, output: Path, comm: Communicator, quiet: bool, signals: StopSignals,
                 limits: Limits | None = None) -> None:
        self.config, self.output, self.comm, self.signals = config, output, comm, signals
        self.limits = limits or Limits()
        self.quiet = quiet or comm.rank != 0
        self.begin_s = self.loop_begin_s = time.perf_counter()
        self.perf: list[np.ndarray] = []
        self.on_fabric: list[np.ndarray] = []              # of each row of perf: not in a scale-up group
        self.jobs: list[LaunchedJob] = []
        self.wall_times: list[tuple[int, float]] = []       # (simulated ps, wall us since the loop began)
        self.wall: dict[str, float] = {}

    # ---- set up ------------------------------------------------------------------------------------------------------
    def set_up(self, overwrite: bool) -> None:
        """Model, state, compiled kernels, open records. Raises the same error on every rank."""
        self._together(self._choose_plugin)
        self._together(self._compare)
        self._together(self._build)
        if self.comm.rank == 0:
            self._together(lambda: self._claim(overwrite))
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

    def _choose_plugin(self) -> None:
        """Tell the kernels which plug-in file they are compiled with; a process can have one."""
        wanted = self.config.plugin_file or ""
        os.environ[PLUGIN_VARIABLE] = wanted
        if plugin_file() != wanted:
            raise InputError(f"this process has loaded its kernels with plug-in {plugin_file() or 'none'} and cannot "
                             f"change to {wanted or 'none'}; run it in a process of its own",
                             where="nic.TransportProcessingLayers.Plugin.File")

    def _compare(self) -> None:
        """Every rank must have been given the same configuration and the same switches."""
        mine = [self.config.digest(), *(os.environ.get(name, "") for name in SWITCHES)]
        if self.comm.share(mine) != mine:
            raise InputError(f"rank {self.comm.rank} was started with another configuration, or another value of "
                             f"{', '.join(SWITCHES)}, than rank 0", where="ranks")

    def _build(self) -> None:
        self.model = assemble(self.config, eager=eager_wanted(), foresee=self._foresee)
        near = self.model.notices            # of scale-up groups; what triggers tell each other does not count
        if near is None and (self.model.messages.ops["kind"] == LOCAL).any():
            near = notices_of(self.model)
        self.owner = partition(self.model.fabric, self.comm.size, near=near)
        self._project()
        self.initial, self.here = build(self.model, self.owner, self.comm.rank, twin=not COMPILED)
        if not self.quiet:
            for line in self.model.warnings:
                print(f"distsim: warning: {line}", file=sys.stderr)

    def _foresee(self, expected: Projection) -> None:
        """Refuse a run that is expected to take too long."""
        check_projection(expected, self.limits.max_hops, self.limits.yes, self.comm.size)

    def _project(self) -> None:
        """Say how long the run is expected to take, and refuse one that is too long."""
        model, ranks = self.model, self.comm.size
        assert model.workload is not None
        expected = project(model.workload, model.fabric, model.routes, Senders.of(model.nicpar, model.nic_param))
        self._foresee(expected)
        self.expected_hops = expected.hops
        if not self.quiet and expected.seconds(ranks) >= LONG_S:
            print(f"distsim: {expected.text(ranks)}", file=sys.stderr)

    def _claim(self, overwrite: bool) -> None:
        """On rank 0: the output directory is this run's, and says so until run.json does."""
        config = self.config
        records.hold(records.claim_directory(self.output, overwrite), {
            "simulation": config.simulation, "seed": config.seed, "configuration": config.canonical(),
            "configuration_sha256": config.digest(), "ranks": self.comm.size})

    def _compile(self) -> None:
        """Rank 0 compiles, the others then load what it compiled."""
        begin = time.perf_counter()
        kernels: Kernels | None = load_kernels(self._say_compiling) if self.comm.rank == 0 else None
        self.comm.barrier()
        self.simulation = Simulation(
            self.comm, self.here, self.initial, kernels or load_kernels(), self.config.workload_start_ps,
            self.config.stop_ps, clocks(self.config), self._on_tick, self._on_rows, self._on_progress,
            self._on_idle, lambda: self.signals.asked)
        self.phases = Phases(self.comm, self.model, self.here, self.simulation.holder)
        self.simulation.faults = FaultSteps(self.model, self.here, self.simulation.holder, self.simulation.kernels)
        self.simulation.watching = Watching(self.comm, self.model, self.here, self.simulation.holder,
                                            self.config.parameters.MonitorScope == "global")
        self.wall["compile_s"] = time.perf_counter() - begin

    def _say_compiling(self) -> None:
        if not self.quiet:
            print("distsim: compiling the kernels, once for this version and machine: one to two minutes",
                  file=sys.stderr)

    def _open_records(self) -> None:
        self.places = shard_of(self.config, self.model, self.here, self.comm, str(self.output))
        self.records = records.open_records(self.places.shard, switches(self.config, self.model))
        self.records.on_tick(records.Tick(self.config.workload_start_ps, "start"))
        self.simulation.clocks = {name: interval for name, interval in self.simulation.clocks.items()
                                  if name == "nd" or self.records.has(name)}
        self.simulation.due_ps = {name: self.simulation.due_ps[name] for name in self.simulation.clocks}
        self.jobs = jobs_of(self.config, self.model.workload, self.output, self.comm.rank == 0)
        for job in self.jobs:
            job.begin(self.config.workload_start_ps)
        phased = self.model.workload is not None and self.model.workload.following is not None
        self.progress = Progress(self.quiet, self.config.stop_ps, self.config.workload_start_ps,
                                 expected=self.expected_hops if phased else 0)

    # ---- simulate ----------------------------------------------------------------------------------------------------
    def simulate(self) -> None:
        """Run the loop; the record files are closed with complete rows whatever happens."""
        begin = self.loop_begin_s = time.perf_counter()
        cpu_before_s = time.process_time()
        error: DistsimError | None = None
        try:
            self.simulation.run()
        except DistsimError as found:
            error = found
        finally:
            self.progress.close()
            self.records.close()
        error = self._end_jobs(error)
        self.wall["loop_s"] = time.perf_counter() - begin
        self.loop_cpu_s = time.process_time() - cpu_before_s
        try:
            self.comm.agree(None if isinstance(error, StoppedElsewhere) else error)
        except DistsimError as agreed:
            self._write_failed(agreed)
            raise

    def _end_jobs(self, error: DistsimError | None) -> DistsimError | None:
        """Close the logs of the jobs that were run, and their measurements. Returns the first error."""
        if not self.jobs:
            return error
        state, cut_off = self.simulation.state, self.simulation.interrupted or self.simulation.stopped
        mine = [error is not None or cut_off or bool(undone(state)), last_event_ps(state)]
        found = self.comm.everyone(mine)
        failed = any(one[0] for one in found)
        last_ps = self.simulation.now_ps if cut_off else max(one[1] for one in found)
        for job in self.jobs:
            over = not failed or is_over(job, self.model.workload)
            end_ps = end_of(job, self.model.workload, self.phases.end_ps)
            try:
                job.end(end_ps if over else max(end_ps, last_ps), over)
            except DistsimError as broken:
                error = error or broken
        return error

    def _write_failed(self, error: DistsimError) -> None:
        """Say in run.json that the run failed and why, if that can still be written."""
        if self.comm.rank == 0:
            info = {"simulation": self.config.simulation, "status": "failed", "error": str(error),
                    "seed": self.config.seed, "configuration": self.config.canonical(), "ranks": self.comm.size,
                    "files": self.records.files()}
            with contextlib.suppress(DistsimError):
                records.write_run_json(self.output, self.config.simulation, info)

    def _on_tick(self, clock: str, time_ps: int) -> None:
        if clock == "nd":
            close_pauses(self.simulation.state, time_ps)
            self.wall_times.append((time_ps, (time.perf_counter() - self.loop_begin_s) * 1e6))
        self.records.on_tick(tick_of(clock, time_ps, self.simulation.state, self.places, self._run_figures()))

    def _run_figures(self) -> dict[str, Any]:
        """What the simulator's own records say of this rank."""
        simulation, exchange = self.simulation, self.simulation.exchange
        width = t.PACKET.itemsize
        return {"hops": cell(simulation.state.clock, 0, "hops"), "windows": exchange.windows,
                "idle_windows": exchange.idle_windows, "calls": simulation.timing.calls,
                "packets_sent": exchange.packets_sent, "packets_received": exchange.packets_received,
                "bytes_sent": exchange.packets_sent * width, "kernels_s": simulation.timing.kernels,
                "exchange_s": exchange.seconds, "records_s": simulation.timing.records}

    def _on_rows(self, name: str, rows: np.ndarray) -> None:
        if name == "perf":
            self.perf.append(rows.copy())
            messages = self.model.messages
            self.on_fabric.append(messages.ops["kind"][rows["op"] - messages.first_op] == SEND)
        if name == "oplog":
            self.phases.take(rows)
        else:
            self.records.on_rows(name, rows)

    def _on_idle(self) -> bool:
        """Nothing is left to do anywhere: go on with the next phase of the workload, if there is one."""
        went_on = self.phases.go_on()
        for job in self.jobs:
            try:
                job.step(end_of(job, self.model.workload, self.phases.end_ps))
            except DistsimError as found:          # of this rank alone: told when the ranks next meet
                self.simulation.error = self.simulation.error or found
        if not went_on:
            return False
        self.model = self.phases.model
        if self.simulation.watching is not None:
            self.simulation.watching.messages = self.model.messages
        return True

    @property
    def flows(self) -> int:
        """Messages of the phases so far."""
        return self.phases.messages

    def _on_progress(self, state: State, now_ps: int) -> None:
        if not self.quiet:
            self.progress.update(now_ps, cell(state.clock, 0, "hops") * self.comm.size,
                                 cell(state.clock, 0, "sends_done") * self.comm.size, self.flows)

    # ---- sum up ------------------------------------------------------------------------------------------------------
    def finish(self) -> Result:
        """Gather the totals on rank 0, write run.json; the exit code is the same on every rank."""
        from .engine import Result

        self.wall["total_s"] = time.perf_counter() - self.begin_s
        gathered = self.comm.gather(rank_totals(self))
        outcome: dict[str, Any] = {}
        error: DistsimError | None = None
        if gathered is not None:
            try:
                outcome = conclude(self, gathered)
            except DistsimError as found:
                error = found
        self.comm.agree(error)
        code = int(self.comm.share(outcome.get("exit_code", 0)))
        return Result(code, outcome.get("lines", []), outcome.get("info", {}))
