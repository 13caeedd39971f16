"""The kinds of workload that can stand alone or as a part of `several`.

A kind is a module with `Spec`, the model of its section, and `build(spec, context) -> Workload`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from distsim.workload import all_to_all, flows, incast, permutation, ring
from distsim.workload import cm_file as cm_file
from distsim.workload.base import Context
from distsim.workload.types import Workload

PARTS: dict[str, ModuleType] = {
    "permutation": permutation,
    "incast": incast,
    "all-to-all": all_to_all,
    "flows": flows,
    "ring": ring,
    "cm": cm_file,
}


def build_part(spec: Any, context: Context, kinds: dict[str, ModuleType] = PARTS) -> Workload:
    """The workload of one section: that of its `file` when it names one, else what its kind generates."""
    if spec.file is not None:
        return cm_file.read(spec.file, context)
    built: Workload = kinds[spec.kind].build(spec, context)
    return built
