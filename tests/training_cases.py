"""Trainings without the engine (times of phases are made up) and with it (from a configuration to files)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from distsim.config import from_dict
from distsim.engine import Result, run_config
from distsim.workload.base import Context
from distsim.workload.steps import Spec, build
from distsim.workload.steps.shape import ends_of
from distsim.workload.steps.training import Part, Training
from distsim.workload.types import Phase, Workload

MS = 10**9
START_PS = 2 * MS


def spec(**fields: Any) -> Spec:
    return Spec(**{"kind": "training", "forward": "1ms", "backward": "2ms", "gradients": "1MB", **fields})


def play(section: Spec, hosts: int, step_ms: Callable[[int], float]) -> tuple[list[Part], Training]:
    """(phases, training). step_ms : how long a step takes; a pause takes as long as it says."""
    workload: Workload | None = build(section, Context(hosts, 1))
    assert workload is not None
    training: Training = workload.sweep
    phases: list[Part] = []
    now_ps = START_PS
    while workload is not None:
        part, program = training._part, training._program
        assert part is not None and program is not None and workload.following is not None
        phases.append(part)
        if part.kind == "steps" and part.simulated:
            took = np.cumsum([round(step_ms(step) * MS) for step in range(part.first, part.last + 1)])
        else:
            took = np.array([program.nodes[0].duration_ps])
        done = np.full(len(workload.ops), -1, "i8")
        rows = ends_of(workload, program, training.shape.ranks)
        done[rows] = now_ps + took[:, None] - np.arange(training.shape.ranks)      # the last rank ends 1 ps earlier ...
        end_ps = int(done.max())
        workload = workload.following(Phase(now_ps, end_ps, np.where(done < 0, -1, now_ps), done))
        now_ps = end_ps
    return phases, training


def settings(workload: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """A configuration: two racks of four NICs that never block."""
    return {"simulation": "tr", "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4},
            "workload": {"kind": "training", **workload}, **sections}


def simulate(folder: Path, workload: dict[str, Any], **sections: Any) -> Result:
    return run_config(from_dict(settings(workload, **sections), []), folder, quiet=True)


def log_lines(folder: Path) -> list[str]:
    return (folder / "tr-launcher.log").read_text().splitlines()


def steps_of(folder: Path) -> list[tuple[int, int, int, int]]:
    """(step, begin_ps, end_ps, simulated) of the file of steps."""
    rows = (folder / "tr-training-steps.csv").read_text().splitlines()
    assert rows[0] == "step,begin_ps,end_ps,simulated"
    return [tuple(map(int, row.split(","))) for row in rows[1:]]  # type: ignore[misc]
