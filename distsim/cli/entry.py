"""From the command line to an exit code: errors become one line each, on rank 0 only, and all ranks end alike."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from distsim.errors import EXIT_INPUT, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_OK, DistsimError

from .app import app
from .launcher import world


def main() -> NoReturn:
    """Entry point of the command `distsim`; ends the process."""
    _interrupt_on_every_signal()
    sys.exit(run_cli())


def run_cli(arguments: Sequence[str] | None = None) -> int:
    """Run one command (`sys.argv` by default) and return its exit code. Errors are printed, not raised."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app.main(args=arguments or ["--help"], prog_name="distsim", standalone_mode=False)
        return code if isinstance(code, int) else EXIT_OK
    except DistsimError as error:
        lines = [str(entry) for entry in getattr(error, "problems", [error])]
        return _leave([f"distsim: error: {line}" for text in lines for line in text.splitlines()], error.exit_code)
    except click.UsageError as error:
        hint = [f"Try '{error.ctx.command_path} --help'."] if error.ctx else []
        return _leave([f"distsim: error: {error.format_message()}", *hint], EXIT_INPUT)
    except click.ClickException as error:
        return _leave([f"distsim: error: {error.format_message()}"], EXIT_INPUT)
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_INTERNAL
    except Exception:
        return _leave([traceback.format_exc().rstrip()], EXIT_INTERNAL)


def _interrupted() -> int:
    """Under mpirun it is mpirun that ends us, after an error of another rank perhaps, so there is nothing to say."""
    if world() is None:
        _print(["distsim: interrupted"])
    return EXIT_INTERRUPTED


def _leave(lines: list[str], code: int) -> int:
    """Print the lines on rank 0 and wait for the other ranks; if they are not on their way out, end them all."""
    here = world()
    if here is None or here.rank == 0:
        _print(lines)
    if here is None or here.size == 1:
        return code
    try:
        from distsim.parallel.leave import abort, all_leaving
    except ImportError:
        return code
    if not all_leaving():
        if here.rank != 0:
            _print([f"{line} (rank {here.rank})" for line in lines])
        abort(code)
    return code


def _print(lines: list[str]) -> None:
    for line in lines:
        click.echo(line, err=True)


def _interrupt_on_every_signal() -> None:
    """SIGTERM, and SIGUSR1 under mpirun (which passes that one on to its ranks), act like Ctrl-C."""
    def interrupt(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGTERM, interrupt)
    if world() is not None:
        signal.signal(signal.SIGUSR1, interrupt)
