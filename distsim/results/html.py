"""How a run shows itself in a notebook."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.results.run import Run


def run_html(run: Run) -> str:
    """A table of how the run stands, and one of its records."""
    flows, times = run.info.get("flows") or {}, run.info.get("fct_us") or {}
    facts = {"status": run.status, "directory": os.fspath(run.directory),
             "flows": f"{flows['finished']:,} of {flows['total']:,} finished" if flows else "",
             "completion time (us)": ", ".join(f"{name} {value:,.2f}" for name, value in times.items()),
             "simulated (s)": str(run.info.get("simulated_s", ""))}
    rows: dict[str, int] = {}
    for said in run.info.get("files") or ():
        rows[said["record"]] = rows.get(said["record"], 0) + int(said["rows"])
    records = [(f"<code>run.frame({name!r})</code>", f"{rows[name]:,}" if name in rows else "",
                html.escape(run.schema(name).row_for)) for name in run.records()]
    return (f"<table><caption>{html.escape(run.name)}</caption>"
            + "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items()
                      if value)
            + "</table><table><tr><th>record</th><th>rows</th><th>a row for</th></tr>"
            + "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in record)}</tr>" for record in records) + "</table>")
