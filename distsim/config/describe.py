"""The attributes as a table, from their declarations: ``python -m distsim.config.describe`` writes attributes.md."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .fields import FIXED
from .names import fields_of, models_in
from .nic import Nic
from .parameters import SimulationParameters
from .problems import bounds_of
from .switch import Switch
from .where import TESTS, WHERE, longest

TABLE = Path(__file__).with_name("attributes.md")
SECTIONS: dict[str, type[BaseModel]] = {"SimulationParameters": SimulationParameters, "nic": Nic, "switch": Switch}
NO_EFFECT = ("inert", "advisory", "read-only", "refused")
HEAD = """# Attributes

Written by `python -m distsim.config.describe`; do not edit. Paths are those of `--set`. Under "Acts": `acts` changes a
run or what is recorded of it; `inert` is accepted and has no effect, as the reference documents; `advisory` is a figure
for the reader; `read-only` and `refused` accept their default only. "ours" marks what the platform does not have.
"""


def attributes(section: str) -> Iterator[tuple[str, FieldInfo]]:
    """Path and declaration of every attribute of a top-level section, in order of declaration."""
    return _below(SECTIONS[section], section)


def _below(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for key, field in fields_of((model,)).items():
        inner, path = models_in(field.annotation), f"{prefix}.{key}"
        if inner:
            yield from _below(inner[0], path)
        else:
            yield path, field


def markdown() -> str:
    """The whole file: a table a section."""
    return "\n".join([HEAD, *(_section(name) for name in SECTIONS)])


def _section(name: str) -> str:
    lines = [f"## {name}", "", "| Attribute | Default | Range | Unit | Acts | Meaning | Where | Test |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [_row(path, field, name) for path, field in attributes(name)]
    return "\n".join(lines) + "\n"


def _row(path: str, field: FieldInfo, section: str) -> str:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    acts = str(extra["acts"])
    module = "-" if acts in NO_EFFECT else longest(path, WHERE) or "-"
    test = longest(path, TESTS) or "-"
    cells = (f"`{path.removeprefix(section + '.')}`", _text(field.default), range_of(field), extra.get("unit") or "-",
             acts, field.description or "", module, test)
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else "(empty)"


def range_of(field: FieldInfo) -> str:
    """The values that an attribute takes, in its unit."""
    annotation = field.annotation
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    if extra["acts"] in FIXED:
        return f"{_text(field.default)} only"
    if "valid" in extra:
        return str(extra["valid"])
    if typing.get_origin(annotation) is typing.Literal:
        return ", ".join(str(choice) for choice in typing.get_args(annotation))
    if annotation is bool:
        return "true, false"
    return bounds_of(field) or "any"


if __name__ == "__main__":
    TABLE.write_text(markdown())
