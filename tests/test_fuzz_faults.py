"""Faults of the fabric under every freedom that windows have: results equal those of a plain global queue."""

from __future__ import annotations

import numpy as np
import pytest
from simkit import random_feature_model, random_model, run_oracle, run_windows, with_faults
from test_fuzz_windows import owners, sometimes_verify

from distsim.workload.types import LOCAL, SEND

CORE = (0, 3)


def agree(seed: int) -> None:
    """Links are down for a while only and every frame has a chance, so every message gets through."""
    model = with_faults(random_model(seed), seed)
    truth = run_oracle(model, seed=seed)
    assert truth.totals["alive"] == 0
    assert truth.totals["sends_done"] == np.isin(model.messages.ops["kind"], (SEND, LOCAL)).sum()
    assert run_windows(model, check=sometimes_verify()).differs(truth) == ""
    assert run_windows(model, seed=seed, least=True).differs(truth) == ""
    for ranks in (2, 3, 4):
        owner = owners(model, seed + ranks, ranks)
        found = run_windows(model, owner, seed=seed if ranks > 2 else None, check=sometimes_verify())
        assert found.differs(truth) == ""
    model.swpar["eager"] = 1
    assert run_windows(model).differs(truth) == ""


def agree_on_features(seed: int) -> None:
    """With every feature; a run stops after a millisecond, as a link that failed for good can be the only way."""
    model = with_faults(random_feature_model(seed), seed)
    stop = model.start_ps + 1_000_000_000
    truth = run_oracle(model, seed=seed, stop_ps=stop)
    assert run_windows(model, stop_ps=stop, check=sometimes_verify()).differs(truth) == ""
    assert run_windows(model, seed=seed, least=True, stop_ps=stop).differs(truth) == ""
    for ranks in (2, 3, 4):
        owner = owners(model, seed + ranks, ranks)
        assert run_windows(model, owner, seed=seed if ranks > 2 else None, stop_ps=stop).differs(truth) == ""


@pytest.mark.core
@pytest.mark.parametrize("seed", CORE)
def test_faults_equal_the_global_queue_core(seed):
    agree(seed)


@pytest.mark.parametrize("seed", [seed for seed in range(14) if seed not in CORE])
def test_faults_equal_the_global_queue(seed):
    agree(seed)


@pytest.mark.parametrize("seed", range(14))
def test_faults_and_features_equal_the_global_queue(seed):
    agree_on_features(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_faults_equal_the_global_queue_long(seed):
    agree(seed)
    agree_on_features(seed)
