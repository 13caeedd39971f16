"""Two real runs and their records side by side, for tests of what the records must have in common."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import distsim

CONFIGS = Path(__file__).parent.parent / "configs"
ON = {"SimulationParameters.EnableTopologyReport": True, "SimulationParameters.EnableTierHop": True}
NIC = "component_name"


@pytest.fixture(scope="module", params=["features", "lossless"], name="run")
def drained_run(request, tmp_path_factory):
    found = distsim.run(CONFIGS / f"{request.param}.yaml", tmp_path_factory.mktemp("run") / request.param, set=ON)
    assert found.info["status"] == "finished" and found.info["counts"]["in_flight"] == 0
    return found


def frame(run, name: str) -> pl.DataFrame:
    found = run.frame(name)
    assert found.height > 0
    return found


def last(run, name: str) -> pl.DataFrame:
    """The rows of the last tick."""
    found = frame(run, name)
    return found.filter(pl.col("sim_time_sec") == found["sim_time_sec"].max())


def by_nic(rows: pl.DataFrame, value: pl.Expr | None = None) -> dict[str, int]:
    """A count or sum a NIC; NICs without rows have 0."""
    found = rows.group_by(NIC).agg((pl.len() if value is None else value.sum()).alias("n"))
    return {f"NIC-{k}": 0 for k in range(16)} | dict(found.select(NIC, "n").iter_rows())


def column(rows: pl.DataFrame, name: str) -> dict[str, int]:
    assert rows[NIC].n_unique() == rows.height
    return dict(rows.select(NIC, name).iter_rows())


def grouped(rows: pl.DataFrame, *key: str) -> list[pl.DataFrame]:
    """The rows of each component in order of time."""
    return [part.sort("sim_time_sec") for part in rows.partition_by(*key)]


def both_ends(run, name: str, *on: str) -> pl.DataFrame:
    """Rows of one end of a link with those of the other (columns `..._peer`) at the same tick."""
    links = frame(run, "topology-report").select(
        "node_id", "peer_node_id", "linkspeed_Gbps", "prop_delay_ns", ifid="dev_id", peer_ifid="peer_dev_id")
    rows = frame(run, name)
    key = ["sim_time_sec", *on]
    return rows.join(links, on=["node_id", "ifid"], how="left").join(
        rows, left_on=["peer_node_id", "peer_ifid", *key], right_on=["node_id", "ifid", *key], how="full",
        suffix="_peer")


def packets(run, direction: str, kind: str) -> pl.DataFrame:
    found = frame(run, "uet-monitor")
    ways = ["Tx", "ReTx"] if direction == "Tx" else ["Rx"]
    return found.filter(pl.col("direction").is_in(ways) & (pl.col("packet_type") == kind))


def whole_bytes(rows: pl.DataFrame, name: str) -> pl.Series:
    return (rows[name] * 1e9).round().cast(pl.Int64)
