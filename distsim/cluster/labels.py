"""Labels, annotations and resource amounts as Kubernetes writes them, and the labels that a node gets by itself.

Keys: the GPU Operator's nvidia.com/gpu.*, and what NVIDIA/cluster-readiness-engine reads (pkg/controller/helpers.go,
pkg/gpu/product.go, pkg/cluster/cluster.go).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

HOSTNAME = "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
GPU_PRESENT, GPU_PRODUCT, GPU_COUNT = "nvidia.com/gpu.present", "nvidia.com/gpu.product", "nvidia.com/gpu.count"
RACK = "topology.kubernetes.io/rack"
# Where the platforms' nodes say which rack they are in.
RACK_OF_PLATFORM = {
    "aws": "topology.k8s.aws/network-node-layer-1",
    "gcp": "cloud.google.com/gce-topology-block",
    "azure": "kubernetes.azure.com/ppg",
}
_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_AMOUNT = re.compile(r"(\d{1,18})(?:\.0+)?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P|m|)", re.ASCII)
_FACTOR: dict[str, Decimal | int] = {
    "m": Decimal("0.001"), "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}
MOST_AMOUNT = 2**63 - 1


def architecture(product: str) -> str:
    """The GPU architecture that a value of nvidia.com/gpu.product means, ``unknown`` for an empty one.

    The prefix NVIDIA- goes, then the first part before a hyphen counts, in lower case; RTX-PRO-6000 is rtxpro6000.
    """
    rest = product.removeprefix("NVIDIA-")
    if rest.upper().startswith("RTX-PRO-6000"):
        return "rtxpro6000"
    return (rest.split("-")[0] or rest).lower() or "unknown"


def not_empty(data: Any) -> Any:
    """A list as it stands in a file; ValueError for an empty one."""
    if isinstance(data, list) and not data:
        raise ValueError("the list is empty; it needs at least one entry")
    return data


def check_key(key: Any, what: str) -> str:
    """The key of a label, annotation, taint or resource; ValueError if it is none."""
    prefix, slash, name = str(key).rpartition("/")
    fits = _PART.fullmatch(name) and len(name) <= 63
    if slash:
        fits = fits and _DOMAIN.fullmatch(prefix) and len(prefix) <= 253
    if not isinstance(key, str) or not fits:
        raise ValueError(f"{key!r} is not a {what} key; valid: an optional DNS name and /, then at most 63 letters, "
                         "digits, -, _ and .")
    return key


def check_value(value: Any, key: str, what: str = "label") -> str:
    """The value of a label or taint; ValueError if it is none."""
    if not isinstance(value, str):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        raise ValueError(f"{key}: {shown} is not text; write it in quotes, e.g. \"{shown.strip(chr(39))}\"")
    if value and (len(value) > 63 or not _PART.fullmatch(value)):
        raise ValueError(f"{key}: {value!r} is not a {what} value; valid: at most 63 letters, digits, -, _ and ., "
                         "a letter or digit at both ends")
    return value


def check_labels(data: Any) -> Any:
    """Labels as they stand in a file; a value of nothing removes what the node would get by itself."""
    if isinstance(data, dict):
        for key, value in data.items():
            check_key(key, "label")
            if value is not None:
                check_value(value, key)
    return data


def check_annotations(data: Any) -> Any:
    """Annotations as they stand in a file."""
    if isinstance(data, dict):
        for key, value in data.items():
            check_key(key, "annotation")
            if value is not None and not isinstance(value, str):
                check_value(value, key, "annotation")
    return data


def parse_amounts(data: Any) -> Any:
    """Amounts by resource name: whole numbers, or text such as 8, 96 and 2Ti; ValueError for anything else."""
    if not isinstance(data, dict):
        return data
    return {check_key(key, "resource"): parse_amount(value, key) for key, value in data.items()}


def parse_amount(value: Any, key: str) -> int:
    """A whole amount of a resource, bytes for memory."""
    found = _AMOUNT.fullmatch(str(value)) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    amount = Decimal(found[1]) * _FACTOR[found[2]] if found else Decimal(-1)
    if not 0 <= amount <= MOST_AMOUNT or amount != amount.to_integral_value():
        raise ValueError(f"{key}: {value!r} is not a whole amount of 0 or more; valid: e.g. 8, 192 or 2Ti")
    return int(amount)


OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def expression_holds(labels: Mapping[str, str], key: str, operator: str, values: Collection[str] = ()) -> bool:
    """One requirement on labels, as Kubernetes' selectors read it: NotIn also holds when the label is missing."""
    if operator in ("In", "NotIn"):
        return (key in labels and labels[key] in values) == (operator == "In")
    return (key in labels) == (operator == "Exists")


def rack_key(platform: str) -> str:
    """The label key under which nodes of a platform say their rack."""
    return RACK_OF_PLATFORM.get(platform, RACK)


def checked_name(text: str) -> str:
    """A name of at most 63 letters, digits, -, _ and .; ValueError if it is none."""
    if len(text) > 63 or not _PART.fullmatch(text):
        raise ValueError(f"{text!r} is not a name; valid: 1 to 63 letters, digits, -, _ and ., a letter or digit at "
                         "both ends")
    return text
