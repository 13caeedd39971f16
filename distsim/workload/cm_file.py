"""Connection matrices of htsim (.cm), read as they are."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from distsim.textfile import read_lines
from distsim.workload.base import Context, WorkloadSpec, sends
from distsim.workload.cm_text import CmText, parse
from distsim.workload.order import never_started
from distsim.workload.triggers import add_triggers
from distsim.workload.types import SEND, Workload


class CmSpec(WorkloadSpec):
    """The flows of a .cm file."""

    kind: Literal["cm"]
    file: str = Field(description="Path of the .cm file.")


Spec = CmSpec


def build(spec: CmSpec, context: Context) -> Workload:
    """As `read`."""
    return read(spec.file, context)


def read(file: str, context: Context) -> Workload:
    """The flows of a .cm file in its order, then its barriers.

    Flows without an id take the numbers that no flow has, from 1. Raises InputError with file and line when the file is
    malformed, is written for more hosts than the fabric has, or holds flows that would never start.
    """
    cm = parse(file, read_lines(file, "htsim connection matrix"))
    if cm.nodes > context.hosts:
        cm.fail(cm.header["Nodes"][1], f"Nodes {cm.nodes} is more than the {context.hosts} hosts of the fabric")
    flows = sends(cm.src, cm.dst, 0, cm.start_ps)
    flows["size_bytes"] = cm.size_bytes
    flows["user_id"] = _ids(cm)
    ops, edges, warnings = add_triggers(cm, flows)
    _check_all_start(cm, ops, edges)
    if not cm.lines:
        warnings.append(f"{file}: holds no flows")
    if cm.has_priorities:
        warnings.append(f"{file}: prio is not used; all flows have the same priority")
    return Workload(ops, edges, warnings=warnings)


def _ids(cm: CmText) -> np.ndarray:
    ids = np.array(cm.ids, "i8")
    open_rows = np.flatnonzero(ids == 0)
    if len(open_rows):
        free = np.setdiff1d(np.arange(1, len(ids) + 1), ids)
        ids[open_rows] = free[:len(open_rows)]
    return ids


def _check_all_start(cm: CmText, ops: np.ndarray, edges: np.ndarray) -> None:
    stuck = [row for row in never_started(ops, edges) if ops["kind"][row] == SEND]
    if stuck:
        row = stuck[0]
        cm.fail(cm.lines[row], f"{cm.flow_name(row)} waits for trigger {cm.trigger[row]}, to which only flows report "
                               "that wait for each other; it would never start")
