"""The same kernels compiled, as plain Python, and with bounds checks: the same results; a row out of range raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from simkit import KERNELS, Rank, random_feature_model, random_model, run_windows

from distsim.kernels.mode import BOUNDSCHECK, COMPILED

SEEDS, FEATURE_SEEDS = (0, 3, 5), (0, 3, 10, 16)
STOP_PS = 1_000_000_000
PROGRAM = """
import json, sys
from test_fuzz_modes import outcomes
print(json.dumps(outcomes()))
"""


def outcomes() -> list:
    """What small models, plain and with every feature, come to."""
    plain = [run_windows(random_model(seed)).__dict__ for seed in SEEDS]
    features = [run_windows(random_feature_model(seed), stop_ps=STOP_PS).__dict__ for seed in FEATURE_SEEDS]
    return [*plain, *features]


def elsewhere(**environment: str) -> list:
    """The outcomes from a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                          check=True, cwd=os.path.dirname(__file__), env={**os.environ, **environment})
    return json.loads(done.stdout)


@pytest.mark.skipif(not COMPILED, reason="compares compiled kernels with the twin")
def test_the_plain_python_twin_gives_the_same_results():
    assert elsewhere(NUMBA_DISABLE_JIT="1") == json.loads(json.dumps(outcomes()))


@pytest.mark.core
@pytest.mark.skipif(COMPILED and not BOUNDSCHECK, reason="compiled kernels check no bounds unless NUMBA_BOUNDSCHECK=1")
def test_a_row_out_of_range_raises():
    import numpy as np

    model = random_model(0)
    rank = Rank(model, np.zeros(len(model.fabric.nodes), "i4"), 0)
    rank.holder.state.order[0] = 10**6
    with pytest.raises(IndexError):
        KERNELS.run_window(rank.ref, 1 << 60, 1000)
