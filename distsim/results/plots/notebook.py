"""`run.plot`: the plots of a run as methods."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distsim.results.plots.registry import PLOTS, plot_named
from distsim.results.plots.types import NotInRun, Plot, choice_of

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run


def plots_of(run: Run) -> Plots:
    """The plots of a run."""
    return Plots(run)


class Plots:
    """The plots of a run, each a method: ``run.plot.completion_cdf()``, ``run.plot.windows(node="NIC-0")``."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getattr__(self, name: str) -> BoundPlot:
        if not any(plot.identifier == name for plot in PLOTS):
            raise AttributeError(f"no plot {name!r}; there are {', '.join(plot.identifier for plot in PLOTS)}")
        return BoundPlot(plot_named(name), self._run)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(plot.identifier for plot in PLOTS)]

    def data(self, name: str, node: str | int | Sequence[str | int] = (), flow: str | Sequence[str] = (),
             top: int | None = None) -> pl.DataFrame:
        """The frame that a plot is drawn from; the arguments are those of the plot."""
        return plot_named(name).data_of(self._run, choice_of(node, flow, top))

    def __repr__(self) -> str:
        return f"Plots of {self._run.name}: {', '.join(plot.identifier for plot in PLOTS)}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td><code>run.plot.{plot.identifier}()</code></td><td>{html.escape(plot.summary)}</td>"
                       "</tr>" for plot in PLOTS)
        return f"<table><caption>Plots of {html.escape(self._run.name)}</caption>{rows}</table>"


class BoundPlot:
    """One plot of one run, to be called."""

    def __init__(self, plot: Plot, run: Run) -> None:
        self._plot, self._run = plot, run
        self.__doc__ = plot.summary

    def __call__(self, node: str | int | Sequence[str | int] = (), flow: str | Sequence[str] = (),
                 top: int | None = None) -> Any:
        """The figure, which a notebook shows; `.save(path)` writes it as PNG or SVG.

        node : NICs and switches, names (`*` and `?` match many) or node ids. flow : sending PDC ends, ``address:id``.
        top : how many at most. NotInRun, one line, when the run has not the record.
        """
        return self._plot.figure(self.data(node, flow, top), self._run.name)

    def data(self, node: str | int | Sequence[str | int] = (), flow: str | Sequence[str] = (),
             top: int | None = None) -> pl.DataFrame:
        """The frame that it is drawn from."""
        return self._plot.data_of(self._run, choice_of(node, flow, top))

    def why_not(self) -> str:
        """Why the run has not this plot, in one line; empty: it has."""
        try:
            self.data()
        except NotInRun as error:
            return error.message
        return ""

    def __repr__(self) -> str:
        return f"{self._plot.name} of {self._run.name}: {self._plot.summary}"
