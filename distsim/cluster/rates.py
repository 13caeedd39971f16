"""Rates, delays and single links of a cluster file, as sections of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distsim.cluster.network_spec import BaseNetwork, Link, TreeNetwork
from distsim.cluster.nodes import Draft
from distsim.cluster.problems import Problems
from distsim.cluster.wiring import Wiring
from distsim.config.names import nearest
from distsim.config.yaml_reader import Place
from distsim.quantities import spell_rate, spell_time

MOST_MATCHES = 5_000_000


def settings(network: BaseNetwork, wiring: Wiring, nodes: Sequence[Draft], problems: Problems) -> dict[str, Any]:
    """Sections nic, nic_overrides, switch and switch_overrides that give every link its rate and delay."""
    fastest_bps = max(draft.nic_rate_bps for draft in nodes)
    nic: dict[str, Any] = {"UplinkNetworkInterface": {"DataRate": spell_rate(fastest_bps)}}
    found: dict[str, Any] = {"nic": {"NetworkInterface": nic}}
    slower = _slower(wiring, nodes, fastest_bps, problems)
    if slower:
        found["nic_overrides"] = slower
    if not isinstance(network, TreeNetwork):
        return found
    uplink_bps = network.uplink_rate or fastest_bps
    nic["TransmissionMedium"] = {"Delay": spell_time(network.nic_delay)}
    found["switch"] = {"NetworkInterface": {
        "UplinkNetworkInterface": {"DataRate": spell_rate(uplink_bps)},
        "DownlinkNetworkInterface": {"DataRate": spell_rate(fastest_bps)},
        "TransmissionMedium": {"Delay": spell_time(network.uplink_delay)}}}
    if uplink_bps != fastest_bps:
        above = {"NetworkInterface": {"DownlinkNetworkInterface": {"DataRate": spell_rate(uplink_bps)}}}
        found["switch_overrides"] = [{"tiers": list(wiring.tiers), "set": above}]
    return found


def _slower(wiring: Wiring, nodes: Sequence[Draft], fastest_bps: int, problems: Problems) -> list[dict[str, Any]]:
    """nic_overrides for NICs below the fastest rate: by rack switch where all its NICs are alike, else by name."""
    if all(draft.nic_rate_bps == fastest_bps or not draft.nics for draft in nodes):
        return []
    rates: dict[int, set[int]] = {}
    slow: dict[int, list[int]] = {}
    for draft, hosts in zip(nodes, wiring.hosts):
        for host in hosts:
            rates.setdefault(wiring.leaf(host), set()).add(draft.nic_rate_bps)
        if hosts and draft.nic_rate_bps != fastest_bps:
            slow.setdefault(draft.nic_rate_bps, []).extend(hosts)
    found = []
    for rate_bps, slow_hosts in slow.items():
        change = {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": spell_rate(rate_bps)}}}
        leaves = sorted({wiring.leaf(host) for host in slow_hosts if len(rates[wiring.leaf(host)]) == 1})
        names = [f"NIC-{host}" for host in slow_hosts if len(rates[wiring.leaf(host)]) > 1]
        if len(names) * sum(len(entry) for entry in wiring.hosts) > MOST_MATCHES:
            problems.add(("network",), f"{len(names)} NICs of {spell_rate(rate_bps)} share rack switches with faster "
                                       "ones, which is too many; put these nodes into racks of their own")
        found += [{"racks": leaves, "set": change}] if leaves else []
        found += [{"names": names, "set": change}] if names else []
    return found


def link_overrides(network: BaseNetwork, wiring: Wiring, nodes: Sequence[Draft], problems: Problems,
                   ) -> list[dict[str, Any]]:
    """The entries of `links` as link_overrides of the fabric."""
    racks = {rack.name: number for number, rack in enumerate(wiring.racks)}
    by_name = {draft.name: number for number, draft in enumerate(nodes)}
    found = []
    for index, link in enumerate(network.links):
        place: Place = ("network", "links", index)
        pairs = (_uplinks(link, wiring, racks, problems, place) if link.node is None
                 else _cables(link, wiring, by_name, problems, place))
        rate_bps = link.uplink_rate or link.rate
        change = {} if rate_bps is None else {"rate": spell_rate(rate_bps)}
        if link.delay is not None:
            change["delay"] = spell_time(link.delay)
        found += [{"between": list(pair), **change} for pair in pairs]
    return found


def _uplinks(link: Link, wiring: Wiring, racks: dict[str, int], problems: Problems, place: Place,
             ) -> list[tuple[str, str]]:
    number = racks.get(link.rack, -1) if isinstance(link.rack, str) else link.rack
    if number is None or not 0 <= number < len(wiring.racks):
        near = nearest(link.rack, list(racks)) if isinstance(link.rack, str) else None
        valid = f"nearest: {near}" if near else f"valid: 0 to {len(racks) - 1} or their names"
        problems.add((*place, "rack"), f"no rack is {link.rack!r}; {valid}")
        return []
    switches = wiring.switches[number]
    if link.leaf is not None:
        if link.leaf >= len(switches):
            problems.add((*place, "leaf"), f"{link.leaf} is out of range; valid: 0 to {len(switches) - 1}")
            return []
        switches = (switches[link.leaf],)
    return [(name, wiring.over(name, link.spine)) for name in switches]


def _cables(link: Link, wiring: Wiring, by_name: dict[str, int], problems: Problems, place: Place,
            ) -> list[tuple[str, str]]:
    node = by_name.get(link.node or "", -1)
    if node < 0:
        near = nearest(link.node or "", list(by_name))
        problems.add((*place, "node"), f"no node is called {link.node!r}" + (f"; nearest: {near}" if near else ""))
        return []
    hosts = wiring.hosts[node]
    if link.nic is not None:
        if link.nic >= len(hosts):
            problems.add((*place, "nic"), f"{link.nic} is out of range; {link.node} has {len(hosts)} NICs")
            return []
        hosts = (hosts[link.nic],)
    return [(f"NIC-{host}", "*") for host in hosts]
