"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from distsim.config import Config

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

config_argument: Decorator = click.argument("config", type=click.Path())
set_option: Decorator = click.option(
    "--set", "assignments", multiple=True, metavar="PATH=VALUE",
    help="Replace one value of the configuration, e.g. workload.size=1MB. May be given several times.")
seed_option: Decorator = click.option("--seed", type=int, help="Replace the seed.")


def ranks_option(text: str) -> Decorator:
    """The option --ranks with the help text of one command."""
    return click.option("--ranks", type=click.IntRange(min=1), help=text)


def read(config: str, assignments: tuple[str, ...], seed: int | None = None) -> Config:
    """The checked configuration; InputError if it cannot be used."""
    from distsim.config import load

    return load(config, [*assignments, *([] if seed is None else [f"seed={seed}"])])
