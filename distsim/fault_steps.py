"""Faults of the fabric as they happen: at an instant between two windows, the same one on every rank.

At such an instant everything before it has been done and nothing of it yet, and all that a link carries stands in the
FIFO of its far end (packets for another rank have been handed over). So a failure empties FIFOs, marks ports, stops
NICs, and later replaces the routing tables; no kernel looks at a clock for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .fabric.routing import reroute
from .fabric.types import NIC
from .state import tables as t
from .state.allocate import cell, set_cell, to_array, to_rows
from .state.build import copy_fields
from .state.faults import down_at
from .state.network import flow_tables, route_tables

if TYPE_CHECKING:
    from .kernels.handle import Holder
    from .kernels.native import Kernels
    from .state.model import Model
    from .state.network import Placement


class FaultSteps:
    """The faults of a run on one rank. next_ps : the next instant, INF_PS when there is none left."""

    def __init__(self, model: Model, here: Placement, holder: Holder, kernels: Kernels) -> None:
        self._model, self._here, self._holder, self._kernels = model, here, holder, kernels
        self._plan = model.faults
        self._instants = [] if self._plan is None else self._plan.instants
        links = len(model.fabric.links)
        self._until, self._routed = np.zeros(links, "i8"), np.zeros(links, bool)

    @property
    def next_ps(self) -> int:
        """When something changes next."""
        return self._instants[0] if self._instants else t.INF_PS

    def apply(self) -> None:
        """Do what is due at `next_ps`. The NICs have been settled up to it."""
        assert self._plan is not None
        now_ps = self._instants.pop(0)
        links = len(self._until)
        until = down_at(self._plan.down, links, now_ps)
        for link in np.flatnonzero((until > 0) & (self._until == 0)).tolist():
            self._fail(link, int(until[link]))
        for link in np.flatnonzero((until == 0) & (self._until > 0)).tolist():
            self._repair(link)
        self._until = until
        routed = down_at(self._plan.routed, links, now_ps) > 0
        if (routed != self._routed).any():
            self._routed = routed
            self._new_routes()

    def _fail(self, link: int, until_ps: int) -> None:
        """A directed link goes down: what is on the wire is lost, and what is sent; a NIC stops sending."""
        state, here = self._holder.state, self._here
        row, port = int(here.in_of[link]), int(here.port_of[link])
        if row >= 0:
            self._kernels.cut_link(self._holder.ref, row, len(here.ports) + row)
        if port < 0:
            return
        set_cell(state.losses, port, "down", 1)
        set_cell(state.ports, port, "last_hop", cell(state.ports, port, "last_hop") | t.LOSES)
        if self._from_nic(link):
            set_cell(state.ports, port, "free_ps", max(cell(state.ports, port, "free_ps"), until_ps))

    def _repair(self, link: int) -> None:
        port = int(self._here.port_of[link])
        if port < 0:
            return
        assert self._plan is not None
        state = self._holder.state
        set_cell(state.losses, port, "down", 0)
        if not self._plan.lossy[link]:
            set_cell(state.ports, port, "last_hop", cell(state.ports, port, "last_hop") & ~t.LOSES)

    def _from_nic(self, link: int) -> bool:
        fabric = self._model.fabric
        return bool(fabric.nodes["kind"][fabric.links["src"][link]] == NIC)

    def _new_routes(self) -> None:
        """Put routes that avoid the links known to be down into the tables; flow tables begin anew."""
        state = self._holder.state
        model, here = self._model, self._here
        rerouted = replace(model, routes=reroute(model.fabric, model.routes, self._routed))
        nodes = to_array(state.nodes, t.NODE)
        tables = route_tables(rerouted, here)
        tables |= flow_tables(rerouted, here, nodes, tables["route"])
        copy_fields(state.nodes, nodes, ["flow_begin"])
        changed: dict[str, Any] = tables if isinstance(state.clock, np.ndarray) else {
            name: to_rows(table) for name, table in tables.items()}
        self._holder.replace(state._replace(**changed))


def lost_by_link(state: Any, here: Placement) -> dict[int, tuple[int, int]]:
    """Packets and bytes that this rank counts as lost on a wire, by link of the fabric."""
    rows = to_array(state.losses, t.LOSS)
    if len(rows) < len(here.ports) + len(here.in_links):
        return {}
    found: dict[int, tuple[int, int]] = {}
    of_rows = [*here.ports.tolist(), *here.in_links.tolist()]
    for link, packets, size in zip(of_rows, rows["lost"].tolist(), rows["lost_bytes"].tolist(), strict=False):
        if packets:
            before = found.get(link, (0, 0))
            found[link] = before[0] + packets, before[1] + size
    return found
