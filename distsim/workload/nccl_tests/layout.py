"""Numbers and lines as nccl-tests 2.19 prints them.

Facts: NVIDIA/nccl-tests 2.19.1, src/util.cu (writeDeviceReport, writeResultHeader, writeBenchmarkLine*, getFloatStr,
writeResultFooter).
"""

from __future__ import annotations

from .command import Command
from .iterations import Iterations

VERSION = "2.19.1"
_KEYS = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}"
_HALF = "  {:>7}  {:>6}  {:>6}  {:>6}"
_ITERATIONS = "  {:>7}  {:>7}  {:>7}  {:>7}"


def number(value: float, width: int) -> str:
    """A number in `width` columns: two decimals while they fit, then one, then none, then an exponent."""
    digits, power = 0, 1
    while value >= power and digits < 64:
        digits, power = digits + 1, power * 10
    if digits < width - 2:
        return f"{value:{width}.2f}"
    if digits < width - 1:
        return f"{value:{width}.1f}"
    if digits < width + 1:
        return f"{value:{width}.0f}"
    return f"{value:{width}.1e}" if width >= 7 else f"{value:{width}.0e}"


def parameters(command: Command) -> list[str]:
    """The header's lines on the command, down to the one before the devices."""
    step = f"{command.factor}(factor)" if command.factor > 1 else f"{command.step_bytes}(bytes)"
    lines = [f"# nccl-tests version {VERSION} nccl-headers=0 nccl-library=0",
             f"# Collective test starting: {command.name}",
             f"# nThread {command.threads} nGpus {command.gpus} minBytes {command.min_bytes} "
             f"maxBytes {command.max_bytes} step: {step} warmup iters: {command.warm_up} "
             f"iters: {command.iterations} agg iters: {command.aggregated} validation: {command.check} "
             f"graph: {command.graph} unalign: {command.unalign}"]
    if command.blocking == 1:
        lines.append("# Blocking Enabled: wait for completion and barrier after each collective ")
    elif command.blocking > 1:
        lines.append("# Blocking Enabled: wait for completion after each collective (no barrier) ")
    if command.per_iteration:
        lines.append("# Per-Iteration Report: CUDA event timing; i_* uses max over process rows ")
    if command.parallel_init:
        lines.append("# Parallel Init Enabled: threads call into NcclInitRank concurrently ")
    return [*lines, "#"]


def device(rank: int, pid: int, host: str, number_of_device: int, address: str, name: str) -> str:
    """A rank's line under "Using devices"."""
    return (f"#  Rank {rank:2d} Group  0 Pid {pid:6d} on {host:>10} device {number_of_device:2d} [{address}] {name}")


def network(host: str, pid: int, number_of_device: int, name: str) -> str:
    """The line in which a rank of NCCL says what network it uses."""
    return f"{host}:{pid}:{pid} [{number_of_device}] NCCL INFO Using network {name}"


def columns(command: Command) -> list[str]:
    """The table's header."""
    time = "cputime" if command.cpu_time else "time"
    stamp = f"{'timestamp':>19}" if command.timestamps else ""
    form = "%Y-%m-%d %H:%M:%S" if command.timestamps else ""
    blank = _KEYS.format("", "", "", "", "")
    names = _HALF.format(time, "algbw", "busbw", "#wrong")
    units = _HALF.format("(us)", "(GB/s)", "(GB/s)", "")
    places = "           out-of-place                       in-place          "
    if command.per_iteration:
        names += _ITERATIONS.format("i_min", "i_max", "i_p99", "i_cv%")
        units += _ITERATIONS.format("(us)", "(us)", "(us)", "(%)")
        places = f"{'':14}out-of-place (+ per-iteration){'':32}in-place (+ per-iteration)"
    return ["#", blank + places,
            _KEYS.format("size", "count", "type", "redop", "root") + names + names + f" {stamp}",
            _KEYS.format("(B)", "(elements)", "", "", "") + units + units + f" {form:>{len(stamp)}}"]


def half(time_us: float, algbw: float, busbw: float, checked: bool) -> str:
    """One half of a row."""
    wrong = f"{0:6g}" if checked else "  N/A"      # one column short, as the program prints it
    return f"  {number(time_us, 7):>7}  {number(algbw, 6):>6}  {number(busbw, 6):>6}  {wrong}"


def iterations(figures: Iterations) -> str:
    """The columns on single iterations."""
    return _ITERATIONS.format(*(number(value, 7) for value in (figures.min_us, figures.max_us, figures.p99_us,
                                                               figures.cv_pct)))


def row(size_bytes: int, count: int, datatype: str, operator: str, root: int, halves: tuple[str, str],
        stamp: str = "") -> str:
    """A row; stamp : with -S, the time of day."""
    return (f"{size_bytes:12d}  {count:12d}  {datatype:>8}  {operator:>6}  {root:6d}" + halves[0] + halves[1]
            + (f"{stamp:>21}" if stamp else ""))


def footer(command: Command, average_busbw: float) -> list[str]:
    """The lines after the last row."""
    return [f"# {'Out of bounds values':<20} : 0 OK", f"# {'Avg bus bandwidth':<20} : {average_busbw:g} ", "#",
            f"# Collective test concluded: {command.name}", "#", ""]
