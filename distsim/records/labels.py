"""Texts of nodes and PDC ends for batches of rows, as polars Series, without work a row in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from distsim.records.types import Shard

if TYPE_CHECKING:
    import polars as pl


class NodeLabels:
    """A text for each node id, made once."""

    def __init__(self, text_of: Callable[[int], str]) -> None:
        self._text_of = text_of
        self._texts: pl.Series | None = None

    def of(self, nodes: np.ndarray) -> pl.Series:
        """The texts of node ids."""
        import polars as pl

        room = int(nodes.max()) + 1 if len(nodes) else 0
        if self._texts is None or len(self._texts) < room:
            self._texts = pl.Series([self._text_of(node) for node in range(room)], dtype=pl.String)
        return self._texts.gather(np.ascontiguousarray(nodes))


def component_name(shard: Shard, node: int) -> str:
    """The name of a NIC of the whole fabric: `Shard.names`, or ``NIC-<node id>``."""
    return shard.names[node] if shard.names else f"NIC-{node}"


def nic_labels(shard: Shard) -> NodeLabels:
    """The text of the two columns component name and FEP id."""
    return NodeLabels(lambda node: f"{csv_text(component_name(shard, node))},{node}")


class PdcLabels:
    """Both ends of PDCs as the text of two columns, ``<IPv4>:<PDC id>,<IPv4>:<PDC id>``."""

    def __init__(self) -> None:
        from distsim.fabric.address import ip_text  # only when wanted: the package brings pydantic

        self._addresses = NodeLabels(ip_text)

    def pairs(self, rows: np.ndarray) -> pl.Series:
        """The texts of rows with fields node, local_id, peer and remote_id (state.tables.EVENT, MONITOR)."""
        import polars as pl

        local, remote = _pdc_ids()
        return pl.select(pl.concat_str(
            self._addresses.of(rows["node"]), local.gather(np.ascontiguousarray(rows["local_id"])),
            self._addresses.of(rows["peer"]), remote.gather(np.ascontiguousarray(rows["remote_id"])))).to_series()


@functools.cache
def _pdc_ids() -> tuple[pl.Series, pl.Series]:
    """The texts of all PDC ids, for the local and for the remote end."""
    import polars as pl

    ids = pl.select(pl.int_range(1 << 16).cast(pl.String).alias("id")).to_series()
    return (":" + ids + ",").alias("local"), (":" + ids).alias("remote")


def csv_text(text: str) -> str:
    """A text as one CSV field, quoted where it has to be."""
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def choose(texts: tuple[str, ...], index: np.ndarray) -> pl.Series:
    """The text that each number stands for; the last one for a number past them all."""
    import polars as pl

    return pl.Series(texts, dtype=pl.String).gather(np.minimum(index, len(texts) - 1))


def filled(values: np.ndarray, where: np.ndarray) -> pl.Series:
    """The values, empty outside `where` (bool[rows])."""
    import polars as pl

    series = pl.Series(np.ascontiguousarray(values))
    return series.zip_with(pl.Series(where), pl.Series([None], dtype=series.dtype))
