"""Labels and annotations of a job out of those of the job, its PodGroup and the templates of its pods.

Seed 001: the tables of PodGroup and Pod have the same labels. The job's own value wins, then its PodGroup's; among
templates the first one's, and a contradiction between two of them is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from distsim.scheduler.keys import keys_of


@dataclass(frozen=True)
class Layer:
    """The labels or annotations of a template. name : of the task. chips : whether its pods have chips."""

    name: str
    texts: Mapping[str, str]
    chips: bool


def fold(own: Mapping[str, str], group: Mapping[str, str], templates: Sequence[Layer], place: str,
         warn: Callable[[str], None]) -> dict[str, str]:
    """The labels or annotations (`place`) of a job. own : of the job. group : of its PodGroup. warn : takes a line.

    Keys outside the table count from templates only where all that have them agree."""
    table = keys_of(place)
    found = dict(group) | dict(own)
    for key in dict.fromkeys(key for layer in templates for key in layer.texts):
        if key in found:
            continue
        row = table.get(key)
        having = [layer for layer in templates if key in layer.texts]
        if row is not None and row.every_template:
            having = _of_all(having, templates)
        values = list(dict.fromkeys(layer.texts[key] for layer in having))
        if len(values) > 1 and row is not None:
            first, second = having[0], next(one for one in having if one.texts[key] != having[0].texts[key])
            warn(f"{place} {key} is {first.texts[key]!r} in the template of {first.name} and {second.texts[key]!r} in "
                 f"that of {second.name}; {first.texts[key]!r} counts")
        if values and (row is not None or len(values) == 1):
            found[key] = values[0]
    return found


def _of_all(having: Sequence[Layer], templates: Sequence[Layer]) -> list[Layer]:
    """The templates that have a key, if all whose pods have chips (or all, if none has) are among them."""
    needed = [layer for layer in templates if layer.chips] or list(templates)
    return list(having) if all(layer in having for layer in needed) else []
