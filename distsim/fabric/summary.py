"""Figures of a fabric for `distsim topology`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.fabric.types import TIER_FABRIC, TIER_NIC, TIER_RACK, TIER_SPINE, Fabric
from distsim.quantities import RATE_UNITS, TIME_UNITS

_TIER_NAMES = {TIER_NIC: "NIC", TIER_RACK: "RackSwitch", TIER_FABRIC: "FabricSwitch", TIER_SPINE: "SpineSwitch"}


@dataclass(frozen=True)
class TierPair:
    """The cables between two tiers. total_bps is the sum of their rates in one direction; delays are per direction
    and include the receiving switch's fixed latency."""

    lower: int
    upper: int
    cables: int
    total_bps: int
    rates_bps: tuple[int, int]      # least, greatest
    delays_ps: tuple[int, int]      # least, greatest


@dataclass(frozen=True)
class Measures:
    """tiers : (tier number, nodes), from the NICs up; pairs : from the NICs up; bisection_bps : one direction."""

    tiers: tuple[tuple[int, int], ...]
    pairs: tuple[TierPair, ...]
    bisection_bps: int


def measure(fabric: Fabric) -> Measures:
    """Count nodes and cables.

    The bisection is half of the least total upward rate of any tier: what two equal halves of the NICs can send each
    other in one direction, when traffic spreads evenly (the usual figure of a folded Clos).
    """
    tier = fabric.nodes["tier"]
    tiers = tuple((t, int(np.count_nonzero(tier == t))) for t in sorted(set(tier.tolist()), reverse=True))
    up = fabric.links["uplink"] == 1
    lower, upper = tier[fabric.links["src"]], tier[fabric.links["dst"]]
    pairs = []
    for low, high in sorted(set(zip(lower[up].tolist(), upper[up].tolist(), strict=True)), reverse=True):
        rows = np.flatnonzero(up & (lower == low) & (upper == high))
        rates = fabric.links["rate_bps"][rows]
        delays = fabric.links["delay_ps"][np.concatenate([rows, fabric.links["reverse"][rows]])]
        pairs.append(TierPair(low, high, len(rows), int(rates.sum()), (int(rates.min()), int(rates.max())),
                              (int(delays.min()), int(delays.max()))))
    least_bps = min((pair.total_bps for pair in pairs), default=0)
    return Measures(tiers, tuple(pairs), least_bps // 2)


def summary(fabric: Fabric) -> list[tuple[str, str]]:
    """Label and value, one row a line of `distsim topology`."""
    figures = measure(fabric)
    rows = [("tiers", f"{len(figures.tiers) - 1} of switches")]
    rows += [(_TIER_NAMES[tier], str(count)) for tier, count in figures.tiers]
    below_bps = 0
    for pair in figures.pairs:
        text = f"{pair.cables} links, {_span(pair.rates_bps, RATE_UNITS)}, delay {_span(pair.delays_ps, TIME_UNITS)}"
        if below_bps:
            text += f", oversubscription {below_bps / pair.total_bps:g}:1"
        rows.append((f"{_TIER_NAMES[pair.lower]} - {_TIER_NAMES[pair.upper]}", text))
        below_bps = pair.total_bps
    servers = fabric.servers
    if servers is not None:
        text = f"{fabric.hosts // servers.nics} of {servers.nics} NICs"
        if servers.rate_bps:
            text += (f", scale-up {_quantity(servers.rate_bps, RATE_UNITS)} a NIC, latency "
                     f"{_quantity(servers.latency_ps, TIME_UNITS)}")
        rows.append(("servers", text))
    rows.append(("bisection", f"{_quantity(figures.bisection_bps, RATE_UNITS)} in each direction"))
    return rows


def _span(values: tuple[int, int], units: dict[str, int]) -> str:
    least, greatest = (_quantity(value, units) for value in values)
    return least if least == greatest else f"{least} to {greatest}"


def _quantity(value: int, units: dict[str, int]) -> str:
    """``400 Gbps``, ``500 ns``: the largest unit that leaves at least 1."""
    unit = next((name for name, size in reversed(units.items()) if value >= size), next(iter(units)))
    return f"{value / units[unit]:.12g} {unit}"
