"""The table of `distsim trace info`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from distsim.workload.chakra.info import Info

MOST_GROUPS = 16


def show(found: list[Info]) -> None:
    """Print one table a source."""
    import sys

    from rich.console import Console

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    for one in found:
        console.print(_table(one))


def _table(info: Info) -> Table:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(f"{info.source} ({info.form}), {_ranks(info.ranks)}"), title_justify="left",
                  box=box.SIMPLE_HEAD)
    table.add_column("what")
    table.add_column("nodes", justify="right")
    table.add_column("bytes", justify="right")
    for name, count in sorted(info.nodes.items()):
        table.add_row(escape(name), f"{count:,}", "")
    for title, rows in (("collective", info.collectives), ("transfer", info.transfers)):
        for name, counts in sorted(rows.items()):
            table.add_row(escape(f"  {title} {name}"), f"{counts['nodes']:,}", f"{counts['bytes']:,}")
    for name, count in list(info.process_groups.items())[:MOST_GROUPS]:
        table.add_row(escape(f"  process group {name!r}"), f"{count:,}", "")
    if len(info.process_groups) > MOST_GROUPS:
        table.add_row(f"  and {len(info.process_groups) - MOST_GROUPS:,} more process groups", "", "")
    for name, number in (("launchers without type and size", info.launchers),
                         ("without a duration, with num_ops or tensor_size", info.estimates),
                         ("dependencies", info.dependencies), ("dangling dependencies", info.dangling)):
        if number or "depend" in name:
            table.add_row(f"  {name}", f"{number:,}", "")
    for name, duration_us in sorted(info.microseconds.items()):
        if duration_us:
            table.add_row(f"  {name} time {duration_us:,} us", "", "")
    return table


def _ranks(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    gaps = ranks != list(range(ranks[0], ranks[-1] + 1)) if ranks else False
    return f"{len(ranks)} ranks" + (f", {ranks[0]} to {ranks[-1]}{' with gaps' * gaps}" if ranks else "")
