"""`distsim results`: runs that stand on disk. Each subcommand is the attribute `command` of a module of its own,
``distsim/cli/results_<name>.py``, imported when it is used."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from distsim.errors import InputError

# In the order of the help text; others that have a file come after them.
ORDER = ("list", "show", "summary", "series", "export", "sql", "plot", "timeline", "compare", "verify")
_NO_COMMANDS = {"command", "shared"}


class ResultsGroup(click.Group):
    """A group whose commands are found by file name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help text."""
        found = {path.stem.removeprefix("results_") for path in Path(__file__).parent.glob("results_*.py")}
        found -= _NO_COMMANDS
        return [*(name for name in ORDER if name in found), *sorted(found - set(ORDER))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, None if there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        found: click.Command = importlib.import_module(f"distsim.cli.results_{cmd_name}").command
        return found


    def invoke(self, ctx: click.Context) -> Any:
        """The subcommand; a file that cannot be read is the user's to mend."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.filename is None:
                raise
            raise InputError(error.strerror or str(error), file=str(error.filename)) from error
        except Exception as error:
            if not type(error).__module__.startswith("polars."):
                raise
            said = str(error).strip().splitlines()
            raise InputError(f"a record cannot be read ({said[0] if said else type(error).__name__}); "
                             "distsim results verify says which file is damaged") from error


@click.command("results", cls=ResultsGroup, short_help="Look at runs: list, sum up, query, plot, export, compare.")
def command() -> None:
    """Look at runs that stand on disk, also while they go on.

    RUN is a run's directory or its run.json; or the id (or its beginning), path or name of a run below --runs DIR.
    """
