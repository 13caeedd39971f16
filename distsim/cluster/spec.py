"""The cluster file: pools of nodes, what single nodes differ in, queues, the network, sections of configurations."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from distsim.cluster.labels import (
    GPU,
    check_annotations,
    check_key,
    check_labels,
    check_value,
    checked_name,
    not_empty,
    parse_amounts,
)
from distsim.cluster.network_spec import RackNetwork
from distsim.config.nic import Nic
from distsim.config.overrides import NicOverride, SwitchOverride
from distsim.config.parameters import SimulationParameters as Parameters
from distsim.config.switch import Switch
from distsim.quantities import Rate, StrictModel

Platform = Literal["sim", "aws", "gcp", "azure", "oci", "onprem", "togetherai", "mistral", "forge", "nscale"]
PLATFORMS: tuple[str, ...] = get_args(Platform)
Labels = Annotated[dict[str, str | None], BeforeValidator(check_labels)]
Annotations = Annotated[dict[str, str | None], BeforeValidator(check_annotations)]
Names = Annotated[tuple[str, ...], BeforeValidator(not_empty)]
Amounts = Annotated[dict[str, int], BeforeValidator(parse_amounts)]
_PATTERN = re.compile(r"[^{}]*\{(0+)\}[^{}]*")
_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)
MOST_NODES = 200_000


def node_name(pattern: str, number: int) -> str:
    """The name of a node: ``node{000}`` and 7 are node007; a pattern without braces is the name itself."""
    found = _PATTERN.fullmatch(pattern)
    if found is None:
        return pattern
    return pattern[: found.start(1) - 1] + str(number).zfill(len(found[1])) + pattern[found.end(1) + 1:]


class TaintSpec(StrictModel):
    """A taint."""

    key: str = Field(description="Key of the taint.")
    value: str = Field("", description="Value of the taint. Default: none.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = Field(description="What it does to pods.")

    @model_validator(mode="after")
    def _text(self) -> TaintSpec:
        check_key(self.key, "taint")
        check_value(self.value, self.key, "taint")
        return self


class Chips(StrictModel):
    """The accelerators of a node."""

    product: str = Field(
        "NVIDIA-H100-80GB-HBM3", min_length=1,
        description="Type, the value of the label nvidia.com/gpu.product, from which the architecture follows (h100).")
    count: Annotated[int, Field(ge=1, le=1024, strict=True)] = Field(8, description="Accelerators a node, 1 to 1024.")
    resource: str = Field(GPU, description="Resource name under which they are allocated.")

    @model_validator(mode="after")
    def _text(self) -> Chips:
        check_value(self.product, "product")
        check_key(self.resource, "resource")
        return self


class Nics(StrictModel):
    """The NICs of a node that are on the fabric."""

    count: int | None = Field(
        None, ge=1, le=1024, strict=True, description="NICs a node, 1 to 1024. Default: as many as chips, or 1.")
    rate: Annotated[Rate, Field(gt=0)] = Field("400Gbps", description="Data rate of a NIC, above 0.")
    resource: str | None = Field(
        None, description="Resource name under which they are allocated, e.g. rdma/ib. Default: not a resource.")

    @field_validator("resource")
    @classmethod
    def _key(cls, key: str | None) -> str | None:
        return key if key is None else check_key(key, "resource")


class Pool(StrictModel):
    """Nodes that are alike."""

    name: str = Field(description="Name of the pool: letters, digits, -, _ and ., at most 63.")
    count: Annotated[int, Field(ge=1, le=MOST_NODES, strict=True)] = Field(
        description=f"Nodes in the pool, 1 to {MOST_NODES}.")
    names: str = Field(
        "node{000}", description="Node names: the number of the node stands for {000}, with at least as many digits as "
                                 "there are zeros.")
    first: Annotated[int, Field(ge=0, le=10**9, strict=True)] = Field(
        0, description="Number of the first node, 0 to 1000000000.")
    chips: Chips | None = Field(Chips(), description="Accelerators of each node; null: none.")
    nics: Nics | None = Field(Nics(), description="NICs of each node on the fabric; null: none.")
    labels: Labels = Field({}, description="Labels besides those that every node gets (hostname, rack, GPU); a value "
                                           "of null removes one of those.")
    annotations: Annotations = Field({}, description="Annotations.")
    taints: tuple[TaintSpec, ...] = Field((), description="Taints.")
    capacity: Amounts = Field({}, description="Amounts by resource name, whole numbers of 0 or more, e.g. 192 or 2Ti; "
                                              "chips and NICs stand in it by themselves.")
    allocatable: Amounts = Field({}, description="What of the capacity jobs may use. Default: all.")
    platform: Platform | None = Field(None, description="Platform of these nodes. Default: the cluster's.")

    @field_validator("name")
    @classmethod
    def _name(cls, text: str) -> str:
        return checked_name(text)

    @model_validator(mode="after")
    def _fits(self) -> Pool:
        if self.count > 1 and not _PATTERN.fullmatch(self.names):
            raise ValueError(f"names: {self.names!r} has no place for the number of the node; write e.g. node{{000}}")
        for number in (self.first, self.first + self.count - 1):
            name = node_name(self.names, number)
            if len(name) > 253 or not _NODE_NAME.fullmatch(name):
                raise ValueError(f"names: {name!r} is not a node name; valid: small letters, digits, - and ., at most "
                                 "253")
        return self


class NodeOverride(StrictModel):
    """What some nodes differ in from their pools."""

    nodes: Names = Field(description="Node names; * ? [0-3] match many.")
    labels: Labels = Field({}, description="Labels to set; null removes one.")
    annotations: Annotations = Field({}, description="Annotations to set; null removes one.")
    taints: tuple[TaintSpec, ...] = Field((), description="Further taints.")
    allocatable: Amounts = Field({}, description="Amounts that jobs may use, e.g. nvidia.com/gpu: 1.")


class QueueSpec(StrictModel):
    """A queue of jobs."""

    name: str = Field(description="Name: letters, digits, -, _ and ., at most 63.")
    weight: Annotated[int, Field(ge=1, le=65535, strict=True)] = Field(1, description="Its share, 1 to 65535.")
    priority: Annotated[int, Field(ge=-(10**9), le=10**9, strict=True)] = Field(
        0, description="A greater one is served first, -1000000000 to 1000000000.")

    @field_validator("name")
    @classmethod
    def _name(cls, text: str) -> str:
        return checked_name(text)


class ClusterFile(StrictModel):
    """A cluster."""

    name: str | None = Field(None, description="Name of the cluster. Default: the file's name without ending.")
    platform: Platform = Field("sim", description="Platform of the nodes.")
    pools: tuple[Pool, ...] = Field(
        (), description="Pools of nodes, numbered in this order; they may be left out when `network` names a file with "
                        "the nodes in it (kinds tor-node and hypernodes).")
    overrides: tuple[NodeOverride, ...] = Field((), description="What single nodes differ in; a later entry wins.")
    cordoned: tuple[str, ...] = Field((), description="Names of nodes that take no new jobs; * ? [0-3] match many.")
    queues: tuple[QueueSpec, ...] = Field((), description="Queues. Default: none declared, every name is accepted.")
    workloads: dict[str, Any] = Field({}, description="What jobs are on the network, by job name, image or command.")
    network: Any = Field(
        RackNetwork(kind="rack"), description="Where each NIC plugs in, by kind (network_spec.NETWORKS).")
    SimulationParameters: Parameters | None = Field(
        None, description="Section of the configuration of every run.")
    nic: Nic | None = Field(None, description="Section of the configuration: attributes of every NIC.")
    nic_overrides: tuple[NicOverride, ...] = Field((), description="Section of the configuration.")
    switch: Switch | None = Field(None, description="Section of the configuration: attributes of every switch.")
    switch_overrides: tuple[SwitchOverride, ...] = Field((), description="Section of the configuration.")
    nccl: dict[str, Any] = Field({}, description="Defaults of workloads of kind nccl-tests, e.g. steady, scale_up.")

    @field_validator("name")
    @classmethod
    def _name(cls, text: str | None) -> str | None:
        return text if text is None else checked_name(text)
