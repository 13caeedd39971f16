"""Plots of a run: each a function from a polars frame to a figure, and one from the run to that frame. See README.md.

    from distsim.results.plots import plots_of
    plots_of(run).windows(node="NIC-0")
    plots_of(run).data("utilisation")
"""

from __future__ import annotations

from distsim.results.plots.notebook import Plots, plots_of
from distsim.results.plots.registry import PLOTS, plot_named
from distsim.results.plots.types import Choice, NotInRun, Plot

__all__ = ["PLOTS", "Choice", "NotInRun", "Plot", "Plots", "plot_named", "plots_of"]
