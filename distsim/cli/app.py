"""The command `distsim`: a group whose commands are modules of this package, imported when they are used."""

from __future__ import annotations

import importlib

import click

import distsim

COMMANDS = ("run", "validate", "topology", "cluster", "workloadrun", "schedule", "bandwidth", "trace", "results",
            "serve", "configs")


class LazyGroup(click.Group):
    """A group whose command `name` is the attribute `command` of the module ``distsim.cli.<name>_command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"distsim.cli.{cmd_name}_command").command
        return found


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(distsim.__version__, prog_name="distsim")
def app() -> None:
    """Packet simulation of Ultra Ethernet AI clusters.

    Exit codes: 0 all flows finished, 3 the run ended with unfinished flows, 2 configuration or input error, 4 a
    bandwidth threshold does not hold, 5 compared runs differ or a run's files are damaged, 1 internal error,
    130 interrupted.
    """
