"""tor_level single_layer: leaves without spines, so a job stays at one switch (single_layer_tor.go of mind-cluster)."""

from __future__ import annotations

from distsim.scheduler.policies.tor import words
from distsim.scheduler.policies.tor.switches import Plan, View, tightest


def affine(view: View, count: int) -> Plan | str:
    """`count` nodes of the switch with the fewest usable nodes that fits, or why not."""
    one = tightest(view.switches, count)
    return words.no_switch(count, view.switches) if one is None else Plan([one.nodes[:count]], "one switch")
