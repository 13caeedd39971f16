#!/usr/bin/env python
"""Congestion windows of a 2:1 incast over time, beside htsim's: a CSV of ours and a plot.

    python launch/windows.py                          runs the incast, writes runs/windows/windows.csv and .png
    python launch/windows.py --reference FILE.csv     plots htsim's per-ACK trace (t_us, flow, cwnd_after, in_flight)

Two senders of 4 MB each into one NIC, everything else as configs/incast32.yaml. The window is read once a microsecond.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from distsim.config import load
from distsim.engine import StopSignals
from distsim.parallel.comm import world
from distsim.session import Session

if TYPE_CHECKING:
    from distsim.state.view import State

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "reference" / "htsim" / "incast2_4MB_acks.csv"
SENDERS = (64, 32)
SAMPLE_PS = 1_000_000
OVERRIDES = ["simulation=incast2", f"workload.sources=[{SENDERS[0]}, {SENDERS[1]}]", "workload.size=4000000B"]
COLOURS = ("#0072B2", "#D55E00")      # colour-blind safe


def simulate(output: Path) -> list[tuple[float, int, float, int]]:
    """Rows (time us, sender, window bytes, bytes in flight), one a sender and microsecond."""
    config = load(str(ROOT / "configs" / "incast32.yaml"), OVERRIDES)
    session = Session(config, output, world(), True, StopSignals())
    session.set_up(overwrite=True)
    simulation = session.simulation
    simulation.here = dataclasses.replace(simulation.here, window_ps=SAMPLE_PS)
    rows: list[tuple[float, int, float, int]] = []

    def sample(state: State) -> None:
        now_us = (simulation.now_ps - config.workload_start_ps) / 1e6
        live = state.groups[state.groups["ref_count"] > 0]
        for group in live[live["inflight_bytes"] > 0]:
            sender = int(state.nodes["id"][state.nics["node"][group["nic"]]])
            rows.append((now_us, sender, float(group["cwnd_bytes"]), int(group["inflight_bytes"])))

    simulation.after_window = sample
    session.simulate()
    session.finish()
    return rows


def htsim_rows(path: Path) -> list[tuple[float, int, float, int]]:
    """The same of htsim's trace."""
    with path.open(newline="") as file:
        return [(float(row["t_us"]), int(row["flow"].split("_")[1]), float(row["cwnd_after"]), int(row["in_flight"]))
                for row in csv.DictReader(file)]


def plot(path: Path, series: dict[str, list[tuple[float, int, float, int]]]) -> None:
    """Windows and bytes in flight, one column a simulator."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(series), figsize=(5.2 * len(series), 5.6), sharex=True, sharey="row",
                                   squeeze=False)
    for column, (name, rows) in enumerate(series.items()):
        table = np.array(rows)
        for sender, colour in zip(SENDERS, COLOURS, strict=True):
            mine = table[table[:, 1] == sender]
            for line in (0, 1):
                axes[line][column].plot(mine[:, 0], mine[:, 2 + line] / 1000, color=colour, label=f"sender {sender}")
        axes[0][column].set_title(name)
        axes[1][column].set_xlabel("time (us)")
        axes[0][column].legend()
    axes[0][0].set_ylabel("congestion window (KB)")
    axes[1][0].set_ylabel("bytes in flight (KB)")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    """Run, write, plot."""
    parser = argparse.ArgumentParser(description="Windows of a 2:1 incast, beside htsim's.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "runs" / "windows", help="default %(default)s")
    parser.add_argument("--reference", type=Path, default=REFERENCE, help="htsim's trace, default %(default)s if there")
    options = parser.parse_args()
    rows = simulate(options.output)
    with (options.output / "windows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("t_us", "sender", "cwnd_bytes", "in_flight_bytes"))
        writer.writerows(rows)
    series = {"distsim": rows}
    if options.reference.exists():
        series["htsim"] = htsim_rows(options.reference)
    plot(options.output / "windows.png", series)
    for name, found in series.items():
        table = np.array(found)
        means = [f"sender {sender} {table[table[:, 1] == sender][:, 2].mean() / 1000:.0f} KB" for sender in SENDERS]
        print(f"{name}: last sample {table[:, 0].max():.1f} us; mean window: {', '.join(means)}")
    print(options.output / "windows.png")


if __name__ == "__main__":
    main()
