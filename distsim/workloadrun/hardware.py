"""Platforms, accelerators, and what a node of each kind has.

Source: NVIDIA/cluster-readiness-engine, platform detection and its table of GPU defaults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distsim.cluster.labels import GPU_PRODUCT
from distsim.cluster.labels import architecture as architecture_label
from distsim.errors import InputError

from .labels import quoted
from .spec import WorkloadRunSpec

if TYPE_CHECKING:
    from distsim.cluster import Node

PLATFORMS = ("aws", "gcp", "azure", "oci", "onprem", "togetherai", "mistral", "forge", "nscale")
SIMULATED = "sim"                                   # the platform of a simulated cluster, accepted besides
UNKNOWN_GPUS = 4                                    # per node, for an accelerator that the table does not know
_MULTI_NODE_NVLINK = ("gb200", "gb300")
# architecture -> GPUs and Mellanox NICs of a node
_DEFAULTS = {"h100": (8, 8), "a100": (8, 8), "l40s": (8, 8), "l40": (8, 4), "b200": (8, 8), "h200": (8, 8),
             "gb200": (4, 8), "gb300": (4, 8), "rtxpro6000": (8, 0)}
_ON_PLATFORM = {("oci", "l40s"): (4, 2), ("oci", "gb200"): (4, 0), ("oci", "gb300"): (4, 4)}
ARCHITECTURES = tuple(sorted(_DEFAULTS))


@dataclass(frozen=True)
class Hardware:
    """What a job asks of every node.

    platform, architecture : empty if unknown. gpus, nics : per node. multi_node_nvlink : NCCL_MNNVL_ENABLE.
    """

    platform: str = ""
    architecture: str = ""
    gpus: int = UNKNOWN_GPUS
    nics: int = 0
    multi_node_nvlink: bool = False


def architecture_of(product: str) -> str:
    """Architecture that a product label or name means, ``NVIDIA GB300`` too; empty for an empty one."""
    return architecture_label(product.strip().replace(" ", "-")) if product else ""


def check_platform(name: str | None) -> str:
    """A value of --platform, empty for none; InputError if there is no such platform."""
    if not name:
        return ""
    if name not in (*PLATFORMS, SIMULATED):
        raise InputError(f"invalid --platform {quoted(name)}: must be one of {', '.join(PLATFORMS)}")
    return name


def check_architecture(value: str | None) -> str:
    """The architecture that a value of --gpu-arch means, empty for none; InputError if the table has none such."""
    if not value:
        return ""
    architecture = architecture_of(value)
    if architecture not in _DEFAULTS:
        raise InputError(f"invalid --gpu-arch {quoted(value)}: must be one of {', '.join(ARCHITECTURES)}")
    return architecture


def usual_gpus(nodes: Iterable[Node]) -> int | None:
    """GPUs that most of the nodes have (of equals, what the earlier ones have), None if none has any."""
    counts = Counter(node.gpus for node in nodes if node.gpus > 0)
    return max(counts, key=counts.__getitem__) if counts else None


def hardware_of(spec: WorkloadRunSpec, platform: str = "", architecture: str = "",
                gpus_of_nodes: int | None = None) -> Hardware:
    """What a run asks of a node: its own fields, else the table's, else what the nodes have.

    architecture : empty: that of the target's product label, if it selects one. gpus_of_nodes : see `usual_gpus`.
    """
    product = spec.target.nodeSelector.get(GPU_PRODUCT, "")
    architecture = architecture or architecture_of(product)
    unknown = (gpus_of_nodes or UNKNOWN_GPUS, 0)
    gpus, nics = _ON_PLATFORM.get((platform, architecture), _DEFAULTS.get(architecture, unknown))
    wanted = spec.enableMNNVL
    return Hardware(platform, architecture,
                    gpus if spec.gpusPerNode is None else spec.gpusPerNode,
                    nics if spec.mlnxPerNode is None else spec.mlnxPerNode,
                    architecture in _MULTI_NODE_NVLINK if wanted is None else wanted)
