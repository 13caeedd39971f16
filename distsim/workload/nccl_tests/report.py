"""What a run of nccl-tests writes: the log of its launcher, line by line, and files at its end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from . import layout
from .command import Command
from .iterations import Iterations
from .sizes import NO_IN_PLACE, Amount, Test

JSON_VERSION = 2
EXTRAPOLATED = "nccl-tests-extrapolated.csv"
_CSV_COLUMNS = "cycle,size,type,redop,root,in_place,extrapolated,time_us,from_sizes,simulated_operations"


@dataclass(frozen=True)
class Rank:
    """Where a rank is said to run: host name, process id, its GPU's number on the server, name of its NIC."""

    host: str
    pid: int
    device: int
    nic: str

    @property
    def address(self) -> str:
        """A PCI address made of the device's number."""
        return f"0000:{self.device:02x}:00"


@dataclass(frozen=True)
class Measured:
    """One half of a row. time_us : what the time column says; bandwidths in GB/s; iterations : with -I; sources : sizes
    from which it was extrapolated, empty when it was simulated; simulated : operations that were."""

    time_us: float
    algbw: float
    busbw: float
    iterations: Iterations | None = None
    sources: tuple[int, ...] = ()
    simulated: int = 0


class Report:
    """Collects lines and rows; `take_lines` hands out what is new.

    table : lines that a terminal shows: the log's without command and devices. Files are named by what follows
    ``{simulation}-``. On every rank the report is the same; one of them writes it.
    """

    LOG = "launcher.log"

    def __init__(self, command: Command, ranks: list[Rank], network: str, steady: bool):
        self._command, self._ranks = command, ranks
        self.table: list[str] = []
        self._lines: list[str] = []
        self._results: list[dict[str, Any]] = []
        self._marks: list[str] = []
        self._busbw: list[float] = []
        self._steady = steady
        self._last_ps = 0
        self._done = False
        self._header(network)

    def take_lines(self) -> list[str]:
        """The log's lines since the last call, without newlines."""
        lines, self._lines = self._lines, []
        return lines

    def files(self) -> dict[str, str]:
        """Whole files beside the log, name -> content; may be asked for before the end."""
        found = {}
        if self._steady:
            found[EXTRAPOLATED] = "\n".join([_CSV_COLUMNS, *self._marks]) + "\n"
        if self.json_name:
            found[self.json_name] = self._json()
        return found

    @property
    def json_name(self) -> str:
        """Name of the -J report, "" when there is none (as in the program, only a .json file is written)."""
        name = self._command.json_file.rpartition("/")[2]
        return f"nccl-tests-{name}" if name.lower().endswith(".json") and len(name) > len(".json") else ""

    @property
    def average_busbw(self) -> float:
        """Mean of both busbw columns over all rows, GB/s."""
        return sum(self._busbw) / len(self._busbw) if self._busbw else 0.0

    def note(self, text: str) -> None:
        """A comment of ours."""
        self._say(f"# distsim: {text}")

    def skip(self, ranks: int) -> None:
        """What hypercube_perf says when the ranks are no power of two."""
        self._say(f"nRanks {ranks} is not a power of 2, skipping")

    def row(self, test: Test, moved: Amount, cycle: int, halves: tuple[Measured, Measured], time_ps: int) -> None:
        """A row at simulated time `time_ps`: out-of-place, in-place."""
        self._last_ps = time_ps
        texts = [layout.half(half.time_us, half.algbw, half.busbw, self._checked(place))
                 + (layout.iterations(half.iterations) if half.iterations is not None else "")
                 for place, half in enumerate(halves)]
        stamp = _clock(time_ps) if self._command.timestamps else ""
        self._say(layout.row(moved.row_bytes, moved.count, test.datatype, test.operator, test.root,
                             (texts[0], texts[1]), stamp))
        self._busbw += [half.busbw for half in halves]
        self._results.append(self._result(test, moved, halves))
        for place, half in enumerate(halves):
            sources = " ".join(map(str, half.sources))
            self._marks.append(f"{cycle},{moved.row_bytes},{test.datatype},{test.operator},{test.root},{place},"
                               f"{int(bool(half.sources))},{half.time_us:.6f},{sources},{half.simulated}")
            if half.sources:
                self.note(f"size {moved.row_bytes} {'in-place' if place else 'out-of-place'} was not simulated; "
                          f"extrapolated from sizes {sources}")

    def finish(self) -> None:
        """The footer."""
        self._done = True
        self._say(*layout.footer(self._command, self.average_busbw))

    def _say(self, *lines: str) -> None:
        self._lines += lines
        self.table += lines

    def _checked(self, in_place: int) -> bool:
        return self._command.check > 0 and not (in_place and self._command.program in NO_IN_PLACE)

    def _header(self, network: str) -> None:
        command = self._command
        if self.json_name:
            self._lines.append(f"# Writing JSON output to {self.json_name}")
        start, *rest = layout.parameters(command)
        self._lines += [start, *rest[:-1]]
        self.note("simulated; results are not computed, so nothing can be wrong, and neither the checks (-c) nor the "
                  "operation before each measurement are simulated")
        if command.cpu_time:
            self.note("cputime is the launch parameter; bandwidths come from the simulated time")
        if command.timestamps:
            self.note("timestamp is simulated time, counted from 1970")
        if command.json_file and not self.json_name:
            self.note(f"-J {command.json_file}: only files that end in .json are written, as in nccl-tests")
        for text in command.notes:
            self.note(text)
        self._lines += [rest[-1], "# Using devices"]
        self._lines += [layout.device(number, rank.pid, rank.host, rank.device, rank.address, f"simulated {rank.nic}")
                        for number, rank in enumerate(self._ranks)]
        self._lines += [layout.network(rank.host, rank.pid, rank.device, network) for rank in self._ranks]
        self._say(*layout.columns(command))

    def _result(self, test: Test, moved: Amount, halves: Iterable[Measured]) -> dict[str, Any]:
        result: dict[str, Any] = {"size": moved.row_bytes, "count": moved.count, "type": test.datatype,
                                  "redop": test.operator, "root": f"{test.root:6d}"}
        key = "cpu_time" if self._command.cpu_time else "time"
        for place, half in enumerate(halves):
            result["in_place" if place else "out_of_place"] = {
                key: round(half.time_us, 6), "alg_bw": round(half.algbw, 6), "bus_bw": round(half.busbw, 6),
                "nwrong": 0.0 if self._checked(place) else None}
            if self._steady:
                result["in_place" if place else "out_of_place"] |= {
                    "simulated_operations": half.simulated, "extrapolated_from": list(half.sources)}
            if half.iterations is not None:
                result["in_place_per_iter" if place else "out_of_place_per_iter"] = {
                    **asdict(half.iterations), "cv_pct": half.iterations.cv_pct}
        result["actual_iterations"] = self._command.iterations
        result["experiment_name"] = ""
        return result

    def _json(self) -> str:
        """The report in the layout of -J (NVIDIA/nccl-tests src/util.cu); times of day are simulated."""
        command = self._command
        step = {"step_factor": command.factor} if command.factor > 1 else {"step_bytes": command.step_bytes}
        devices = [{"rank": number, "group": 0, "pid": rank.pid, "hostname": rank.host, "device": rank.device,
                    "device_hex": rank.address, "device_info": f"simulated {rank.nic}"}
                   for number, rank in enumerate(self._ranks)]
        config = {"nthreads": command.threads, "ngpus": command.gpus, "minimum_bytes": command.min_bytes,
                  "maximum_bytes": command.max_bytes, **step, "warmup_iters": command.warm_up,
                  "iterations": command.iterations, "aggregated_iterations": command.aggregated,
                  "validation": command.check, "graph": command.graph,
                  "blocking_collectives": _boolean(command.blocking > 0),
                  "per_iter_timing": _boolean(command.per_iteration > 0),
                  "parallel_init": _boolean(command.parallel_init > 0), "devices": devices}
        whole: dict[str, Any] = {"version": JSON_VERSION, "start_time": _clock(0), "args": command.words,
                                 "env": [], "nccl_version": 0, "config": config, "results": self._results}
        if self._done:
            whole |= {"out_of_bounds": {"count": 0, "okay": "true"},
                      "average_bus_bandwidth": {"bandwidth": round(self.average_busbw, 6), "okay": "unchecked"},
                      "errors": [""], "end_time": _clock(self._last_ps)}
        return json.dumps(whole, separators=(",", ":")) + "\n"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _clock(time_ps: int) -> str:
    """Simulated time as nccl-tests writes the time of day, counted from 1970."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time_ps // 10**12)).strftime("%Y-%m-%d %H:%M:%S")
