"""`distsim serve`: the HTTP API and the page over a directory of runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

TOKEN = "DISTSIM_API_TOKEN"


@click.command("serve", short_help="Serve a directory of runs: HTTP API and page.")
@click.argument("runs_dir", type=click.Path())
@click.option("--host", default="127.0.0.1", show_default=True, help="Name or address to listen on; one that is not "
                                                                    f"loopback needs {TOKEN}.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one.")
@click.option("--max-runs", type=click.IntRange(min=1), default=4, show_default=True, help="Simulations at once.")
@click.option("--max-ranks", type=click.IntRange(min=1), help="Ranks of a simulation; the machine's cores (at least 4) "
                                                              "by default.")
@click.option("--plugins", is_flag=True, help="Let configurations name plug-in files in RUNS_DIR/inputs. They run as "
                                              "code.")
def command(runs_dir: str, host: str, port: int, max_runs: int, max_ranks: int | None, plugins: bool) -> int:
    """Serve the runs in RUNS_DIR until Ctrl-C. Simulations that were started go on; the next server finds them.

    Requests must carry the token in the environment variable DISTSIM_API_TOKEN, if it is set (Authorization: Bearer).
    Configurations may name files in RUNS_DIR/inputs and the shipped ones.
    """
    from distsim.server.serve import serve
    from distsim.server.settings import Settings, runs_directory

    from .configs_command import candidates

    folders = tuple(Path(os.path.realpath(folder)) for folder in candidates() if folder.is_dir())[:1]
    more = {"most_ranks": max_ranks} if max_ranks is not None else {}
    settings = Settings(runs_directory(runs_dir), token=os.environ.get(TOKEN, ""), host=host, folders=folders,
                        most_runs=max_runs, plugins=plugins, **more)
    serve(settings, port, click.echo)
    return 0
