"""The first test of the engine: whatever freedom the windows have, results equal those of a plain global queue."""

from __future__ import annotations

import random

import numpy as np
import pytest
from simkit import random_feature_model, random_model, run_oracle, run_windows

from distsim.state.verify import verify
from distsim.workload.types import LOCAL, SEND

SEEDS = range(14)
CORE = range(4)


def owners(model, seed: int, ranks: int) -> np.ndarray:
    """A random partition that uses every rank."""
    rng = random.Random(seed)
    nodes = len(model.fabric.nodes)
    ranks = min(ranks, nodes)
    owner = np.array([*range(ranks), *(rng.randrange(ranks) for _ in range(nodes - ranks))], "i4")
    return np.array(rng.sample(owner.tolist(), nodes), "i4")


def sometimes_verify():
    """Checks every invariant after each of the first windows, then after every 50th: some cases have thousands."""
    count = 0

    def check(rank) -> None:
        nonlocal count
        count += 1
        if count < 300 or count % 50 == 0:
            verify(rank.holder.state)

    return check


def agree(seed: int) -> None:
    model = random_model(seed)
    truth = run_oracle(model, seed=seed)
    assert truth.totals["alive"] == 0
    assert truth.totals["sends_done"] == np.isin(model.messages.ops["kind"], (SEND, LOCAL)).sum()
    assert truth.totals["ops_done"] == len(model.messages.ops)
    assert run_oracle(model, seed=seed + 1).differs(truth) == ""
    assert run_windows(model, check=sometimes_verify()).differs(truth) == ""
    assert run_windows(model, seed=seed, least=True).differs(truth) == ""
    for ranks in (2, 3, 4):
        owner = owners(model, seed + ranks, ranks)
        assert run_windows(model, owner, seed=seed if ranks > 2 else None).differs(truth) == ""
    model.swpar["eager"] = 1
    assert run_windows(model).differs(truth) == ""
    assert run_windows(model, owners(model, seed, 2), seed=seed, least=True).differs(truth) == ""


@pytest.mark.core
@pytest.mark.parametrize("seed", CORE)
def test_windows_equal_the_global_queue_core(seed):
    agree(seed)


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if seed not in CORE])
def test_windows_equal_the_global_queue(seed):
    agree(seed)


def agree_on_features(seed: int) -> None:
    """The same with PFC, shared buffers, PCIe, pools, prefetch, REPS, hashes, flowlets, failed links and every log.

    A run stops after a millisecond: with a failed link on its only path a message never ends.
    """
    model = random_feature_model(seed)
    stop = model.start_ps + 1_000_000_000
    truth = run_oracle(model, seed=seed, stop_ps=stop)
    assert run_windows(model, stop_ps=stop, check=sometimes_verify()).differs(truth) == ""
    assert run_windows(model, seed=seed, least=True, stop_ps=stop).differs(truth) == ""
    for ranks in (2, 3, 4):
        owner = owners(model, seed + ranks, ranks)
        assert run_windows(model, owner, seed=seed if ranks > 2 else None, stop_ps=stop).differs(truth) == ""
    model.swpar["eager"] = 1
    assert run_windows(model, stop_ps=stop).differs(truth) == ""
    assert run_windows(model, owners(model, seed, 2), seed=seed, least=True, stop_ps=stop).differs(truth) == ""


@pytest.mark.core
@pytest.mark.parametrize("seed", [4, 23])
def test_features_equal_the_global_queue_core(seed):
    agree_on_features(seed)


@pytest.mark.parametrize("seed", [seed for seed in range(30) if seed not in (4, 23)])
def test_features_equal_the_global_queue(seed):
    agree_on_features(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_features_equal_the_global_queue_long(seed):
    agree_on_features(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_invariant_holds_after_every_window(seed):
    for ranks in (1, 3):
        model = random_model(seed)
        run_windows(model, owners(model, seed, ranks), check=lambda rank: verify(rank.holder.state))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_windows_equal_the_global_queue_long(seed):
    agree(seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_stops_early_stops_at_the_same_instant(seed):
    model = random_model(seed)
    stop = model.start_ps + 7_654_321
    truth = run_oracle(model, seed=seed, stop_ps=stop, tick_ps=3_000_000)
    assert run_windows(model, stop_ps=stop, tick_ps=3_000_000).differs(truth) == ""
    assert run_windows(model, owners(model, seed, 3), seed=seed, stop_ps=stop, tick_ps=3_000_000).differs(truth) == ""
