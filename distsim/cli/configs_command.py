"""`distsim configs`: list the configurations that come with distsim."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import click


@click.command("configs", short_help="List the shipped configurations.")
def command() -> None:
    """List the shipped configurations: path and what each one is."""
    from distsim.errors import InputError

    folders = [folder for folder in candidates() if folder.is_dir()]
    if not folders:
        raise InputError(f"no folder of configurations; looked in {', '.join(map(str, candidates()))}")
    files = sorted(folders[0].glob("*.yaml"))
    width = max((len(file.name) for file in files), default=0)
    click.echo(f"{folders[0]}:")
    for file in files:
        click.echo(f"  {file.name:<{width}}  {first_comment(file)}".rstrip())


def candidates() -> list[Path]:
    """Where shipped configurations may be: DISTSIM_CONFIGS alone if set, else the checkout, else the installation."""
    chosen = os.environ.get("DISTSIM_CONFIGS")
    if chosen:
        return [Path(chosen)]
    return [Path(__file__).resolve().parents[2] / "configs", Path(sysconfig.get_path("data")) / "share/distsim/configs"]


def first_comment(file: Path) -> str:
    """Text of the first comment line of a file, empty if there is none."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        return next((line.lstrip("#").strip() for line in lines if line.startswith("#")), "")
