"""`verify` passes every state that a run goes through, in both forms, on one rank and on several."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import run, send, two_tiers
from simkit import random_feature_model, random_model, run_windows
from test_fuzz_windows import owners
from verify_cases import as_arrays, busy, loaded, lossless, prefetching, split

from distsim.state import tables as t
from distsim.state.allocate import to_twin
from distsim.state.verify import verify
from distsim.state.verify_rows import Columns

pytestmark = pytest.mark.core


def test_the_state_before_it_is_broken_is_sound():
    for state in (busy(), loaded(), prefetching(), lossless()):
        verify(state)
        verify(to_twin(state))


def test_the_twin_is_checked_too():
    state = to_twin(as_arrays(busy()))
    state.ports[0].queued += 1
    with pytest.raises(AssertionError, match="queued is"):
        verify(state)


def test_what_waits_for_other_ranks_is_checked():
    for state in split():
        verify(state)
    state = as_arrays(split()[0])
    leaving = np.flatnonzero((state.ins["node"] >= len(state.nodes)) & (state.ins["head"] >= 0))
    assert len(leaving) == 1
    state.packets["ptype"][state.ins["head"][leaving[0]]] = t.NOTICE
    with pytest.raises(AssertionError, match="belongs elsewhere"):
        verify(state)
    state = as_arrays(split()[0])
    state.next_ps[state.ins["node"][leaving[0]]] = t.INF_PS
    with pytest.raises(AssertionError, match="next_ps of node row"):
        verify(state)
    state = as_arrays(split()[0])
    state.clock["handed_over"] += 1
    with pytest.raises(AssertionError, match="1 handed over"):
        verify(state)


@pytest.mark.parametrize(("make", "seed"), [(random_model, 1), (random_model, 2), (random_feature_model, 1),
                                            (random_feature_model, 4)])
def test_every_window_of_a_random_simulation_leaves_a_sound_state(make, seed):
    made = make(seed)
    calls = []

    def check(rank) -> None:
        calls.append(rank)
        if len(calls) % 400 < 150:                  # of each run the first windows, and some later ones
            verify(rank.holder.state)

    run_windows(made, seed=seed, least=True, check=check)
    calls.clear()
    run_windows(made, owners(made, seed, 3), check=check)
    assert len(calls) > 10


def test_columns_read_both_forms():
    state = busy()
    twin = to_twin(state)
    assert Columns(state.nics).pdc_head == Columns(twin.nics).pdc_head
    assert Columns(state.packets, 5).time_ps == Columns(twin.packets, 5).time_ps
    assert len(Columns(twin.packets, 5)) == 5


def test_an_empty_simulation_is_sound():
    verify(run(two_tiers(), [send(0, 1, 1)]).state)
