"""The model of a whole configuration file: the top-level keys, and the kinds that the registries know."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, create_model

from .faults import FaultsSection
from .names import spec_models
from .nic import Nic
from .overrides import NicOverride, SwitchOverride
from .parameters import SimulationParameters
from .switch import Switch

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
MOST_SEED = 2**63 - 1
DEFAULT_SEED = 1
SimulationName = Annotated[str, StringConstraints(pattern=f"^{NAME_PATTERN}$", strict=True)]
Seed = Annotated[int, Field(ge=0, le=MOST_SEED, strict=True)]


def root_of(data: Any) -> type[BaseModel]:
    """The root model for a document: with the one kind of workload that its data name, if they do."""
    section = data.get("workload") if isinstance(data, dict) else None
    kind = section.get("kind") if isinstance(section, dict) else None
    return root_model(kind if isinstance(kind, str) else None)


@functools.cache
def root_model(workload: str | None = None) -> type[BaseModel]:
    """The model of a whole configuration file; its validator is built only when it is used (for the JSON Schema).

    workload : the only kind of workload that matters, None for all (each kind's module has to be imported).
    """
    from distsim.fabric import TOPOLOGIES
    from distsim.measure.section import BandwidthMeasurementSection
    from distsim.workload import WORKLOADS

    def union(registry: Any) -> Any:
        return Annotated[Union[spec_models(registry)], Discriminator("kind")]  # noqa: UP007 - built from a tuple

    traffic = WORKLOADS[workload].Spec if workload is not None and workload in WORKLOADS else union(WORKLOADS)
    return create_model(
        "Configuration", __config__=ConfigDict(extra="forbid", defer_build=True), __doc__="A distsim configuration.",
        simulation=(SimulationName, Field(description="Name of the run: letters, digits, - and _, at most 100.")),
        seed=(Seed, Field(DEFAULT_SEED, description="Seed of every random draw.")),
        SimulationParameters=(SimulationParameters, Field(
            default_factory=SimulationParameters,
            description="When a run starts and ends, and what is recorded how often.")),
        fabric=(union(TOPOLOGIES), Field(description="The network, by kind.")),
        workload=(traffic, Field(description="The traffic, by kind.")),
        nic=(Nic, Field(default_factory=Nic, description="Attributes of every NIC.")),
        nic_overrides=(list[NicOverride], Field(
            default_factory=list, description="Other attributes for some NICs; later entries win.")),
        switch=(Switch, Field(default_factory=Switch, description="Attributes of every switch.")),
        switch_overrides=(list[SwitchOverride], Field(
            default_factory=list, description="Other attributes for some switches; later entries win.")),
        faults=(FaultsSection | None, Field(
            None, description="Links, switches and NICs that fail, and frames that links lose at random.")),
        bandwidthMeasurement=(BandwidthMeasurementSection | None, Field(
            None, description="How the bus bandwidth of a job of nccl-tests is measured while it runs.")),
    )
