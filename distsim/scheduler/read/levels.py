"""resource-level-config: the levels of the network by tree (cluster.md section 3)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Levels = dict[str, tuple[tuple[str, int], ...]]
_EXAMPLE = '{"default": {"level1": {"label": "huawei.com/topotree.superpodid", "reservedNode": 1}}}'
_LEVEL = re.compile(r"level([1-9][0-9]{0,2})", re.ASCII)


def parse_levels(given: Any, warn: Callable[[str], None]) -> Levels:
    """Tree -> (label, reserved nodes) of level 1, 2, ...; ValueError names the tree, the level and what is wrong.

    given : JSON as text, or the same as a section. warn : takes a line for a reservedNode above level 1, which has no
    effect (mind-cluster's page)."""
    data = given
    if isinstance(given, str):
        try:
            data = json.loads(given, object_pairs_hook=_unique) if given.strip() else {}
        except RecursionError:
            raise ValueError("it is nested too deep") from None
        except json.JSONDecodeError as error:
            raise ValueError(f"no JSON: {error}; valid: e.g. {_EXAMPLE}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{given!r} is no section of trees; valid: e.g. {_EXAMPLE}")
    return {tree: _tree(tree, levels, warn) for tree, levels in data.items()}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r} is given twice")
        found[key] = value
    return found


def _tree(tree: str, levels: Any, warn: Callable[[str], None]) -> tuple[tuple[str, int], ...]:
    if not isinstance(levels, dict) or not levels:
        raise ValueError(f"tree {tree!r} has no levels; valid: e.g. {_EXAMPLE}")
    numbers: dict[int, Any] = {}
    for name, level in levels.items():
        found = _LEVEL.fullmatch(str(name))
        if found is None:
            raise ValueError(f"{tree}: {name!r} is no level; valid: level1, level2, ...")
        numbers[int(found[1])] = level
    for number in range(1, len(numbers) + 1):
        if number not in numbers:
            raise ValueError(f"{tree}: level{number} is missing; levels are consecutive from level1")
    return tuple(_level(tree, number, numbers[number], warn) for number in range(1, len(numbers) + 1))


def _level(tree: str, number: int, level: Any, warn: Callable[[str], None]) -> tuple[str, int]:
    name = f"{tree}: level{number}"
    if not isinstance(level, dict):
        raise ValueError(f"{name} is {level!r}; valid: {{\"label\": ..., \"reservedNode\": ...}}")
    unknown = next((key for key in level if key not in ("label", "reservedNode")), None)
    if unknown is not None:
        raise ValueError(f"{name}: unknown key {unknown!r}; valid: label, reservedNode")
    label, reserved = level.get("label"), level.get("reservedNode", 0)
    if not isinstance(label, str) or not label:
        raise ValueError(f"{name}: label {label!r} is no label key; valid: e.g. huawei.com/topotree.superpodid")
    if isinstance(reserved, bool) or not isinstance(reserved, int) or reserved < 0:
        raise ValueError(f"{name}: reservedNode {reserved!r} is not an integer of 0 or more")
    if reserved and number > 1:
        warn(f"{name}: reservedNode has no effect; nodes are reserved at level1 only")
        reserved = 0
    return label, reserved
