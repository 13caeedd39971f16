"""What rate and delay every cable of a generated fabric has, and the user's overrides of single cables.

Rule (scala-computing/docs, models/scala-switch/configuration and models/scala-uet-nic/configuration, section
Network interface): a cable runs at the lower of the rates of its two ends and takes its delay from the device at its
lower end.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from distsim.errors import InputError
from distsim.fabric.types import NIC, TIER_NIC
from distsim.quantities import Rate, StrictModel, Time

MAX_DELAY_PS = 10**15


@dataclass(frozen=True)
class NicLink:
    """The network side of a NIC: `UplinkNetworkInterface.DataRate` in bit/s, `TransmissionMedium.Delay` in ps."""

    rate_bps: int
    delay_ps: int


@dataclass(frozen=True)
class SwitchLink:
    """The ports of a switch: `DataRate` of its uplinks and downlinks in bit/s, `Delay` of its uplinks in ps."""

    uplink_bps: int
    downlink_bps: int
    delay_ps: int


@dataclass(frozen=True)
class LinkRules:
    """Where the builders learn the attributes of devices; the engine fills it from the configuration.

    nic : (host index, component name, rack index) -> NicLink, called once a NIC.
    switch : (tier as in `distsim.fabric.types`, component name) -> SwitchLink, called once a switch.
    """

    nic: Callable[[int, str, int], NicLink]
    switch: Callable[[int, str], SwitchLink]


def uniform_rules(rate_bps: int, nic_delay_ps: int, switch_delay_ps: int) -> LinkRules:
    """Rules under which every port has the same rate, for tests and quick use."""
    nic = NicLink(rate_bps, nic_delay_ps)
    switch = SwitchLink(rate_bps, rate_bps, switch_delay_ps)
    return LinkRules(nic=lambda host, name, rack: nic, switch=lambda tier, name: switch)


class LinkOverride(StrictModel):
    """A rate, a delay or both for the cables between two devices."""

    between: tuple[str, str] = Field(
        description="Names of the two ends in either order; * and ? match many, e.g. [RackSwitch-0, SpineSwitch-*].")
    rate: Annotated[Rate, Field(gt=0)] | None = Field(
        default=None, description="Data rate in both directions, above 0, e.g. 100Gbps. Default: as by the rule.")
    delay: Annotated[Time, Field(ge=0, le=MAX_DELAY_PS)] | None = Field(
        default=None, description="Propagation delay in both directions, 0 to 1000s. Default: as by the rule.")

    @model_validator(mode="after")
    def _sets_something(self) -> LinkOverride:
        if self.rate is None and self.delay is None:
            raise ValueError("sets neither rate nor delay")
        return self


class TopologySpec(StrictModel):
    """What every kind of topology accepts."""

    link_overrides: tuple[LinkOverride, ...] = Field(
        default=(), description="Rate and delay of single cables; applied in order, a later entry wins.")


@dataclass
class Plan:
    """Nodes and cables before their rates are known.

    nodes : NODES[n]; names : n component names; low, high : i4[cables], node ids of the lower and the upper end.
    """

    nodes: np.ndarray
    names: list[str]
    low: np.ndarray
    high: np.ndarray


def rates_by_rule(plan: Plan, rules: LinkRules) -> tuple[np.ndarray, np.ndarray]:
    """(rate in bit/s, delay in ps), i8[cables] each, by the documented rule at the top of this file."""
    up_bps, down_bps, delay_ps = (np.zeros(len(plan.nodes), "i8") for _ in range(3))
    for node, (kind, tier, rack) in enumerate(plan.nodes[["kind", "tier", "rack"]].tolist()):
        if kind == NIC:
            nic = rules.nic(node, plan.names[node], rack)
            up_bps[node], delay_ps[node] = nic.rate_bps, nic.delay_ps
        else:
            switch = rules.switch(tier, plan.names[node])
            up_bps[node], down_bps[node], delay_ps[node] = switch.uplink_bps, switch.downlink_bps, switch.delay_ps
    return np.minimum(up_bps[plan.low], down_bps[plan.high]), delay_ps[plan.low]


def nic_rates(plan: Plan, rules: LinkRules) -> np.ndarray:
    """`DataRate` of every NIC in bit/s, i8[hosts]."""
    racks = plan.nodes["rack"][plan.nodes["tier"] == TIER_NIC].tolist()
    return np.array([rules.nic(host, plan.names[host], rack).rate_bps for host, rack in enumerate(racks)], "i8")


def apply_overrides(plan: Plan, overrides: Sequence[LinkOverride], rate_bps: np.ndarray, delay_ps: np.ndarray) -> None:
    """Write the overrides into `rate_bps` and `delay_ps` (i8[cables]); InputError when one fits no cable."""
    for index, override in enumerate(overrides):
        where = f"fabric.link_overrides.{index}.between"
        one, two = (matching(plan.names, pattern, where) for pattern in override.between)
        hit = (one[plan.low] & two[plan.high]) | (two[plan.low] & one[plan.high])
        if not hit.any():
            raise InputError(f"no cable runs between {override.between[0]!r} and {override.between[1]!r}", where=where)
        if override.rate is not None:
            rate_bps[hit] = override.rate
        if override.delay is not None:
            delay_ps[hit] = override.delay


def matching(names: list[str], pattern: str, where: str) -> np.ndarray:
    """Which nodes a glob names, bool[nodes]; InputError with the nearest name when it names none."""
    fits = re.compile(fnmatch.translate(pattern)).match
    mask = np.array([fits(name) is not None for name in names])
    if not mask.any():
        near = difflib.get_close_matches(pattern, names, n=1, cutoff=0.0)
        raise InputError(f"no device is called {pattern!r}; the nearest name is {near[0]!r}", where=where)
    return mask
