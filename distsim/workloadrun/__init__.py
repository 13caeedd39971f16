"""From a job file to jobs on a simulated cluster: the WorkloadRun, its Workflow, and what becomes of it.

Names are imported when they are used: reading a run needs no CEL, no JSON patch and no engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .conditions import Facts
    from .hardware import Hardware, hardware_of, usual_gpus
    from .immutable import canonical_spec, check_unchanged, check_workflow_unchanged
    from .load import load_workloadrun
    from .render import Resolved, facts_of, rendered, resolve, resolve_run, to_json, to_yaml
    from .requests import gpus_per_node, nodes_per_job
    from .spec import WorkloadRun
    from .workflow import build_workflow

_HOMES = {"Facts": "conditions", "Hardware": "hardware", "hardware_of": "hardware", "usual_gpus": "hardware",
          "canonical_spec": "immutable", "check_unchanged": "immutable", "check_workflow_unchanged": "immutable",
          "load_workloadrun": "load", "Resolved": "render", "facts_of": "render", "rendered": "render",
          "resolve": "render", "resolve_run": "render", "to_json": "render", "to_yaml": "render",
          "gpus_per_node": "requests", "nodes_per_job": "requests", "WorkloadRun": "spec",
          "build_workflow": "workflow"}

__all__ = ["Facts", "Hardware", "Resolved", "WorkloadRun", "build_workflow", "canonical_spec", "check_unchanged",
           "check_workflow_unchanged", "facts_of", "gpus_per_node", "hardware_of", "load_workloadrun", "nodes_per_job",
           "rendered", "resolve", "resolve_run", "to_json", "to_yaml", "usual_gpus"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
