"""Names of tiers, and of the two directions of their ports, as records number them."""

from __future__ import annotations

import polars as pl

TIERS = {3: "NIC", 2: "rack", 1: "fabric", 0: "spine"}  # from the hosts upwards
UP, DOWN = "ul", "dl"
DIRECTIONS = {UP: "up", DOWN: "down"}


def tier_name(tier: str = "tier") -> pl.Expr:
    """The name of the tier whose number stands in a column."""
    return pl.col(tier).replace_strict(TIERS, default="other", return_dtype=pl.String)


def direction() -> pl.Expr:
    """up or down, from the column uldl."""
    return pl.col("uldl").replace_strict(DIRECTIONS, default="all", return_dtype=pl.String)


def port_name() -> pl.Expr:
    """A port as component and interface index, e.g. ``RackSwitch-0 port 3``."""
    return pl.col("component_name") + " port " + pl.col("ifid").cast(pl.String)
