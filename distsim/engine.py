"""A run from a configuration to its files: set up, simulate, record, sum up. The same code on every rank."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DistsimError, InputError
from .limits import Limits

if TYPE_CHECKING:
    from .config import Config


@dataclass
class Result:
    """What a run came to. `lines` (the final table) and `info` (run.json) are filled on rank 0."""

    exit_code: int
    lines: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)


def run_config(config: Config, output: Path, *, ranks_expected: int | None = None, quiet: bool = False,
               overwrite: bool = False, limits: Limits | None = None) -> Result:
    """Run a configuration and write its records into `output`.

    Under an MPI launcher every rank calls this alike. ranks_expected : number of ranks asked for, None for any.
    quiet : no progress. overwrite : replace another run's files in `output`. limits : of the projected length.

    Raises InputError (the same on every rank) for what is the user's to mend. After a bug the traceback is printed and
    every rank is ended.
    """
    from .parallel.comm import world

    comm = world()
    if ranks_expected not in (None, comm.size):
        raise InputError(f"{ranks_expected} ranks were asked for, but {comm.size} were started", where="--ranks")
    from .records import release
    from .session import Session

    try:
        with StopSignals() as signals:
            session = Session(config, Path(output), comm, quiet, signals, limits)
            session.set_up(overwrite)
            session.simulate()
            return session.finish()
    except DistsimError:
        raise                              # agreed on: every rank raises it
    except BaseException:
        if comm.size == 1:
            raise
        traceback.print_exc()
        comm.abort(1)
    finally:
        release(output)                    # by now run.json says how the run ended


class StopSignals:
    """Ctrl-C and SIGTERM (what mpirun sends) end a run soon, with what it has; a second Ctrl-C ends it at once."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        from .records.writer import load_polars

        load_polars()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._ask)
            except ValueError:             # not the main thread: the caller keeps its own handling
                break
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: object) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True
