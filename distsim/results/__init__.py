"""Reading runs: records as polars frames, catalog, summaries, comparison. See README.md."""

from distsim.results.run import Run, open_run

__all__ = ["Run", "open_run"]
