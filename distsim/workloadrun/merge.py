"""Merging plain data: sections by key, lists of named objects by name, everything else replaced.

Source: NVIDIA/cluster-readiness-engine, OverrideSpec and how its dependencies are merged.
"""

from __future__ import annotations

from typing import Any


def merged(base: Any, change: Any) -> Any:
    """`base` with `change` merged into it; neither is altered. A null in a section deletes its key."""
    if isinstance(change, dict):
        return _section(base if isinstance(base, dict) else {}, change)
    if isinstance(change, list):
        named, changes = _by_name(base), _by_name(change)
        if named is not None and changes is not None:
            return _named(named, changes)
        return [merged(None, entry) for entry in change]
    return change


def below(data: Any, *keys: str) -> dict[str, Any]:
    """The section under some keys, empty if there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _section(base: dict[Any, Any], change: dict[Any, Any]) -> dict[Any, Any]:
    found = dict(base)
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(base.get(key), value)
    return found


def _named(base: dict[str, Any], changes: dict[str, Any]) -> list[Any]:
    """Entries of `base` in their order, changed where a change has their name; then the new ones in theirs."""
    kept = [merged(entry, changes[name]) if name in changes else entry for name, entry in base.items()]
    return kept + [merged(None, entry) for name, entry in changes.items() if name not in base]


def _by_name(entries: Any) -> dict[str, Any] | None:
    """Entries by their name; None if they are no list, an empty one, or not all named differently."""
    if not isinstance(entries, list) or not entries:
        return None
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in entries]
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        return None
    return dict(zip(map(str, names), entries))
