"""A run as a Perfetto trace: `write_timeline`. See README.md."""

from distsim.results.timeline.trace import Written, write_timeline

__all__ = ["Written", "write_timeline"]
