"""The plots, a row each. A new one: its row here, and a module of its name (types.Plot says what is in it)."""

from __future__ import annotations

from distsim.errors import InputError
from distsim.results.plots.types import Plot

PLOTS = (
    Plot("completion-cdf", "completion times of messages", "share of messages that completed within a time (perf)",
         frozenset({"nodes"})),
    Plot("bandwidth", "bus bandwidth", "bus bandwidth against size, with the ideal line (launcher's log, collectives)"),
    Plot("utilisation", "utilisation of links", "links of each tier over time, mean and busiest (nd-stats)",
         frozenset({"nodes"})),
    Plot("port-heatmap", "queues, marks, pauses, losses", "queues, ECN marks, pauses, trims and drops by port over "
         "time (switch buffers, ecn-pfc-stats, nd-stats, uet-transport-stats)",
         frozenset({"nodes", "top"})),
    Plot("windows", "congestion windows and round trips", "congestion window and RTT of flows (uet-monitor), or of "
         "NICs (uet-transport-stats)", frozenset({"nodes", "flows", "top"})),
    Plot("bottlenecks", "links by volume", "the links that carried most, and how busy they were (nd-stats)",
         frozenset({"nodes", "top"})),
    Plot("losses", "losses by link", "what links lost to faults (run.json, configuration with `faults`)",
         frozenset({"top"})),
)


def plot_named(name: str) -> Plot:
    """The plot of that name, `-` or `_` in it alike; InputError when there is none."""
    for plot in PLOTS:
        if plot.name == name.replace("_", "-"):
            return plot
    raise InputError(f"no plot {name!r}; there are {', '.join(plot.name for plot in PLOTS)}")
