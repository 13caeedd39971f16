"""The frames of the plots as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distsim.server.errors import ApiError

if TYPE_CHECKING:
    from distsim.results.run import Run

MOST_VALUES = 2_000_000


def plots() -> list[dict[str, Any]]:
    """name, title, summary, takes of every plot."""
    from distsim.results.plots import PLOTS

    return [{"name": plot.name, "title": plot.title, "summary": plot.summary, "takes": sorted(plot.takes)}
            for plot in PLOTS]


def plot_data(run: Run, name: str, nodes: Sequence[str], flows: Sequence[str], top: int | None) -> dict[str, Any]:
    """columns (name -> values) of what a plot is drawn from; or `missing`, one line, when the run has not what it
    takes. 404 for an unknown plot, InputError for a choice that it cannot follow."""
    from distsim.results.plots import PLOTS, Choice, NotInRun

    plot = next((plot for plot in PLOTS if plot.name == name), None)
    if plot is None:
        raise ApiError(404, f"there is no plot {name}; there are {', '.join(plot.name for plot in PLOTS)}")
    try:
        frame = plot.data_of(run, Choice(tuple(nodes), tuple(flows), top))
    except NotInRun as error:
        return {"plot": name, "missing": error.message.removeprefix(f"plot {name}: ")}
    if frame.width * frame.height > MOST_VALUES:
        raise ApiError(400, f"the plot has {frame.height:,} points; choose nodes or fewer of them (top)")
    return {"plot": name, "columns": {column.name: [_plain(value) for value in column] for column in frame}}


def _plain(value: Any) -> Any:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
