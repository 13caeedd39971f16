"""The kinds of workload that can stand alone or as a part of `several`.

A kind is a module with `Spec`, the model of its section, and `build(spec, context) -> Workload`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from distsim.workload import (
    all_to_all,
    chakra_traces,
    collective,
    flows,
    goal,
    hpcc_flows,
    incast,
    nccl_tests,
    permutation,
    ring,
    simai,
)
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
    "collective": collective,
    "chakra": chakra_traces,
    "goal": goal,
    "simai": simai,
    "hpcc": hpcc_flows,
    "nccl-tests": nccl_tests,
}


def build_part(spec: Any, context: Context, kinds: dict[str, ModuleType] = PARTS) -> Workload:
    """The workload of one section: what its kind generates or reads; a `file` given to a kind that reads none
    (no READS_FILE in its module) is a .cm, whose flows replace what the kind would generate."""
    if spec.file is not None and not getattr(kinds[spec.kind], "READS_FILE", False):
        return cm_file.read(spec.file, context)
    built: Workload = kinds[spec.kind].build(spec, context)
    return built
