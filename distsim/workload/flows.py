"""Single messages and lists of them, written out in the configuration."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from distsim.quantities import StrictModel
from distsim.workload.base import MAX_FLOW_ID, Context, HostNumber, MessageSize, StartTime, WorkloadSpec, sends, spelled
from distsim.workload.order import never_started
from distsim.workload.types import EDGES, ON_RECV_DONE, ON_SEND_DONE, TRIGGER_DELAY, Workload

FlowId = Annotated[int, Field(ge=1, le=MAX_FLOW_ID, strict=True)]


class Flow(StrictModel):
    """One message."""

    src: HostNumber = Field(alias="from", description="Host number of the sender.")
    dst: HostNumber = Field(alias="to", description="Host number of the receiver.")
    size: MessageSize = spelled("1MB", "Size of the message, 0 to 1 TiB.")
    start: StartTime = spelled("0s", "Earliest start after the workload's start.")
    id: FlowId | None = Field(default=None, description="Number of the flow in records, from 1. Default: the next "
                                                        "number that no flow of the list has.")
    after: tuple[FlowId, ...] = Field(default=(), description="Ids of flows that must be done first.")
    when: Literal["send-done", "recv-done"] = Field(
        default="send-done", description="What done means in `after`: all acknowledged at the sender, or all arrived "
                                         "at the receiver.")


class FlowsSpec(WorkloadSpec):
    """A list of messages."""

    kind: Literal["flows"]
    flows: tuple[Flow, ...] = Field(default=(), description="The messages; at least one, unless `file` is given.")

    @model_validator(mode="after")
    def _some(self) -> FlowsSpec:
        if not self.flows and self.file is None:
            raise ValueError("flows is empty; list at least one flow, e.g. {from: 0, to: 1, size: 1MB}")
        return self


Spec = FlowsSpec


def build(spec: FlowsSpec, context: Context) -> Workload:
    """The flows in the order of the list; InputError for unknown hosts, self-flows, double or unknown ids, and flows
    that wait for each other."""
    flows = spec.flows
    for index, flow in enumerate(flows):
        for name, host in (("from", flow.src), ("to", flow.dst)):
            context.check_hosts(np.array([host]), f"flows.{index}.{name}")
        if flow.src == flow.dst:
            context.fail(f"flows.{index}.to", f"host {flow.dst} would send to itself")
    row_of_id = _ids(flows, context)
    columns = ([flow.src for flow in flows], [flow.dst for flow in flows], [flow.start for flow in flows])
    ops = sends(*columns[:2], size_bytes=0, start_ps=columns[2])
    ops["size_bytes"] = [flow.size for flow in flows]
    ops["user_id"][list(row_of_id.values())] = list(row_of_id)
    edges = _edges(flows, row_of_id, context)
    np.add.at(ops["deps"], edges["dst"], 1)
    stuck = never_started(ops, edges)
    if len(stuck):
        context.fail(f"flows.{stuck[0]}.after", f"flow {ops['user_id'][stuck[0]]} waits for flows that wait for each "
                                                "other; it would never start")
    return Workload(ops, edges)


def _ids(flows: tuple[Flow, ...], context: Context) -> dict[int, int]:
    """The row of each id; flows without one take the free numbers from 1 on."""
    row_of_id: dict[int, int] = {}
    for row, flow in enumerate(flows):
        if flow.id is None:
            continue
        if flow.id in row_of_id:
            context.fail(f"flows.{row}.id", f"id {flow.id} is the id of flows.{row_of_id[flow.id]} already")
        row_of_id[flow.id] = row
    given = set(row_of_id)
    free = (number for number in itertools.count(1) if number not in given)
    for row, flow in enumerate(flows):
        if flow.id is None:
            row_of_id[next(free)] = row
    return row_of_id


def _edges(flows: tuple[Flow, ...], row_of_id: dict[int, int], context: Context) -> np.ndarray:
    found = []
    for row, flow in enumerate(flows):
        when = ON_SEND_DONE if flow.when == "send-done" else ON_RECV_DONE
        for place, before in enumerate(dict.fromkeys(flow.after)):
            if before not in row_of_id:
                context.fail(f"flows.{row}.after.{place}", f"no flow has id {before}")
            found.append((row_of_id[before], row, when, TRIGGER_DELAY))
    return np.array(found, EDGES)
