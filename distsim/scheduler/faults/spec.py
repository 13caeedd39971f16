"""The fault script: every field of an entry with unit, default and range."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from distsim.config.faults import LONGEST_PS, BitChance, Chance, Ends, LinkLoss
from distsim.config.names import nearest
from distsim.config.problems import shown
from distsim.quantities import StrictModel, Time
from distsim.scheduler.faults.fault import (
    CARD_NETWORK,
    CARD_UNHEALTHY,
    CHIP,
    DISCONNECTED,
    FAULT_TYPES,
    HEARTBEAT,
    LEVELS,
    LINK,
    NIC,
    NODE,
    NODE_STATES,
    NODE_UNHEALTHY,
    POD,
    PROCESS,
    SWITCH,
    TARGETS,
)


def _one_of(values: Sequence[str]) -> BeforeValidator:
    """Refuses what is none of the values, with the nearest one (the field may be left out, so pydantic's own message
    would not name it)."""
    def check(value: Any) -> Any:
        if value is not None and value not in values:
            near = nearest(value, list(values)) if isinstance(value, str) else None
            raise ValueError(f"{shown(value)} is not valid; valid values: {', '.join(values)}"
                             + (f"; nearest: {near}" if near else ""))
        return value
    return BeforeValidator(check)


Level = Annotated[str, _one_of(LEVELS)]
FaultType = Annotated[str, _one_of(FAULT_TYPES)]
NodeHealth = Annotated[str, _one_of(NODE_STATES)]
Target = Annotated[str, _one_of(TARGETS)]
LEVEL_KEYS = ("fault_handling", "fault_level", "large_model_fault_level")       # the first is the preferred one
# Keys of an entry by target, besides target and at. A required one stands in `_NEEDS` too.
_CARD = {"duration", "fault_type", "node", "npu_name", *LEVEL_KEYS, "fault_code", "NodeDEnable", "NodeHealthState",
         "cured_by_reset"}
_KEYS = {
    CHIP: _CARD,
    NODE: {"duration", "fault_type", "node", "fault_code", "NodeDEnable", "NodeHealthState"},
    NIC: {"duration", "node", "index", "name", "detection_time"},
    LINK: {"duration", "between", "detection_time"},
    SWITCH: {"duration", "name", "detection_time"},
    POD: {"job", "rank", "exit_code"},
    PROCESS: {"job", "rank", "exit_code"},
}
_NEEDS = {CHIP: ("node", "npu_name"), NODE: ("node",), NIC: (), LINK: ("between",), SWITCH: ("name",),
          POD: ("job",), PROCESS: ("job",)}
_HEX = re.compile(r"(0[xX])?[0-9A-Fa-f]{1,16}", re.ASCII)


def codes_of(text: str) -> tuple[str, ...]:
    """The fault codes of a text joined by commas; ValueError for what is no word of the seed and not hexadecimal."""
    found = []
    for code in (part.strip() for part in text.split(",")):
        if code not in (DISCONNECTED, HEARTBEAT) and not _HEX.fullmatch(code):
            near = nearest(code, [DISCONNECTED, HEARTBEAT])
            raise ValueError(f"{code!r} is not a fault code; valid: {DISCONNECTED}, {HEARTBEAT} or hexadecimal, e.g. "
                             f"80E18005" + (f"; nearest: {near}" if near else ""))
        found.append(code)
    return tuple(found)


def _codes(value: Any) -> Any:
    """The text as it stands, once its codes are known to be some."""
    if isinstance(value, (int, float)):
        raise ValueError("a number is not a fault code; write it in quotes, e.g. \"80E18005\"")
    if isinstance(value, str):
        codes_of(value)
    return value


class FaultEntry(StrictModel):
    """A fault."""

    target: Target | None = Field(
        None, description="What fails. Default: chip with npu_name, else node with node, else it is required.")
    at: Annotated[Time, Field(ge=0, le=LONGEST_PS)] = Field(description="When it fails, since the cluster's start.")
    duration: Annotated[Time, Field(gt=0, le=LONGEST_PS)] | None = Field(
        None, description="How long it lasts. Default: for good.")
    fault_type: FaultType | None = Field(
        None, description="What it is. Default: CardNetworkUnhealthy with no code but Disconnected, NodeUnhealthy "
                          "without npu_name, else CardUnhealthy.")
    node: str | None = Field(None, description="Name of the node.")
    npu_name: str | None = Field(
        None, description="Chips, several joined by commas, e.g. Ascend910-3; none for a fault of the node.")
    fault_handling: Level | None = Field(
        None, description="Level of a chip's fault. Default: SeparateNPU, of CardNetworkUnhealthy PreSeparateNPU.")
    fault_level: Level | None = Field(None, description="The same as fault_handling.")
    large_model_fault_level: Level | None = Field(None, description="The same as fault_handling.")
    fault_code: Annotated[str, BeforeValidator(_codes)] | None = Field(
        None, description="Codes joined by commas, in quotes: Disconnected (the chip has no network), heartbeatTimeOut "
                          "(the node's status is lost) or hexadecimal.")
    NodeDEnable: Annotated[bool, Field(strict=True)] = Field(
        True, description="Whether the node's status is watched; false: the node's health state is not looked at.")
    NodeHealthState: NodeHealth | None = Field(
        None, description="Health state of the node. Default: UnHealthy of a node fault that lasts.")
    cured_by_reset: Annotated[bool, Field(strict=True)] = Field(
        True, description="Whether a hot reset of the chip ends the fault.")
    index: Annotated[int, Field(ge=0, strict=True)] | None = Field(None, description="Number of a NIC on its node.")
    name: str | None = Field(None, min_length=1, description="Name of a NIC (NIC-3) or switch; * and ? match many.")
    between: Ends | None = Field(None, description="Names of a link's two ends, in either order; * and ? match many.")
    detection_time: Annotated[Time, Field(ge=0, le=LONGEST_PS)] | None = Field(
        None, description="From the failure to new routes. Default: that of the script.")
    job: str | None = Field(None, min_length=1, description="Name of the job, or namespace/name.")
    rank: Annotated[int, Field(ge=0, strict=True)] = Field(
        0, description="Rank of the pod in its job; of a process, one a chip.")
    exit_code: Annotated[int, Field(ge=1, le=255, strict=True)] = Field(1, description="What it ends with, 1 to 255.")

    @property
    def what(self) -> str:
        """The target, given or meant."""
        if self.target is not None:
            return self.target
        return CHIP if self.npu_name is not None else NODE

    @property
    def level(self) -> str | None:
        """The level, under whichever of its three names."""
        return next((value for value in (getattr(self, key) for key in LEVEL_KEYS) if value is not None), None)

    @model_validator(mode="after")
    def _keys_fit(self) -> Self:
        if self.target is None and self.node is None:
            raise ValueError(f"target is required; valid values: {', '.join(TARGETS)}")
        what = self.what
        for key in sorted(self.model_fields_set - _KEYS[what] - {"target", "at"}):
            raise ValueError(f"{key} is not for a {what} fault; valid: {', '.join(sorted(_KEYS[what]))}")
        for key in _NEEDS[what]:
            if getattr(self, key) is None:
                raise ValueError(f"{key} is required of a {what} fault")
        return self

    @model_validator(mode="after")
    def _level_is_one(self) -> Self:
        given = {key: getattr(self, key) for key in LEVEL_KEYS if getattr(self, key) is not None}
        if len(set(given.values())) > 1:
            said = ", ".join(f"{key} {value}" for key, value in given.items())
            raise ValueError(f"{said} contradict each other; they mean the same, give fault_handling alone")
        return self

    @model_validator(mode="after")
    def _type_fits(self) -> Self:
        if self.what == CHIP and self.fault_type == NODE_UNHEALTHY:
            raise ValueError("fault_type NodeUnhealthy names no chip; leave npu_name out")
        if self.what == NODE and self.fault_type in (CARD_UNHEALTHY, CARD_NETWORK):
            raise ValueError(f"fault_type {self.fault_type} needs npu_name, e.g. Ascend910-3")
        if self.what == NODE and self.fault_type == NODE_UNHEALTHY and self.NodeHealthState == "Healthy":
            raise ValueError("NodeHealthState Healthy contradicts fault_type NodeUnhealthy")
        if self.what == NODE and self.fault_code is not None and DISCONNECTED in codes_of(self.fault_code):
            raise ValueError(f"fault_code {DISCONNECTED} is of a chip; give npu_name")
        return self

    @model_validator(mode="after")
    def _nic_is_named(self) -> Self:
        if self.what == NIC and (self.name is None) == (self.node is None and self.index is None):
            raise ValueError("a nic is named by name: NIC-3, or by node and index")
        if self.what == NIC and self.name is None and (self.node is None or self.index is None):
            raise ValueError("a nic is named by name: NIC-3, or by node and index")
        return self


class FaultFile(StrictModel):
    """A fault script."""

    faults: tuple[FaultEntry, ...] = Field((), description="The faults, in any order.")
    detection_time: Annotated[Time, Field(ge=0, le=LONGEST_PS)] | None = Field(
        None, description="From a failure or repair of the fabric to new routes. Default: as the configuration's.")
    packet_loss_rate: Chance = Field(0.0, description="Chance that a link loses a frame, 0 to 1.")
    bit_error_rate: BitChance = Field(0.0, description="Chance that a bit on a link is wrong, 0 to 0.001.")
    links: tuple[LinkLoss, ...] = Field((), description="Other rates for some links; later entries win.")
