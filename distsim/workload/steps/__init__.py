"""The kind `training`: steps of compute and collectives on simulated ranks, and the log that a trainer prints."""

from __future__ import annotations

from distsim.workload.base import Context
from distsim.workload.types import Workload

from .spec import Spec, TrainingSpec

__all__ = ["READS_FILE", "Spec", "TrainingSpec", "build"]

READS_FILE = True        # no connection matrix takes its place: a `file` is refused


def build(spec: TrainingSpec, context: Context) -> Workload:
    """The first phase; the others follow it (`Workload.following`), and `Workload.sweep` is the Training with its
    report. InputError when the degrees do not divide the ranks, or an algorithm does not fit a group."""
    from .shape import shape_of
    from .training import Training

    return Training(shape_of(spec, context)).first()
