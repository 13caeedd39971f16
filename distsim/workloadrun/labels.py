"""Labels of the workload object: which are valid, how many, and how the queue's label joins them.

Source: NVIDIA/cluster-readiness-engine, workload object labels (reserved keys, limit of 32, insert / same / conflict).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from distsim.cluster.labels import check_key, check_value
from distsim.errors import InputError

PATH = "spec.jobTemplate.spec.workloadMetadata.labels"
MOST_LABELS = 32
MANAGED_BY = "app.kubernetes.io/managed-by"
RESERVED_PREFIX = "nvcre.nvidia.com/"


def _only_texts(data: Any) -> Any:
    for key, value in data.items() if isinstance(data, dict) else ():
        if not isinstance(value, str):
            shown = json.dumps(value) if isinstance(value, (bool, int, float)) else "this"
            raise ValueError(f"{key}: {shown} is not text; write it in quotes")
    return data


Texts = Annotated[dict[str, str], BeforeValidator(_only_texts)]     # an error names the key


def quoted(value: Any) -> str:
    """A value between double quotes."""
    return json.dumps(value if isinstance(value, str) else str(value), ensure_ascii=False)


def reserved(key: str) -> bool:
    """Whether a label key belongs to the controller."""
    return key == MANAGED_BY or key.startswith(RESERVED_PREFIX)


def check_labels(labels: Any) -> None:
    """InputError for the first thing wrong with the workload's labels, keys in sorted order."""
    if not isinstance(labels, Mapping):
        raise InputError(f"{PATH}: {labels!r} is not a section of keys")
    if len(labels) > MOST_LABELS:
        raise InputError(f"{PATH}: {len(labels)} labels exceeds the maximum of {MOST_LABELS}")
    for key in sorted(labels):
        place = f"{PATH}[{quoted(key)}]"
        if reserved(key):
            raise InputError(f"{place}: label key is reserved for the controller: {quoted(MANAGED_BY)} and any key "
                             f"under {quoted(RESERVED_PREFIX)} identify workload ownership")
        try:
            check_key(key, "label")
        except ValueError as error:
            raise InputError(f"{place}: invalid label key: {error}") from None
        try:
            check_value(labels[key], key)
        except ValueError as error:
            raise InputError(f"{place}: invalid label value {quoted(labels[key])}: {error}") from None


def with_label(labels: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
    """`labels` with key=value in them: a missing key is added, the same value is accepted, another is an InputError."""
    if key in labels and labels[key] != value:
        raise InputError(f"{PATH}[{quoted(key)}]: conflicting label value {quoted(labels[key])}, "
                         f"expected {quoted(value)}")
    return {**labels, key: value}
