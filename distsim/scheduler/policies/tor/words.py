"""Sentences of refusals: which switch or slice lacks how many nodes, and why a switch is closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.scheduler.policies.tor.switches import Switch

MOST_NAMED = 8


def listed(parts: Sequence[str]) -> str:
    """Parts joined by commas, at most MOST_NAMED of them."""
    left = len(parts) - MOST_NAMED
    return ", ".join(parts[:MOST_NAMED]) + (f" and {left} more" if left > 0 else "")


def nodes(count: int) -> str:
    """1 node, 2 nodes."""
    return f"{count} node{'' if count == 1 else 's'}"


def no_switch(count: int, switches: Iterable[Switch]) -> str:
    """That no switch has as many usable nodes as it takes. switches : those that were looked at."""
    most = max(switches, key=lambda switch: (switch.free, -switch.tor), default=None)
    if most is None:
        return f"no switch has a usable node, {nodes(count)} of one switch needed"
    return (f"no switch has {count} usable nodes: switch {most.tor} has the most, {most.free} "
            f"(lacks {count - most.free})")


def short_columns(rows: int, lacking: Sequence[tuple[int, int, int]]) -> str:
    """That slices are too short. lacking : (slice_id, usable nodes, nodes needed)."""
    parts = [f"slice {number} has {have} of {need} usable nodes (lacks {need - have})"
             for number, have, need in lacking]
    return f"{rows} row{'' if rows == 1 else 's'} of one node a slice cannot be made: {listed(parts)}"


def closed(switches: Sequence[tuple[Switch, str]]) -> str:
    """Which switches were left out, as the end of a sentence. switches : each with the uid of the job that spans."""
    if not switches:
        return ""
    return "; closed: " + listed([f"switch {switch.tor} ({nodes(switch.free)}; {uid} spans switches there)"
                                  for switch, uid in switches])
