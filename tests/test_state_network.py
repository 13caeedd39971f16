"""Where nodes, ports and links of a model are on each rank, and the tables of rows and columns they become."""

from __future__ import annotations

import random

import numpy as np
import pytest
from engine_cases import Run, model, send, two_tiers
from simkit import random_model

from distsim.fabric.types import NIC
from distsim.state import tables as t
from distsim.state.allocate import cell, ensure_room, grown, to_array, to_rows, to_twin
from distsim.state.build import build, power_of_two
from distsim.state.lookahead import influence_graph
from distsim.state.network import nodes_table, place, ports_table
from distsim.state.units import WIDEST_PS
from distsim.state.verify import verify


def random_owner(nodes: int, ranks: int, seed: int) -> np.ndarray:
    rng = random.Random(seed)
    owner = [*range(ranks), *(rng.randrange(ranks) for _ in range(nodes - ranks))]
    return np.array(rng.sample(owner, nodes), "i4")


@pytest.mark.parametrize("seed", range(6))
def test_ranks_share_out_nodes_ports_and_links(seed):
    made = random_model(seed)
    links = made.fabric.links
    ranks = 1 + seed % 4
    owner = random_owner(len(made.fabric.nodes), ranks, seed)
    places = [place(made, owner, rank) for rank in range(ranks)]
    assert sorted(np.concatenate([here.nodes for here in places]).tolist()) == list(range(len(owner)))
    for link in range(len(links)):
        sender, receiver = int(owner[links["src"][link]]), int(owner[links["dst"][link]])
        assert [here.port_of[link] >= 0 for here in places] == [rank == sender for rank in range(ranks)]
        assert [here.in_of[link] >= 0 for here in places] == [rank == receiver for rank in range(ranks)]
        leaving = [number for number, here in enumerate(places) if link in here.departing]
        assert leaving == ([sender] if sender != receiver else [])
    a, b, lookahead = influence_graph(made)
    cut = owner[a] != owner[b]
    assert {here.window_ps for here in places} == {int(lookahead[cut].min()) if cut.any() else WIDEST_PS}


@pytest.mark.parametrize("seed", range(6))
def test_a_port_leads_to_the_fifo_of_its_link(seed):
    made = random_model(seed)
    links = made.fabric.links
    owner = random_owner(len(made.fabric.nodes), 2, seed)
    for rank in range(2):
        here = place(made, owner, rank)
        ports, nodes = ports_table(made, here), nodes_table(made, here)
        all_ins = [*here.in_links.tolist(), *here.departing.tolist()]
        for row, link in enumerate(here.ports.tolist()):
            assert ports["link"][row] == link and nodes["id"][ports["node"][row]] == links["src"][link]
            assert all_ins[ports["in_row"][row]] == link
            far = int(owner[links["dst"][link]])
            here_row = here.row_of[links["dst"][link]]
            assert ports["peer"][row] == (here_row if far == rank else len(nodes) + far)
            assert ports["last_hop"][row] & 1 == (made.fabric.nodes["kind"][links["dst"][link]] == NIC)
            assert ports["last_hop"][row] >> 1 == links["uplink"][link]
        for row in range(len(nodes)):
            span = slice(nodes["port_begin"][row], nodes["port_begin"][row] + nodes["port_count"][row])
            assert (links["src"][here.ports[span]] == nodes["id"][row]).all()
            assert ports["ifid"][span].tolist() == sorted(ports["ifid"][span].tolist())
            span = slice(nodes["in_begin"][row], nodes["in_begin"][row] + nodes["in_count"][row])
            assert (links["dst"][here.in_links[span]] == nodes["id"][row]).all()


def test_two_ranks_of_a_leaf_spine_by_hand():
    # Rank 0: NIC-0, RackSwitch-0. Rank 1: NIC-1, RackSwitch-1, SpineSwitch-0. Cut: rack 0 - spine, both ways.
    made = model(two_tiers(), [send(0, 1, 1)])
    here = place(made, np.array([0, 1, 0, 1, 1], "i4"), 0)
    assert here.window_ps == 501_240
    assert here.nodes.tolist() == [0, 2]
    assert [made.fabric.links[["src", "dst"]][link].item() for link in here.ports] == [(0, 2), (2, 0), (2, 4)]
    assert [made.fabric.links[["src", "dst"]][link].item() for link in here.in_links] == [(2, 0), (0, 2), (4, 2)]
    # Departures: for rank 0 only its list of notices, for rank 1 the cut link and the notices.
    assert here.departures == [(3, 1), (4, 2)] and here.departing.tolist() == [-1, here.ports[2], -1]


def test_switches_have_salts_of_their_own_that_depend_on_the_node_id_alone():
    made = model(two_tiers(4, 1, 4), [send(0, 1, 1)])
    one = {}
    for owner in (np.zeros(12, "i4"), (np.arange(12) % 3).astype("i4")):
        salts = {}
        for rank in range(int(owner.max()) + 1):
            rows = nodes_table(made, place(made, owner, rank))
            salts |= dict(zip(rows["id"].tolist(), rows["salt"].tolist(), strict=True))
        assert len(set(salts.values())) == 12 and all(0 <= salt < 2**32 for salt in salts.values())
        one = one or salts
        assert salts == one


# ---- tables ----------------------------------------------------------------------------------------------------------
def test_rows_and_columns_are_the_same_table():
    state, _ = build(random_model(3), np.zeros(len(random_model(3).fabric.nodes), "i4"), 0)
    twin = to_twin(state)
    verify(twin)
    for name, dtype in (("ports", t.PORT), ("nicpar", t.NICPAR), ("ops", t.OP), ("clock", t.CLOCK)):
        assert (to_array(getattr(twin, name), dtype) == getattr(state, name)).all()
    assert twin.next_ps == state.next_ps.tolist()
    assert cell(twin.ports, 1, "delay_ps") == cell(state.ports, 1, "delay_ps") > -1


def test_a_table_grows_with_its_rows_kept():
    table = np.zeros(3, t.PENDING)
    table["op"] = [4, 5, 6]
    assert grown(table, t.PENDING, 7)["op"].tolist() == [4, 5, 6, 0, 0, 0, 0]
    assert [row.op for row in grown(to_rows(table), t.PENDING, 5)] == [4, 5, 6, 0, 0]


@pytest.mark.core
def test_a_pool_grows_to_twice_its_rows_or_to_what_is_asked():
    going = Run(model(two_tiers(), [send(0, 1, 1)]))
    state = going.state
    before = len(state.groups)
    state = ensure_room(state, t.P_GROUP, before + 1)
    assert len(state.groups) == cell(state.pools, t.P_GROUP, "room") == max(2 * before, before + 1)
    state = ensure_room(state, t.P_GROUP, 10 * before)
    assert len(state.groups) == 10 * before
    assert ensure_room(state, t.P_GROUP, 5) is state


@pytest.mark.parametrize("value, expected", [(1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048)])
def test_power_of_two(value, expected):
    assert power_of_two(value) == expected
