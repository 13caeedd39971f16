"""Hashes and draws: the same compiled and not, uniform, independent of order, and a fair spread over paths."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import Run, model, one_rack, send, two_tiers

from distsim.kernels import entry, rng, switch
from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell

pytestmark = pytest.mark.core

assert entry                    # numba has to know the state's type before a kernel is called from here
MASK = 0xFFFFFFFF


def reference_mix(value: int) -> int:
    """Two rounds of xor-shift and multiply in Python's own integers, then a last shift."""
    value &= MASK
    for _ in range(2):
        value = ((value ^ value >> 16) * 0x45D9F3B) & MASK
    return value ^ value >> 16


def test_the_hash_equals_its_definition_everywhere():
    for value in (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40 + 7, 2**62, -1, -2**40, 123456789):
        assert rng.mix32(value) == reference_mix(value)


def test_the_hash_is_a_bijection():
    assert len({reference_mix(value) for value in range(1 << 16)}) == 1 << 16
    # Its inverse: the shifts undo themselves, the multiplier has an inverse modulo 2**32.
    inverse = pow(0x45D9F3B, -1, 1 << 32)
    for value in (0, 1, 77, 2**31 + 5, MASK):
        hashed = rng.mix32(value)
        back = hashed ^ hashed >> 16
        for _ in range(2):
            back = (back * inverse) & MASK
            back ^= back >> 16
        assert back == value


def test_draws_depend_on_all_four_keys_and_on_nothing_else():
    draws = {rng.uniform(seed, entity, purpose, count)
             for seed in (1, 2) for entity in (0, 5) for purpose in (1, 2) for count in (0, 1)}
    assert len(draws) == 16 and all(0 <= draw < 1 for draw in draws)
    assert rng.uniform(1, 5, 1, 0) == rng.uniform(1, 5, 1, 0)


@pytest.mark.parametrize("entity, purpose", [(0, 1), (7, 1), (0, 2)])
def test_draws_are_uniform(entity, purpose):
    # 4000 draws in 20 bins of 200: the sum of squares over 200 has mean 19 and deviation 6.2.
    draws = np.array([rng.uniform(3, entity, purpose, count) for count in range(4000)])
    bins = np.histogram(draws, 20, (0, 1))[0]
    assert ((bins - 200) ** 2 / 200).sum() < 19 + 4 * 6.2
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * 4000)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(4000)


# ---- paths -----------------------------------------------------------------------------------------------------------
def picks(going: Run, device: str, hashes: list[int], dst: int) -> list[int]:
    """Which uplink a switch picks for each path hash."""
    node = going.state.nodes[going.node(device)]
    par = going.state.swpar[cell(going.state.nodes, going.node(device), "param")]
    packet = going.state.packets[0]
    set_cell(going.state.packets, 0, "dst", dst)
    first = cell(going.state.nodes, going.node(device), "port_begin")
    found = []
    for path in hashes:
        set_cell(going.state.packets, 0, "path_hash", path)
        found.append(int(switch.route(going.rank.ref, node, par, packet)) - first)
    return found


def test_spraying_uses_every_path_about_equally():
    # 128 ports over 8 spines from each of 8 sources: 128 packets a spine, deviation 10.6.
    going = Run(model(two_tiers(2, 1, 8), [send(0, 1, 1)]))
    hashes = [int(rng.path_hash(src, 100, port)) for src in range(8) for port in range(256, 384)]
    counts = np.bincount(picks(going, "RackSwitch-0", hashes, 1), minlength=9)[1:]
    assert counts.sum() == 1024 and abs(counts - 128).max() < 4 * 10.6


def test_two_switches_choose_independently():
    # Of the packets that one switch sends on its first uplink another sends a quarter on each of its four: 256 of 1024
    # in each of the 16 combinations on average, 64 +- 7.7.
    going = Run(model(two_tiers(2, 2, 4), [send(0, 2, 1)]))
    hashes = [int(rng.path_hash(src, 100, port)) for src in range(8) for port in range(256, 384)]
    one, two = picks(going, "RackSwitch-0", hashes, 2), picks(going, "RackSwitch-1", hashes, 0)
    table = np.zeros((4, 4), int)
    np.add.at(table, (np.array(one) - 2, np.array(two) - 2), 1)
    assert table.sum() == 1024 and abs(table - 64).max() < 4 * 7.7


def test_a_packet_for_a_neighbour_takes_the_port_to_it():
    going = Run(model(two_tiers(2, 2, 4), [send(0, 2, 1)]))
    assert picks(going, "RackSwitch-0", [0, 5, 2**32 - 1], 1) == [1, 1, 1]
    assert picks(going, "SpineSwitch-3", [0, 5, 2**32 - 1], 3) == [1, 1, 1]


def test_an_answer_has_the_hash_of_its_own_way():
    assert rng.path_hash(1, 2, 256) != rng.path_hash(2, 1, 256)


# ---- marking ---------------------------------------------------------------------------------------------------------
def marks(average: float, packets: int = 4000, **ecn: float) -> tuple[int, int]:
    """(marks, draws) of packets that start while a queue of limit 10,000 B has this average."""
    going = Run(model(one_rack(2), [send(0, 1, 1)]))
    switches = going.state.swpar
    for name, value in {"ecn_min_bytes": 2000.0, "ecn_max_bytes": 8000.0, "ecn_max_probability": 1.0, **ecn}.items():
        if isinstance(switches, np.ndarray):
            switches[name] = value
        else:
            setattr(switches[0], name, value)
    port, packet = going.state.ports[1], going.state.packets[0]
    set_cell(going.state.ports, 1, "ecn_average", average)
    hits = 0
    for _ in range(packets):
        set_cell(going.state.packets, 0, "flag_bits", 0)
        switch.mark(going.rank.ref, switches[0], port, packet)
        hits += (cell(going.state.packets, 0, "flag_bits") & t.F_CE) != 0
    assert cell(going.state.ports, 1, "ecn_marks") == hits
    return hits, cell(going.state.ports, 1, "draws")


@pytest.mark.parametrize("average, chance", [(3500, 0.25), (5000, 0.5), (7999, 5999 / 6000)])
def test_marking_is_linear_between_the_thresholds(average, chance):
    hits, draws = marks(average)
    assert draws == 4000
    assert abs(hits - 4000 * chance) <= 4 * np.sqrt(4000 * chance * (1 - chance)) + 1


def test_marking_below_at_and_above_the_thresholds():
    assert marks(1999.999, 50) == (0, 0)
    assert marks(2000, 50) == (0, 50)             # probability 0
    assert marks(8000, 50) == (50, 0)
    assert marks(9000, 50, ecn_max_probability=0.1) == (50, 0)


def test_the_greatest_probability_scales_the_band():
    hits, _ = marks(5000, ecn_max_probability=0.2)
    assert abs(hits - 400) <= 4 * np.sqrt(4000 * 0.1 * 0.9)
