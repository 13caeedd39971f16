"""`distsim results show`: one run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from .results_shared import find_run, form_option, options, run_argument, runs_option, show_json, show_table, text

if TYPE_CHECKING:
    from distsim.results.run import Run

PARAMETERS = ("fabric", "workload")


@click.command("show", short_help="One run: status, results, records and files.")
@options(run_argument, runs_option, form_option)
def command(run: str, runs_dir: str, form: str) -> None:
    """Show how RUN stands, what it came to, and its records with rows and bytes. In JSON with its whole run.json."""
    found = find_run(run, runs_dir)
    records = _records(found)
    if form == "json":
        show_json({"directory": str(found.directory), "name": found.name, "status": found.status, "records": records,
                   "info": found.info})
        return
    info, counts, times = found.info, found.info.get("counts") or {}, found.info.get("fct_us") or {}
    flows = info.get("flows") or {}
    facts = [("directory", found.directory), ("status", found.status), ("why", info.get("error")),
             ("ranks", info.get("ranks")), ("seed", info.get("seed")),
             ("configuration", str(info.get("configuration_sha256", ""))[:16]),
             *((name, _short((info.get("configuration") or {}).get(name))) for name in PARAMETERS),
             ("flows", f"{flows['finished']:,} of {flows['total']:,} finished" if flows else None),
             ("completion time (us)", "   ".join(f"{name} {value:,.2f}" for name, value in times.items())),
             ("packets", ", ".join(f"{counts[name]:,} {name.replace('_', ' ')}" for name in
                                   ("created", "delivered", "trimmed", "dropped", "in_flight") if name in counts)),
             ("simulated s", info.get("simulated_s")), ("wall s", (info.get("wall") or {}).get("total_s"))]
    show_table(["what", "value"], [(name, value) for name, value in facts if value not in (None, "")],
               title=found.name, left=["what", "value"])
    show_table(["record", "shards", "rows", "bytes", "written"],
               [(one["record"], one["shards"], one["rows"], one["bytes"], one["written"]) for one in records],
               left=["record", "written"], notes=[f"warning: {line}" for line in info.get("warnings") or ()])


def _records(run: Run) -> list[dict[str, Any]]:
    """Of every record: shards, rows (counted when there is no run.json), bytes, row_for and written of its schema."""
    from distsim.results.scan import complete_rows

    rows = {said["file"]: said["rows"] for said in run.info.get("files") or ()}
    found = []
    for record in run.records():
        files, schema = run.files(record), run.schema(record)
        counted = [rows.get(os.path.basename(file.path)) for file in files]
        found.append({"record": record, "shards": len(files), "bytes": sum(os.path.getsize(f.path) for f in files),
                      "rows": sum(max(0, complete_rows(file.path)) if count is None else count
                                  for file, count in zip(files, counted)),
                      "row_for": schema.row_for, "written": schema.written})
    return found


def _short(section: Any) -> str:
    """The values of a section that say something, on one line."""
    if not isinstance(section, dict):
        return ""
    parts = section.get("parts")
    if isinstance(parts, list):
        return " + ".join(_short(part) for part in parts)
    said = [f"{name} {text(value)}" for name, value in section.items()
            if value not in (None, "", [], {}, "0ps", 0) and not isinstance(value, (list, dict))]
    return ", ".join(said)
