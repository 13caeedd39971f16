"""The records as Markdown, from their schemas: ``python -m distsim.records.describe`` brings README.md up to date."""

from __future__ import annotations

from pathlib import Path

from distsim.records.registry import SCHEMAS
from distsim.records.schema import RecordSchema

BEGIN, END = "<!-- columns: begin -->", "<!-- columns: end -->"
README = Path(__file__).with_name("README.md")


def markdown() -> str:
    """One section a record: when it is written, and a table of its columns."""
    return "\n\n".join(_section(schema) for schema in SCHEMAS.values())


def _section(schema: RecordSchema) -> str:
    count = len(schema.columns)
    about = f"A row for {schema.row_for}, written {schema.written}; {_turned_on(schema)}. {count} columns."
    if schema.wall_clock:
        about += " It holds figures of the machine: runs on different numbers of ranks need not write equal rows."
    if schema.by_process:
        about += f" Only `{'`, `'.join(schema.by_process)}` depends on the number of processes."
    lines = [f"### {schema.name}", "", about, "", "| # | Column | Type | Unit | Meaning |", "|---|---|---|---|---|"]
    lines += [f"| {number} | `{column.name}` | {column.dtype} | {column.unit or '-'} | {column.meaning} |"
              for number, column in enumerate(schema.columns, 1)]
    return "\n".join(lines)


def _turned_on(schema: RecordSchema) -> str:
    if schema.whole_run:
        return "process 0 writes it for the whole run, as shard 0, when the workload is one of ranks"
    if not schema.switch:
        return "always on"
    place = "a simulation parameter" if schema.global_switch else "an attribute of each NIC"
    return f"turned on by `{schema.switch}`, {place} (default {str(schema.default).lower()})"


def with_columns(readme: str) -> str:
    """The README's text with the part between the two marks replaced."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{markdown()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_columns(README.read_text()))
