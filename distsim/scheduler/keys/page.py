"""keys.md: the table of keys for people, made from the tables that the program reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from distsim.scheduler.keys.policies import POLICIES
from distsim.scheduler.keys.table import ANNOTATION, KEYS, LABEL
from distsim.scheduler.read.arguments import INIT_PARAMS, PLUGIN_ARGUMENTS, SWITCHES, Argument

PAGE = Path(__file__).parent.parent / "keys.md"
_HEAD = """# Labels, annotations and scheduler settings that act

Made by `python -m distsim.scheduler.keys`; do not edit. Sources: seed 001, cluster.md, mind-cluster.
Modules are below `distsim/scheduler`, tests below `tests`.
A label or annotation counts from the job, else from its PodGroup, else from the templates of its pods. Any other key is
read and named as not acted on."""


def page() -> str:
    """The text of keys.md."""
    return "\n".join(_lines()) + "\n"


def write_page() -> Path:
    """Write keys.md beside the package; its path."""
    PAGE.write_text(page())
    return PAGE


def _lines() -> Iterator[str]:
    yield _HEAD
    for title, place in (("Labels", LABEL), ("Annotations", ANNOTATION)):
        yield f"\n## {title}\n"
        rows = [(f"`{key.name}`", key.values, key.does, key.source, key.module, key.test)
                for key in KEYS.values() if key.place == place]
        yield from _table(("key", "values", "what it does", "source", "module", "test"), rows)
    yield "\n## huawei.com/schedule_policy\n"
    yield from _table(("value", "what it means", "module", "test"),
                      [(f"`{row.name}`", row.chips, row.module, row.test) for row in POLICIES])
    yield "\n## volcano-scheduler-configmap\n"
    yield "`configurations`, `init-params`:\n"
    yield from _table(("argument", "values", "what it does", "acts"),
                      [(f"`{name}`", row.valid, row.does, _acts(row)) for name, row in INIT_PARAMS.items()])
    switches = ", ".join(f"`{name}`" for name in SWITCHES)
    yield f"\nArguments of plugins; every plugin takes the switches {switches}:\n"
    yield from _table(("plugin", "argument", "values", "acts"),
                      [(plugin, f"`{name}`", row.valid, _acts(row))
                       for plugin, rows in PLUGIN_ARGUMENTS.items() for name, row in rows.items()])


def _acts(row: Argument) -> str:
    return "yes" if row.acts else "no; it is named"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
