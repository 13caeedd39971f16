"""The processes of a parallel run: rank 0 reads, decides and writes; all of them take part in its simulations."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from distsim.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, DistsimError
from distsim.limits import Limits
from distsim.workloadrun.simulate import Ranks

T = TypeVar("T")
_SIMULATE, _STOP = "simulate", "stop"


class Crew:
    """limits, quiet : as for `distsim run`, of every simulation."""

    def __init__(self, limits: Limits | None = None, quiet: bool = False):
        self.limits, self.quiet = limits or Limits(), quiet
        self._ranks = Ranks()
        self._failed = False

    @property
    def first(self) -> bool:
        """Whether this process is rank 0."""
        return self._ranks.first

    def lead(self, run: Callable[[], T]) -> T | None:
        """Do something on rank 0 that may call `simulate`, and give what it gives; the other ranks take part until it
        is over and get None. An error is raised on every rank."""
        if not self._ranks.first:
            self._follow()
            return None
        error: DistsimError | None = None
        found: T | None = None
        try:
            found = run()
        except DistsimError as wrong:
            if self._failed:
                raise
            error = wrong
        except KeyboardInterrupt:
            self._abort_others(EXIT_INTERRUPTED)
            raise
        except BaseException:
            if self._ranks.comm.size > 1:
                traceback.print_exc()
            self._abort_others(EXIT_INTERNAL)
            raise
        self._ranks.comm.share([_STOP])
        self._ranks.comm.agree(error)
        return found

    def simulate(self, section: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """On rank 0: run a configuration (plain data) on all ranks, records into a folder; run.json."""
        self._ranks.comm.share([_SIMULATE, dict(section), str(folder)])
        return self._run(section, folder)

    def _follow(self) -> None:
        while (told := self._ranks.comm.share(None))[0] == _SIMULATE:
            self._run(told[1], Path(told[2]))
        self._ranks.comm.agree(None)

    def _run(self, section: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        from distsim.config import from_dict
        from distsim.engine import run_config

        try:
            result = run_config(from_dict(dict(section)), folder, quiet=self.quiet, overwrite=True, limits=self.limits)
        except BaseException:
            self._failed = True                  # on every rank alike
            raise
        if result.exit_code == EXIT_INTERRUPTED:
            self._failed = True
            raise KeyboardInterrupt
        return result.info

    def _abort_others(self, code: int) -> None:
        """End ranks that wait for a word that will not come."""
        if self._ranks.comm.size > 1 and not self._failed:
            self._ranks.comm.abort(code)
