"""The section `faults`: links, switches and NICs that fail and come back, and frames that links lose at random."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from distsim.quantities import StrictModel, Time

LONGEST_PS = 10**18
Chance = Annotated[float, Field(ge=0.0, le=1.0, strict=True, allow_inf_nan=False)]
BitChance = Annotated[float, Field(ge=0.0, le=0.001, strict=True, allow_inf_nan=False)]
Ends = tuple[str, str]


class LinkLoss(StrictModel):
    """What the cables between two devices lose at random."""

    between: Ends = Field(
        description="Names of the two ends in either order; * and ? match many, e.g. [RackSwitch-0, SpineSwitch-*].")
    packet_loss_rate: Chance | None = Field(
        None, description="Chance that a frame is lost, 0 to 1. Default: that of `faults`.")
    bit_error_rate: BitChance | None = Field(
        None, description="Chance that a bit is wrong, 0 to 0.001; a frame with a wrong bit is lost. Default: that of "
                          "`faults`.")

    @model_validator(mode="after")
    def _sets_something(self) -> Self:
        if self.packet_loss_rate is None and self.bit_error_rate is None:
            raise ValueError("sets neither packet_loss_rate nor bit_error_rate")
        return self


class FaultEvent(StrictModel):
    """A device or the cables between two devices fail."""

    target: Literal["link", "switch", "nic"] = Field(description="What fails.")
    between: Ends | None = Field(
        None, description="link: names of the two ends in either order; * and ? match many.")
    name: str | None = Field(None, min_length=1, description="switch, nic: its name; * and ? match many.")
    at: Annotated[Time, Field(ge=0, le=LONGEST_PS)] = Field(
        description="When it fails, time since the workload's start.")
    duration: Annotated[Time, Field(gt=0, le=LONGEST_PS)] | None = Field(
        None, description="How long it is down. Default: for good.")
    detection_time: Annotated[Time, Field(ge=0, le=LONGEST_PS)] | None = Field(
        None, description="As that of `faults`, for this event. Default: that.")

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.target == "link":
            if self.between is None or self.name is not None:
                raise ValueError("a link is named by its ends: give between: [A, B] and no name")
        elif self.name is None or self.between is not None:
            raise ValueError(f"a {self.target} is named: give name and not between")
        return self


class FaultsSection(StrictModel):
    """Faults of the fabric.

    A link that is down loses what is on the wire and what is sent on it; a switch that is down has no links; a NIC
    whose link is down stops sending until it is up again. Switches route around it `detection_time` after the failure
    and take the link back as long after its repair. A destination with no way left keeps its old routes, and loses.
    """

    detection_time: Annotated[Time, Field(ge=0, le=LONGEST_PS)] = Field(
        "1ms", description="From a failure or repair to new routes, everywhere at once.")
    packet_loss_rate: Chance = Field(0.0, description="Chance that a link loses a frame, 0 to 1.")
    bit_error_rate: BitChance = Field(
        0.0, description="Chance that a bit on a link is wrong, 0 to 0.001; a frame with a wrong bit is lost.")
    links: tuple[LinkLoss, ...] = Field((), description="Other rates for some links; later entries win.")
    events: tuple[FaultEvent, ...] = Field((), description="What fails when.")
