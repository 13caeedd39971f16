"""What a rank tells its records does not depend on how many nodes it owns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distsim.assemble import assemble
from distsim.config import load
from distsim.parallel.comm import Serial
from distsim.shard import pfc_of, shard_of, tick_of
from distsim.state import tables as t
from distsim.state.build import build

LOSSLESS = Path(__file__).parent.parent / "configs" / "lossless.yaml"


@pytest.fixture(scope="module")
def model():
    config = load(LOSSLESS)
    return config, assemble(config)


def alone(model, node: int):
    """State and places of rank 1, which owns one node; rank 0 owns the others."""
    config, whole = model
    owner = np.zeros(len(whole.fabric.nodes), "i4")
    owner[node] = 1
    state, here = build(whole, owner, 1)
    return state, shard_of(config, whole, here, Serial(), "nowhere")


def test_the_pauses_of_a_nic_that_is_alone_on_its_rank_are_told(model):
    state, places = alone(model, 5)
    assert len(state.ports) == 1
    state.pfc["xoff_tx"][t.NIC_DATA] = 3
    assert pfc_of(state, places, state.ports[places.ports])["xoff_tx"][0].tolist() == [3, 0, 0, 0]


@pytest.mark.parametrize("node", [5, 16])
@pytest.mark.parametrize("clock", ["nd", "buffers", "switch-buffers"])
def test_a_rank_of_one_node_has_ticks_of_every_clock(model, node, clock):
    state, places = alone(model, node)
    tick = tick_of(clock, 1, state, places, {})
    nics, switches = (1, 0) if node == 5 else (0, 1)
    found = {"nd": len(tick.counters), "buffers": len(tick.buff), "switch-buffers": len(tick.buffers)}[clock]
    assert found == (switches if clock == "switch-buffers" else nics)
