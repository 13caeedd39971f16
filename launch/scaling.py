"""Strong and weak scaling: measured on the rank counts that this machine has cores for, a model for more.

    python launch/scaling.py                          # table, and runs/scaling.png
    python launch/scaling.py --ranks 1,2,4,8 --repeats 5

The model: time of the loop = work / ranks + windows * latency of one exchange + rest. Its inputs are measured: work is
the loop of one rank, windows are counted in a run of several ranks, the latency is that of the engine's two collectives
with next to nothing in them, on this machine's shared memory; --latency-us adds another one, for a cluster's network.
The rest is what the largest measured rank count takes beyond that (packing, unpacking, imbalance), taken to grow with
the packets that cross between ranks: 1 - 1/ranks of them. Weak scaling keeps the NICs of a rank the same.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import child

STRONG_CASE, WEAK_CASE = "perm1024", "perm8192"
WEAK_NICS_A_RACK = 64
RANKS = "1,2,4,8,16,32,64,128"

# Alltoall of counts and times, then Alltoallv of 64-byte rows, as the engine exchanges packets.
LATENCY_PROGRAM = """
import time
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
near, far = np.zeros((world.size, 2), "i8"), np.zeros((world.size, 2), "i8")
sent, got = np.zeros(64 * world.size, "u1"), np.zeros(64 * world.size, "u1")
counts, begins = np.full(world.size, 64), 64 * np.arange(world.size)
for trial in range(6):
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(2000):
        world.Alltoall(near, far)
        world.Alltoallv([sent, counts, begins, MPI.BYTE], [got, counts, begins, MPI.BYTE])
    took = (time.perf_counter() - begin) / 2000
    best = took if trial == 0 else min(best, took)
if world.rank == 0:
    print(best)
"""


@dataclass(frozen=True)
class Measured:
    """Loop time in seconds, windows exchanged, share of the loop in the exchange; for one rank count."""

    loop_s: float
    windows: int
    exchange_share: float


@dataclass(frozen=True)
class Series:
    """One kind of scaling: `measured` by rank count, latency_s of one exchange on this machine."""

    name: str
    measured: dict[int, Measured]
    latency_s: float
    weak: bool

    @property
    def work_s(self) -> float:
        """Loop time of one rank."""
        return self.measured[1].loop_s

    @property
    def windows(self) -> int:
        """Windows exchanged in a run of several ranks."""
        return self.measured[max(self.measured)].windows

    def model_s(self, ranks: int, latency_s: float) -> float:
        """Modelled loop time."""
        if ranks == 1:
            return self.work_s
        most = max(self.measured)
        rest_s = max(0.0, self.measured[most].loop_s - self._share_s(most) - self.windows * self.latency_s)
        crossing = (1 - 1 / ranks) / (1 - 1 / most) * (1 if self.weak else most / ranks)
        return self._share_s(ranks) + self.windows * latency_s + crossing * rest_s

    def score(self, loop_s: float) -> float:
        """Speed-up over one rank (strong), or efficiency (weak)."""
        return self.work_s / loop_s

    def _share_s(self, ranks: int) -> float:
        return self.work_s if self.weak else self.work_s / ranks


def main() -> None:
    """Measure, print the tables, write the plot."""
    options = _options()
    here = [ranks for ranks in options.ranks if ranks <= (os.cpu_count() or 1)]
    if 1 not in here or len(here) < 2:
        raise SystemExit(f"--ranks needs 1 and another count up to the {os.cpu_count()} cores of this machine")
    child.run(child.case_file("triggers"))  # the kernels are compiled now
    latency_s = collective_latency_s(max(here))
    print(f"latency of one exchange between {max(here)} ranks: {1e6 * latency_s:.1f} us\n")
    latencies = {"measured": latency_s} | {f"{value:g} us": value / 1e6 for value in options.latency_us}
    series = [_strong(here, options.repeats, latency_s), _weak(here, options.repeats, latency_s, options.racks_a_rank)]
    for one in series:
        _print_table(one, options.ranks, latencies)
    plot(series, options.ranks, latencies, options.output)
    print(f"plot: {options.output}")


def _options() -> argparse.Namespace:
    def whole(text: str) -> list[int]:
        return sorted({int(part) for part in text.split(",") if int(part) > 0})

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=whole, default=whole(RANKS), help=f"rank counts (default {RANKS})")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each measured count; medians count (default 3)")
    parser.add_argument("--latency-us", type=lambda text: [float(part) for part in text.split(",")], default=[40.0],
                        help="further latencies of one exchange to model, in us (default 40, a cluster's network)")
    parser.add_argument("--racks-a-rank", type=int, default=8,
                        help=f"weak scaling: racks of {WEAK_NICS_A_RACK} NICs for each rank (default 8)")
    parser.add_argument("-o", "--output", type=Path, default=child.ROOT / "runs" / "scaling.png", help="PNG to write")
    return parser.parse_args()


def collective_latency_s(ranks: int) -> float:
    """Seconds of one exchange with next to nothing in it between so many ranks on this machine."""
    beside = Path(sys.executable).parent / "mpirun"
    mpirun = str(beside) if beside.exists() else shutil.which("mpirun")
    if mpirun is None:
        raise SystemExit(f"no mpirun beside {sys.executable} nor on PATH")
    consent = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    done = subprocess.run([mpirun, "-n", str(ranks), sys.executable, "-c", LATENCY_PROGRAM], check=True, text=True,
                          stdout=subprocess.PIPE, env={**os.environ, **consent})
    return float(done.stdout.split()[-1])


def _strong(here: list[int], repeats: int, latency_s: float) -> Series:
    measured = {ranks: _measure(STRONG_CASE, ranks, repeats) for ranks in here}
    return Series(f"strong scaling, {STRONG_CASE}", measured, latency_s, weak=False)


def _weak(here: list[int], repeats: int, latency_s: float, racks: int) -> Series:
    measured = {ranks: _measure(WEAK_CASE, ranks, repeats, f"fabric.racks={racks * ranks}") for ranks in here}
    return Series(f"weak scaling, leaf-spine, {racks * WEAK_NICS_A_RACK} NICs a rank", measured, latency_s, weak=True)


def _measure(case: str, ranks: int, repeats: int, *sets: str) -> Measured:
    runs = [child.run(child.case_file(case), ranks=ranks, sets=sets) for _ in range(repeats)]
    return Measured(statistics.median(run.info["counts"]["hops"] / run.info["hops_per_s"] for run in runs),
                    max(runs[0].info["windows"]), statistics.median(run.exchange_share for run in runs))


def _print_table(series: Series, ranks: list[int], latencies: dict[str, float]) -> None:
    label = "efficiency" if series.weak else "speed-up"
    print(f"{series.name}: {series.work_s:.3f} s of work on one rank, {series.windows} windows")
    print(f"{'ranks':>6}{'measured s':>12}{label:>12}{'exchange':>10}"
          + "".join(f"{f'model s ({name})':>22}{label:>12}" for name in latencies))
    for count in ranks:
        found = series.measured.get(count)
        line = f"{count:>6}" + (f"{found.loop_s:>12.3f}{series.score(found.loop_s):>12.2f}"
                                f"{100 * found.exchange_share:>8.1f} %" if found else f"{'-':>12}{'-':>12}{'-':>10}")
        for latency_s in latencies.values():
            loop_s = series.model_s(count, latency_s)
            line += f"{loop_s:>22.3f}{series.score(loop_s):>12.2f}"
        print(line)
    print()


def plot(series: list[Series], ranks: list[int], latencies: dict[str, float], path: Path) -> None:
    """One panel a series: measured points, modelled curves, the ideal."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(series), figsize=(6 * len(series), 4.5), layout="constrained")
    for axis, one in zip(axes, series, strict=True):
        axis.plot(ranks, [1 if one.weak else count for count in ranks], color="0.7", label="ideal")
        for (name, latency_s), color in zip(latencies.items(), ("tab:blue", "tab:orange", "tab:green", "tab:red")):
            axis.plot(ranks, [one.score(one.model_s(count, latency_s)) for count in ranks], "o--", color=color,
                      fillstyle="none", label=f"modelled, {1e6 * latency_s:.1f} us an exchange"
                      + (" (measured here)" if name == "measured" else ""))
        axis.plot(list(one.measured), [one.score(found.loop_s) for found in one.measured.values()], "ks",
                  label="measured")
        axis.set_xscale("log", base=2)
        if not one.weak:
            axis.set_yscale("log", base=2)
        else:
            axis.set_ylim(0, 1.1)
        axis.set_xticks(ranks, [str(count) for count in ranks])
        axis.set(title=one.name, xlabel="ranks", ylabel="efficiency" if one.weak else "speed-up over one rank")
        axis.grid(alpha=0.3)
        axis.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
