"""The kinds of workload: modules with `Spec`, the model of its section, and `build(spec, context) -> Workload`.

A module is imported when its kind is asked for, so a run pays for its own kind only.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from distsim.workload.base import Context
from distsim.workload.types import Workload


class Kinds(Mapping[str, ModuleType]):
    """Modules of this package by the name of their kind."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.modules = dict(modules)

    def __getitem__(self, kind: str) -> ModuleType:
        return importlib.import_module(f"distsim.workload.{self.modules[kind]}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)


# Kinds that can stand alone or as a part of `several`.
PARTS = Kinds({
    "permutation": "permutation",
    "incast": "incast",
    "all-to-all": "all_to_all",
    "flows": "flows",
    "ring": "ring",
    "cm": "cm_file",
    "collective": "collective",
    "chakra": "chakra_traces",
    "goal": "goal",
    "simai": "simai",
    "hpcc": "hpcc_flows",
    "nccl-tests": "nccl_tests",
    "training": "steps",
})
WORKLOADS = Kinds({**PARTS.modules, "several": "several"})


def build_part(spec: Any, context: Context, kinds: Mapping[str, ModuleType] = PARTS) -> Workload:
    """The workload of one section: what its kind generates or reads; a `file` given to a kind that reads none
    (no READS_FILE in its module) is a .cm, whose flows replace what the kind would generate."""
    if spec.file is not None and not getattr(kinds[spec.kind], "READS_FILE", False):
        from distsim.workload import cm_file

        return cm_file.read(spec.file, context)
    built: Workload = kinds[spec.kind].build(spec, context)
    return built
