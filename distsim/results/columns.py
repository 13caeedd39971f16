"""What the columns of a record are: names of things, or figures; how figures of several nodes are put together."""

from __future__ import annotations

from collections.abc import Sequence

from distsim.errors import InputError
from distsim.records.schema import FLOAT, INT, TEXT, Column, RecordSchema

TIMES = ("sim_time_sec", "sim_time_ns", "simulation_start_time_us")
NODES = ("node_id", "fep_id", "FEP_ID", "chakra_app_logical_id", "core")
COMPONENT = "component_name"
TIERS = {"spine": 0, "fabric": 1, "rack": 2, "nic": 3}
SUM, MEAN, MIN, MAX = "sum", "mean", "min", "max"
# Integers without a unit name things (node ids, PSNs), but for these and for those with min, mean or max in the name.
PLAIN_FIGURES = frozenset({"AR_bit", "ECN_marked", "M_Flag", "receiver_congestion_window_penalty", "is_valid"})
_WORDS = {"min": MIN, "mean": MEAN, "avg": MEAN, "max": MAX}
_NO_SUM = frozenset({"", "%", "ps", "ns", "us", "ms", "s"})


def time_column(schema: RecordSchema) -> Column | None:
    """The column with the simulation time of a row (s, or ns or us by its name), None for a record without."""
    return next((column for column in schema.columns if column.name in TIMES), None)


def node_column(schema: RecordSchema) -> str:
    """The column with the number of the node (or rank) that a row is of, "" when there is none."""
    names = schema.header
    return next((name for name in NODES if name in names), "")


def figures(schema: RecordSchema) -> list[Column]:
    """The columns that hold figures: numbers that may be averaged, in file order. Times and what names a row (schema's
    order, node, interface, class, PSN) are none."""
    return [column for column in schema.columns if _is_figure(schema, column)]


def over_nodes(column: Column) -> str:
    """How figures of several nodes or ports at one instant become one: sum, mean, min or max.

    Whichever of min, mean (avg) and max comes first in the name says it (as the seed's page on records reads column
    names); shares, times and plain numbers are averaged; what is left (packets, bytes, rates) is added up.
    """
    for word in column.name.split("_"):
        if word in _WORDS:
            return _WORDS[word]
    return MEAN if column.unit in _NO_SUM else SUM


def is_since_start(column: Column) -> bool:
    """Whether a column counts from the start of the run, so that its last row is its total."""
    return "since the start" in column.meaning and over_nodes(column) == SUM


def is_of_interval(column: Column) -> bool:
    """Whether a column counts what came since the previous row, so that its sum is its total."""
    return "since the previous row" in column.meaning and over_nodes(column) == SUM


def component_key(schema: RecordSchema) -> list[str]:
    """The columns that tell apart what is counted (a port, a pool): the schema's order without the time."""
    return [name for name in schema.order if name not in TIMES]


def chosen(schema: RecordSchema, names: Sequence[str] | None) -> list[Column]:
    """Figures by name in the order given, all of them for None; InputError, naming the valid ones, for another."""
    known = {column.name: column for column in figures(schema)}
    wrong = [name for name in names or () if name not in known]
    if wrong:
        raise InputError(f"no figure {wrong[0]!r} in {schema.name}; it has {', '.join(known) or 'none'}",
                         where="column")
    return list(known.values()) if names is None else [known[name] for name in dict.fromkeys(names)]


def tier_number(tier: int | str | None) -> int | None:
    """0 spine, 1 fabric, 2 rack, 3 nic, by number or name; None for all. InputError for another."""
    text = "all" if tier is None else str(tier).lower()
    if text == "all":
        return None
    if text in TIERS:
        return TIERS[text]
    if text.isdecimal() and int(text) in TIERS.values():
        return int(text)
    raise InputError(f"no tier {tier!r}; there are {', '.join(f'{name} ({n})' for name, n in TIERS.items())} and all",
                     where="tier")


def _is_figure(schema: RecordSchema, column: Column) -> bool:
    if column.dtype == TEXT or column.name in TIMES or column.name in schema.order or column.name in NODES:
        return False
    if column.dtype == FLOAT or column.unit or column.name in PLAIN_FIGURES:
        return column.name != "start_time_sec"
    return column.dtype == INT and any(word in _WORDS for word in column.name.split("_"))
