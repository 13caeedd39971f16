"""How figures look: a colour-blind safe palette, sizes for a printed page, and saving. matplotlib loads when it is
used."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsim.results.plots.printed import PrintedFigure

# Okabe and Ito, "Color Universal Design" (2008), without the yellow that is too light for lines on paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES = ("-", "--", "-.", ":")  # told apart in grey too
HEAT = "cividis_r"              # lightness falls evenly, so that it reads in grey; light is little
NOTHING = "#F4F4F4"             # cells of a heat map without anything
GREY = "#595959"
WIDTH_IN = 6.7                  # text width of A4 with margins of 2 cm
DPI = 200
FORMATS = ("png", "svg")
RC: Any = {
    "font.family": "sans-serif", "font.size": 8.5, "axes.titlesize": 9.5, "axes.titlelocation": "left",
    "axes.labelsize": 8.5, "legend.fontsize": 7.5, "xtick.labelsize": 7.5, "ytick.labelsize": 7.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#D9D9D9",
    "grid.linewidth": 0.5, "axes.axisbelow": True, "lines.linewidth": 1.4, "legend.frameon": False,
    "figure.facecolor": "white", "savefig.facecolor": "white", "savefig.dpi": DPI, "svg.hashsalt": "distsim",
}


@contextmanager
def styled() -> Iterator[None]:
    """The settings under which figures are made and saved."""
    import matplotlib

    with matplotlib.rc_context(RC):
        yield


def panels(title: str, heights_in: Sequence[float], share_x: bool = True) -> tuple[PrintedFigure, list[Any]]:
    """A figure of panels one below the other, as high as given, under a title; its axes from the top."""
    from distsim.results.plots.printed import PrintedFigure

    figure = PrintedFigure(figsize=(WIDTH_IN, sum(heights_in) + 0.9), layout="constrained")
    axes = figure.subplots(len(heights_in), 1, sharex=share_x, squeeze=False, height_ratios=list(heights_in))
    figure.suptitle(title, x=0.01, ha="left", fontsize=10.5, fontweight="bold")
    return figure, [row[0] for row in axes]


def colour(number: int) -> str:
    """The colour of the n-th line."""
    return PALETTE[number % len(PALETTE)]


def line(number: int) -> str:
    """The style of the n-th line: the colours in turn with each style."""
    return LINES[number // len(PALETTE) % len(LINES)]


def plain_log(axis: Any) -> None:
    """Labels of a logarithmic axis as plain numbers: 200, not 2 x 10^2."""
    from matplotlib.ticker import LogFormatter

    axis.set_major_formatter(LogFormatter())
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.2, 0.5)))


def note(figure: Any, text: str) -> None:
    """A remark below a figure."""
    if text:
        figure.supxlabel(text, x=0.01, ha="left", fontsize=7, color=GREY)


def time_unit(longest_s: float) -> tuple[float, str]:
    """(factor from seconds, unit) for an axis that goes to so many seconds."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if longest_s * factor >= 2:
            return factor, unit
    return 1e9, "ns"


def size_text(size_bytes: float) -> str:
    """A size as nccl-tests' axes have it: 8 B, 4 KiB, 64 MiB; powers of 1,000 where those of 1,024 do not fit."""
    if size_bytes < 1000:
        return f"{size_bytes:g} B"
    for base, units in ((1024, ("KiB", "MiB", "GiB", "TiB")), (1000, ("KB", "MB", "GB", "TB"))):
        power = min(int(math.log(size_bytes, base) + 1e-9), len(units))
        if power and (base == 1000 or size_bytes % base**power == 0):
            return f"{size_bytes / base**power:.4g} {units[power - 1]}"
    return f"{size_bytes:g} B"
