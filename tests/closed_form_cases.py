"""Collectives on small fabrics, run through the real kernels, and what the engine takes for a message, by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from engine_cases import FRAME, GBPS, NS, uet_switch
from engine_cases import nic as nic_of
from lower_cases import coll, graph
from simkit import FOREVER, Rank, run_rank

from distsim.config.nic import Nic
from distsim.fabric import build as build_fabric
from distsim.fabric import leaf_spine
from distsim.fabric.links import uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.types import Fabric, Routes
from distsim.kernels.mode import COMPILED
from distsim.parameters import nic_row, switch_row
from distsim.state import tables as t
from distsim.state.allocate import cell, to_array
from distsim.state.model import Model, number_messages
from distsim.workload.collectives import Options
from distsim.workload.graph import Graph
from distsim.workload.lower import Settings, lower
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import ROLE_BEGIN, ROLE_END, Workload


@cache
def leaves(racks: int, per_rack: int, spines: int, rate_bps: int = 400 * GBPS) -> tuple[Fabric, Routes]:
    spec = leaf_spine.Spec(kind="leaf-spine", racks=racks, nics_per_rack=per_rack, spines=spines)
    fabric = build_fabric(spec, uniform_rules(rate_bps, 100 * NS, 500 * NS))
    return fabric, build_routes(fabric)


def collective_graph(collective: int, members: int, size: int, root: int = 0) -> Graph:
    return graph(members, [coll(rank, collective, size, root=root) for rank in range(members)], (),
                 [list(range(members))])


def lowered(case: Graph, collective: int, algorithm: str, hosts: int, options: Options = Options(),
            scale_up: ScaleUp | None = None) -> Workload:
    settings = Settings({collective: algorithm}, options, scale_up=scale_up, log_messages=False, log_ops="collectives")
    return lower(case, settings, np.arange(case.ranks, dtype="i4"), hosts)


def simulate(network: tuple[Fabric, Routes], workload: Workload, nic: Nic | None = None) -> Rank:
    fabric, routes = network
    switches = len(fabric.nodes) - fabric.hosts
    rate = int(fabric.links["rate_bps"][routes.up_link[0]])
    made = Model(fabric, routes, number_messages(workload), nic_row(nic or Nic(), rate), np.zeros(fabric.hosts, "i4"),
                 switch_row(uet_switch()), np.zeros(switches, "i4"), workload=workload)
    rank = Rank(made, np.zeros(len(fabric.nodes), "i4"), 0, least=not COMPILED)
    run_rank(rank, FOREVER, None)
    return rank


def taken_ps(rank: Rank) -> int:
    state, model = rank.holder.state, rank.model
    rows = to_array(state.oplog, t.OPLOG)[:cell(state.pools, t.P_OPLOG, "used")]
    labels = model.workload.labels[model.messages.order[rows["op"]]]
    begin = rows["time_ps"][labels["role"] == ROLE_BEGIN]
    end = rows["time_ps"][labels["role"] == ROLE_END]
    n = model.workload.graph.ranks
    assert len(begin) == len(end) == n, (len(begin), len(end))
    return int(end.max() - begin.max())


def collective_ps(network, collective, algorithm, members, size, options=Options(), root=0, scale_up=None, nic=None):
    case = collective_graph(collective, members, size, root)
    return taken_ps(simulate(network, lowered(case, collective, algorithm, network[0].hosts, options, scale_up), nic))
