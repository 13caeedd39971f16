"""Completion times and goodput of a run from its perf record."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsim.results.run import Run

PERF = "perf"


def flow_summary(run: Run) -> dict[str, Any]:
    """Completion times (us), goodput (Gb/s) and flows; see FlowStatistics (distsim/results_summary.py) for the rules.

    `last_us` is the simulation time of the last completion; that of run.json (fct_us) counts from the start. InputError
    when the run has no perf record.
    """
    from distsim.records.perf import rows_of
    from distsim.results_summary import flow_statistics

    figures = asdict(flow_statistics(rows_of(run.scan(PERF).collect())))
    del figures["retransmitted"]  # not in the record
    times = {f"{name[:-3]}_us": figures.pop(name) / 1e6 for name in list(figures) if name.endswith("_ps")}
    return {"status": run.status, **figures, **times}
