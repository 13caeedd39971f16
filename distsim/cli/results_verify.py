"""`distsim results verify`: a run's files against its run.json."""

from __future__ import annotations

import dataclasses

import click

from .results_shared import find_run, form_option, options, run_argument, runs_option, show_json, show_table


@click.command("verify", short_help="Check files, checksums and sums; exit code 5 when one does not hold.")
@options(run_argument, runs_option, form_option)
@click.option("--all", "everything", is_flag=True, help="Show the checks that hold, too.")
def command(run: str, runs_dir: str, everything: bool, form: str) -> int:
    """Check that the files of RUN are what run.json says (there, bytes, rows, SHA-256), that no shard is missing and no
    row cut off, and that packets and messages add up across the records.

    Exit code: 0 all holds, 5 something does not, 2 input error.
    """
    from distsim.results.compare import EXIT_DIFFERENT
    from distsim.results.verify import verify

    found = find_run(run, runs_dir)
    checks = verify(found)
    wrong = [check for check in checks if not check.holds]
    if form == "json":
        show_json({"run": str(found.directory), "name": found.name, "status": found.status, "holds": not wrong,
                   "checks": [dataclasses.asdict(check) for check in checks]})
    else:
        shown = checks if everything else wrong
        if shown:
            show_table(["of", "check", "holds", "found"], [(one.of, one.what, "yes" if one.holds else "NO", one.detail)
                                                           for one in shown], left=["of", "check", "holds", "found"])
        click.echo(f"{found.name} ({found.status}): {len(checks) - len(wrong)} of {len(checks)} checks hold")
    return EXIT_DIFFERENT if wrong else 0
