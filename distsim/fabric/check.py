"""Is a fabric usable: rates, delays, uplinks of the NICs, connectivity."""

from __future__ import annotations

import numpy as np

from distsim.errors import InputError
from distsim.fabric.types import NIC, SWITCH, Fabric


def validate(fabric: Fabric) -> None:
    """Raise InputError for a link without rate or with a negative delay, a NIC without exactly one uplink to a switch,
    and a fabric in two parts (naming a pair that cannot reach each other)."""
    _check_links(fabric)
    _check_nics(fabric)
    _check_connected(fabric)


def link_name(fabric: Fabric, row: int) -> str:
    """``NIC-3 -> RackSwitch-0`` for a row of `fabric.links`."""
    link = fabric.links[row]
    return f"{fabric.names[link['src']]} -> {fabric.names[link['dst']]}"


def _check_links(fabric: Fabric) -> None:
    links = fabric.links
    for bad, message in ((links["rate_bps"] <= 0, "has data rate {0[rate_bps]} bps; it must be above 0"),
                         (links["delay_ps"] < 0, "has delay {0[delay_ps]} ps; it must be 0 or more")):
        rows = np.flatnonzero(bad)
        if len(rows):
            others = f" ({len(rows)} links in all)" if len(rows) > 1 else ""
            name = link_name(fabric, int(rows[0]))
            raise InputError(f"link {name} {message.format(links[rows[0]])}{others}", where="fabric")


def _check_nics(fabric: Fabric) -> None:
    hosts = fabric.hosts
    if hosts == 0:
        raise InputError("has no NIC", where="fabric")
    if not (fabric.nodes["kind"][:hosts] == NIC).all():
        raise ValueError("NICs must come first in the node table")
    from_nic = fabric.links["src"] < hosts
    uplinks = np.bincount(fabric.links["src"][from_nic], minlength=hosts)
    wrong = np.flatnonzero(uplinks != 1)
    if len(wrong):
        raise InputError(f"{fabric.names[wrong[0]]} has {uplinks[wrong[0]]} uplinks; a NIC has exactly one",
                         where="fabric")
    to_nic = from_nic & (fabric.nodes["kind"][fabric.links["dst"]] != SWITCH)
    if to_nic.any():
        row = int(np.flatnonzero(to_nic)[0])
        raise InputError(f"link {link_name(fabric, row)} joins two NICs; a NIC hangs off a switch", where="fabric")


def _check_connected(fabric: Fabric) -> None:
    src, dst = fabric.links["src"], fabric.links["dst"]
    reached = np.zeros(len(fabric.nodes), bool)
    reached[0] = True
    while True:
        new = dst[reached[src] & ~reached[dst]]
        if not len(new):
            break
        reached[new] = True
    lost = np.flatnonzero(~reached)
    if len(lost):
        raise InputError(f"is disconnected: {fabric.names[0]} cannot reach {fabric.names[lost[0]]} "
                         f"({len(lost)} of {len(reached)} devices are out of its reach)", where="fabric")
