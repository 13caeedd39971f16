"""What a plot is: a module with two functions, and the row that names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run


class NotInRun(InputError):
    """The run has not the record (or section, or log) that a plot is made from. One line: which, and what turns it
    on."""


@dataclass(frozen=True)
class Choice:
    """What of a run a plot shows; a plot that does not take one of them (`Plot.takes`) refuses it.

    nodes : NICs and switches, by name (`*` and `?` match many) or node id; none: all.
    flows : sending PDC ends, ``address:id`` as `local_PDC_ID` of uet-monitor; none: those that sent most.
    top : how many lines, bars or rows of the heat map at most; None: as many as the plot has room for.
    """

    nodes: tuple[str, ...] = ()
    flows: tuple[str, ...] = ()
    top: int | None = None

    @property
    def given(self) -> set[str]:
        """Names of the fields that are set."""
        return {name for name, value in vars(self).items() if value not in ((), None)}


@dataclass(frozen=True)
class Plot:
    """A plot. Its module is its name with ``_`` for ``-``, in this package, and has

    data_of(run, choice) -> polars frame: what is drawn, in the units that its columns' names say. NotInRun when the run
        has not what it takes.
    figure(data, title) -> matplotlib figure of such a frame.

    name : on the command line. title : of the figure. summary : one line for the list. takes : fields of `Choice`.
    """

    name: str
    title: str
    summary: str
    takes: frozenset[str] = frozenset()

    @property
    def identifier(self) -> str:
        """The name as Python spells it."""
        return self.name.replace("-", "_")

    def data_of(self, run: Run, choice: Choice | None = None) -> pl.DataFrame:
        """The frame that the plot is drawn from. NotInRun, or InputError for a choice that it cannot follow."""
        choice = choice or Choice()
        refused = sorted(choice.given - self.takes)
        if refused:
            raise InputError(f"plot {self.name} takes no {_options(refused)}; it takes "
                             f"{_options(self.takes) or 'no choice'}")
        found: pl.DataFrame = self._module.data_of(run, choice)
        return found

    def figure(self, data: pl.DataFrame, title: str) -> Any:
        """The figure of a frame that `data_of` gave. title : shown above it, the run's name for instance."""
        from distsim.results.plots.style import styled

        with styled():
            return self._module.figure(data, f"{title}: {self.title}" if title else self.title)

    @property
    def _module(self) -> Any:
        return import_module(f"distsim.results.plots.{self.identifier}")


def _options(fields: Iterable[str]) -> str:
    """Fields of a Choice as the command line has them."""
    return ", ".join(f"--{name.removesuffix('s')}" for name in sorted(fields))


def choice_of(node: str | int | Sequence[str | int] = (), flow: str | Sequence[str] = (),
              top: int | None = None) -> Choice:
    """A Choice from what a notebook gives: one value or several."""
    nodes = [node] if isinstance(node, (str, int)) else node
    flows = [flow] if isinstance(flow, str) else flow
    return Choice(tuple(map(str, nodes)), tuple(flows), top)
