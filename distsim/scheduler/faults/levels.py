"""What a fault does, by its type and level: one row each of the seed's table (cluster.md section 6).

Sources: seed 001 (fault_type, fault_level / fault_handling, fault_code, NodeDEnable, NodeHealthState); tables in
docs/en/scheduling/06_api/02_ascend_device_plugin.md and 03_noded.md of mind-cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from distsim.scheduler.faults.fault import (
    CARD_NETWORK,
    CARD_UNHEALTHY,
    DISCONNECTED,
    FREE_RESTART,
    HEARTBEAT,
    NODE_PRE_SEPARATE,
    NOT_HANDLE,
    PRE_SEPARATE,
    RESTART_BUSINESS,
    RESTART_NPU,
    RESTART_REQUEST,
    SEPARATE,
    SUB_HEALTH,
    SUB_HEALTHY,
    UNHEALTHY,
    Fault,
)


class New(StrEnum):
    """What becomes of new placements on a chip."""

    ALLOWED = "allowed"
    ISOLATED = "isolated"          # no new task
    BARRED = "barred"              # no new task, those there go on
    BY_STRATEGY = "by strategy"    # subHealthyStrategy of the new job


class Running(StrEnum):
    """What becomes of the job that uses the chip."""

    NOTHING = "nothing"
    RESCHEDULED = "rescheduled"
    CONTINUES = "continues"        # rescheduled only if its pod or process really fails
    BY_STRATEGY = "by strategy"    # its subHealthyStrategy


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    new: New
    running: Running


ROWS = {
    NOT_HANDLE: Row(New.ALLOWED, Running.NOTHING),
    **dict.fromkeys((RESTART_REQUEST, RESTART_BUSINESS, FREE_RESTART, RESTART_NPU, SEPARATE),
                    Row(New.ISOLATED, Running.RESCHEDULED)),
    PRE_SEPARATE: Row(New.BARRED, Running.CONTINUES),
    SUB_HEALTH: Row(New.BY_STRATEGY, Running.BY_STRATEGY),
}


@dataclass(frozen=True)
class Effects:
    """What a fault does while it lasts.

    barred, cut : masks of chips of its node that take no new task, and none of a job of several pods. stops : mask of
    the chips whose task is rescheduled. sub_chips : those whose task is handled by its job's subHealthyStrategy.
    closed : whether the node takes no new tasks. node_stops, node_sub : the same as stops and sub_chips, for all tasks
    of the node. lost : the node's status is lost, so that no pod on it can end by itself.
    """

    barred: int = 0
    cut: int = 0
    stops: int = 0
    sub_chips: int = 0
    closed: bool = False
    node_stops: bool = False
    node_sub: bool = False
    lost: bool = False

    @property
    def sub_healthy(self) -> bool:
        """Whether the node is sub-healthy."""
        return bool(self.sub_chips) or self.node_sub


def effects(fault: Fault) -> Effects:
    """What a chip or node fault does. A network fault evicts nobody at any level; NodeDEnable false: the state of the
    node is not looked at."""
    state = fault.state if fault.detection else None
    row = ROWS.get(fault.level)
    barred = stops = sub = 0
    cut = fault.mask if DISCONNECTED in fault.codes else 0
    if fault.fault_type == CARD_UNHEALTHY and row is not None:
        barred = fault.mask if row.new in (New.ISOLATED, New.BARRED) else 0
        stops = fault.mask if row.running is Running.RESCHEDULED else 0
    if fault.fault_type == CARD_NETWORK and row is not None and row.new in (New.ISOLATED, New.BARRED):
        cut |= fault.mask
    if row is not None and row.running is Running.BY_STRATEGY:
        sub = fault.mask
    return Effects(barred, cut, stops, sub, closed=state in (UNHEALTHY, NODE_PRE_SEPARATE),
                   node_stops=state == UNHEALTHY, node_sub=state == SUB_HEALTHY,
                   lost=state == UNHEALTHY and HEARTBEAT in fault.codes)


# Level -> Policy of reset.json (GetDevProcessPolicy in component/ascend-device-plugin/pkg/device/ascendtolerance.go).
# The seed keeps "empty" for no fault; upstream also uses it for NotHandleFault and SubHealthFault, ignored ones here.
EMPTY, IGNORE, REQUEST, RESTART, FREE_RESET, RESET, ISOLATE = (
    "empty", "ignore", "restart_request", "restart", "free_reset", "reset", "isolate")
POLICIES = {
    "": EMPTY, NOT_HANDLE: IGNORE, SUB_HEALTH: IGNORE, RESTART_REQUEST: REQUEST, RESTART_BUSINESS: RESTART,
    FREE_RESTART: FREE_RESET, RESTART_NPU: RESET, SEPARATE: ISOLATE, PRE_SEPARATE: ISOLATE,
}
ORDER = (EMPTY, IGNORE, REQUEST, RESTART, FREE_RESET, RESET, ISOLATE)      # a later one is the graver
