#!/usr/bin/env python
"""Behaviour as scripted scenarios: each runs small simulations, prints asserted numbers and draws a plot.

    ./launch/scenarios.py                     all scenarios; plots and records into runs/scenarios
    ./launch/scenarios.py lanes flowlets -o DIR
    ./launch/scenarios.py --list              what there is
    ./launch/scenarios.py --no-plots          the numbers alone, without matplotlib

Exit code 1 when a number is not what the scenario's docstring derives by hand.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
if __name__ == "__main__" and PYTHON.exists() and Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
    os.execv(PYTHON, [str(PYTHON), *sys.argv])      # the project's environment, like the other commands of this folder
sys.path.insert(0, str(Path(__file__).resolve().parent))

from scenario_fabric import failed_link, flowlets, lossless_incast  # noqa: E402
from scenario_kit import Panel, Result  # noqa: E402
from scenario_nic import lanes, nic_pause, quick_adapt  # noqa: E402

SCENARIOS: dict[str, Callable[[Path], Result]] = {
    "lanes": lanes,
    "nic-pause": nic_pause,
    "lossless-incast": lossless_incast,
    "failed-link": failed_link,
    "quick-adapt": quick_adapt,
    "flowlets": flowlets,
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")      # colour-blind safe
STYLES = ("-", "--", "-.", ":")
NO_MATPLOTLIB = "no plots: matplotlib is not installed (pip install matplotlib)"


def title_of(scenario: Callable[[Path], Result]) -> str:
    """The first line of a scenario's docstring."""
    return (scenario.__doc__ or "").strip().splitlines()[0]


def show(name: str, result: Result) -> bool:
    """Print a scenario's numbers; whether all of them hold."""
    print(f"\n{name}: {title_of(SCENARIOS[name])}")
    width = max(len(number.what) for number in result.numbers)
    for number in result.numbers:
        wanted = (f"{number.least:,.6g}" if number.least == number.most else
                  f"{number.least:,.6g} or more" if number.most == float("inf") else
                  f"{number.least:,.6g} to {number.most:,.6g}")
        verdict = "as" if number.holds else "NOT as"
        print(f"  {number.what:<{width}}  {number.value:>12,.6g}   {verdict} expected: {wanted}")
    return all(number.holds for number in result.numbers)


def plot(path: Path, title: str, panels: tuple[Panel, ...]) -> None:
    """One PNG, a panel beside the other."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(6.2 * len(panels), 3.6), layout="constrained",
                                   squeeze=False)
    for panel, axis in zip(panels, axes[0], strict=True):
        for number, (name, (time_us, values)) in enumerate(panel.curves.items()):
            axis.plot(time_us, values, label=name, color=COLOURS[number % len(COLOURS)], linewidth=1.2,
                      linestyle=STYLES[number % len(STYLES)])      # curves that coincide stay visible
        for name, level in panel.levels.items():
            axis.axhline(level, color="#777777", linewidth=0.8, linestyle="--")
            axis.annotate(name, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
        axis.set_title(panel.title, fontsize=10)
        axis.set_xlabel("time (us)")
        axis.set_ylabel(panel.unit)
        axis.legend(fontsize=7)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def has_matplotlib() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> int:
    """Run, print, plot."""
    parser = argparse.ArgumentParser(description="Scripted scenarios with asserted numbers and a plot each.")
    parser.add_argument("names", nargs="*", help=f"which ones: {', '.join(SCENARIOS)}; default all")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "runs" / "scenarios", help="default %(default)s")
    parser.add_argument("--list", action="store_true", help="say what there is, run nothing")
    parser.add_argument("--no-plots", action="store_true", help="numbers alone")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in SCENARIOS]
    if unknown:
        parser.error(f"no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
    if options.list:
        for name, scenario in SCENARIOS.items():
            print(f"{name:<16} {title_of(scenario)}")
        return 0
    drawing = not options.no_plots and has_matplotlib()
    if not options.no_plots and not drawing:
        print(NO_MATPLOTLIB, file=sys.stderr)
    options.output.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name in options.names or SCENARIOS:
        result = SCENARIOS[name](options.output)
        if not show(name, result):
            wrong.append(name)
        if drawing:
            plot(options.output / f"{name}.png", title_of(SCENARIOS[name]), result.panels)
            print(f"  {options.output / name}.png")
    if wrong:
        print(f"\nnot as expected: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
