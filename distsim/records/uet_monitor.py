"""`uet-monitor`: one row a UET packet that a chosen PDC sends or receives.

Columns, and which of them each kind of row fills: scala-computing/docs, models/scala-uet-nic/records, uet-monitor. A
column that does not apply is empty, but `job_ID` is 0 and `ACK_bitmap_PSNs` is [].

Decisions: `packet_size` is the size on the wire. A probe's answer is an ACK, in and out. The congestion window is a
float, as it is in the model.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from distsim.records.labels import PdcLabels, choose, filled, nic_labels
from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, nanoseconds
from distsim.records.types import MONITOR_ROWS, Shard
from distsim.state import tables as t

if TYPE_CHECKING:
    import polars as pl

DSCP_TYPES = ("NO_TRIM", "TRIMMABLE", "TRIMMABLE_RTX", "TRIMMED", "TRIMMED_LAST_HOP", "CONTROL", "UNRECOGNIZED")
NACK_CODES = ("", "UET_TRIMMED", "UET_TRIMMED_LASTHOP")
PACKET_TYPES = ("RUD_REQUEST", "ACK_CC", "CTRL", "NACK")  # by kind of row // 2

# Kinds of rows (M_*) that fill a column; columns that are not here are filled in every row.
DATA, ACK = (t.M_DATA_TX, t.M_DATA_RX), (t.M_ACK_TX, t.M_ACK_RX)
NACKS, AT_SENDER = (t.M_NACK_TX, t.M_NACK_RX), (t.M_DATA_TX, t.M_ACK_RX, t.M_PROBE_TX)
MARKABLE = (t.M_DATA_RX, t.M_ACK_RX, t.M_PROBE_RX)
ECHOING = (*ACK, *NACKS)

SCHEMA = RecordSchema(
    name="uet-monitor",
    row_for="each UET packet that a chosen PDC sends or receives",
    written="as packets are sent or processed",
    switch="EnableUETMonitor",
    default=False,
    global_switch=False,
    order=("sim_time_ns", "FEP_ID", "packet_UID", "direction"),
    rows=MONITOR_ROWS,
    component="FEP_ID",
    columns=(
        Column("sim_time_ns", FLOAT, "ns", "simulation time of the row: sent packets but NACKs at the end of the wire, "
                                           "received packets and NACKs sent when processed"),
        Column("component_name", TEXT, "", "name of the NIC"),
        Column("FEP_ID", INT, "", "FEP id of the NIC, which is its node id"),
        Column("job_ID", INT, "", "work request of the packet, from 1; 0: none applies"),
        Column("packet_UID", INT, "", "id of the packet, the same for every number of ranks"),
        Column("packet_size", INT, "B", "size on the wire"),
        Column("local_PDC_ID", TEXT, "", "this NIC's end of the PDC, address:id"),
        Column("remote_PDC_ID", TEXT, "", "the other end; its id is 0 at the sender until the first ACK"),
        Column("entropy_value", INT, "", "data: UDP source port; ACK: the value it brings back; probe and NACK: id of "
                                         "the sender's PDC end"),
        Column("RTT_ns", FLOAT, "ns", "RTT sample of an ACK received; empty when it gave none"),
        Column("direction", TEXT, "", "Tx, ReTx (data packet sent again) or Rx"),
        Column("packet_type", TEXT, "", "RUD_REQUEST, ACK_CC, NACK or CTRL (base-RTT probe)"),
        Column("nack_code", TEXT, "", "UET_TRIMMED or UET_TRIMMED_LASTHOP"),
        Column("AR_bit", INT, "", "1: the data packet asks for an ACK"),
        Column("ECN_marked", INT, "", "1: the packet arrived marked"),
        Column("M_Flag", INT, "", "1: the ACK or NACK echoes a mark"),
        Column("NIC_prefetched_bytes", INT, "B", "held in the NIC's prefetch buffer"),
        Column("PDC_prefetched_bytes", INT, "B", "held there for this PDC"),
        Column("bytes_fetched", INT, "B", "of the PDC group: fetched and not acknowledged"),
        Column("bytes_in_flight", INT, "B", "of the PDC group"),
        Column("congestion_window", FLOAT, "B", "of the PDC group"),
        Column("receiver_congestion_window_penalty", INT, "", "0 to 127, in the ACK"),
        Column("DSCP_type", TEXT, "", ", ".join(DSCP_TYPES)),
        Column("PSN", INT, "", "data: its PSN; ACK: the PSN that drew it; NACK: the PSN it reports; probe: its tag"),
        Column("CACK_PSN", INT, "", "cumulative PSN of the ACK"),
        Column("SACK_base_PSN", INT, "", "first PSN of its bitmap"),
        Column("ACK_bitmap_PSNs", TEXT, "", "PSNs that the bitmap acknowledges, [p1:p2:...]"),
    ),
)


class UetMonitor(Record):
    """Turns MONITOR rows into columns; keeps no state but texts."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._names, self._pdcs = nic_labels(shard), PdcLabels()
        self._marks = mark_texts()
        self._dscp = tuple(f"{penalty},{name}" for penalty in ["", *range(128)] for name in DSCP_TYPES)

    def on_rows(self, rows: np.ndarray) -> Columns:
        """One row a packet, in the order given."""
        kind = np.ascontiguousarray(rows["row"])
        sender, ack = _is(AT_SENDER)[kind], _is(ACK)[kind]
        return {
            "sim_time_ns": nanoseconds(rows["time_ps"]),
            "component_name,FEP_ID": self._names.of(rows["node"]),
            "job_ID": np.where(sender, rows["job"], 0),
            "packet_UID": rows["uid"],
            "packet_size": rows["size_bytes"],
            "local_PDC_ID,remote_PDC_ID": self._pdcs.pairs(rows),
            "entropy_value": entropy_value(rows),
            "RTT_ns": filled(nanoseconds(rows["rtt_ps"]), (kind == t.M_ACK_RX) & (rows["rtt_ps"] >= 0)),
            MARKS: choose(self._marks, _marks_index(kind, rows["code"], rows["bits"])),
            "NIC_prefetched_bytes": filled(rows["nic_prefetched_bytes"], sender),
            "PDC_prefetched_bytes": filled(rows["pdc_prefetched_bytes"], sender),
            "bytes_fetched": filled(rows["fetched_bytes"], sender),
            "bytes_in_flight": filled(rows["inflight_bytes"], sender),
            "congestion_window": filled(rows["cwnd_bytes"], sender),
            "receiver_congestion_window_penalty,DSCP_type": choose(
                self._dscp, np.where(ack, rows["penalty"] + 1, 0) * len(DSCP_TYPES)
                + np.minimum(rows["role"], len(DSCP_TYPES) - 1)),
            "PSN": rows["psn"],
            "CACK_PSN": filled(rows["cack"], ack),
            "SACK_base_PSN": filled(rows["sack_first"], ack),
            "ACK_bitmap_PSNs": bitmap_texts(rows, ack),
        }


# Six adjacent columns that a few bits decide: one text for each combination of kind, NACK code and flag bits.
MARKS = "direction,packet_type,nack_code,AR_bit,ECN_marked,M_Flag"
_CODE_BITS, _FLAG_BITS = 2, 5


def _marks_index(kind: np.ndarray, code: np.ndarray, bits: np.ndarray) -> np.ndarray:
    flags = bits & np.uint16((1 << _FLAG_BITS) - 1)
    known = code & np.uint8((1 << _CODE_BITS) - 1)
    return ((kind.astype(np.uint32) << (_CODE_BITS + _FLAG_BITS)) | (known.astype(np.uint32) << _FLAG_BITS) | flags)


def mark_texts() -> tuple[str, ...]:
    """The text of the columns MARKS for every index that `_marks_index` can give."""
    assert max(t.F_AR, t.F_RTX, t.F_CE, t.F_ECHO) < 1 << _FLAG_BITS and len(NACK_CODES) <= 1 << _CODE_BITS
    texts = []
    for index in range((t.M_NACK_RX + 1) << (_CODE_BITS + _FLAG_BITS)):
        kind, code, bits = index >> (_CODE_BITS + _FLAG_BITS), index >> _FLAG_BITS & 3, index & 31
        direction = "Rx" if kind % 2 else "ReTx" if kind == t.M_DATA_TX and bits & t.F_RTX else "Tx"
        nack = NACK_CODES[min(code, len(NACK_CODES) - 1)] if kind in NACKS else ""
        flags = (_flag(bits, t.F_AR, kind in DATA), _flag(bits, t.F_CE, kind in MARKABLE),
                 _flag(bits, t.F_ECHO, kind in ECHOING))
        texts.append(",".join((direction, PACKET_TYPES[kind // 2], nack, *flags)))
    return tuple(texts)


def _flag(bits: int, mask: int, applies: bool) -> str:
    return str(int(bool(bits & mask))) if applies else ""


def _is(kinds: tuple[int, ...]) -> np.ndarray:
    """bool by kind of row."""
    return np.isin(np.arange(t.M_NACK_RX + 1), kinds)


def entropy_value(rows: np.ndarray) -> np.ndarray:
    """Data and ACKs: the entropy value. Probes and NACKs: the id of the PDC end at their sender."""
    kind = rows["row"]
    sender = np.where(kind % 2 == 0, rows["local_id"], rows["remote_id"])
    return np.where(kind <= t.M_ACK_RX, rows["entropy"], sender)


def bitmap_texts(rows: np.ndarray, where: np.ndarray) -> pl.Series:
    """``[p1:p2:...]`` of the PSNs that the bitmaps of the rows `where` (bool[rows]) acknowledge; [] elsewhere."""
    import polars as pl

    words = np.stack([rows["sack_lo"], rows["sack_hi"]], axis=1).astype("<u4", copy=False)
    chosen = np.flatnonzero(where & (words.view("<u8")[:, 0] != 0))
    none = pl.Series("", ["[]"], dtype=pl.String)
    if not len(chosen):
        return none.new_from_index(0, len(rows))
    bits = np.flatnonzero(np.unpackbits(words[chosen].view(np.uint8), bitorder="little").view(bool))
    row = bits >> 6
    psn = _number_texts(rows["sack_first"][chosen][row] + (bits & 63))
    texts = (pl.DataFrame({"row": pl.Series(row).set_sorted(), "psn": psn})
             .group_by("row", maintain_order=True).agg("psn")
             .select(pl.concat_str(pl.lit("["), pl.col("psn").list.join(":"), pl.lit("]"))).to_series())
    index = np.zeros(len(rows), np.uint32)  # 0: the text of no bits
    index[chosen] = np.arange(1, len(chosen) + 1)
    return pl.concat([none, texts.alias("")]).gather(index)


@cache
def _small_numbers() -> pl.Series:
    import polars as pl

    return pl.int_range(1 << 16, eager=True).cast(pl.String)


def _number_texts(values: np.ndarray) -> pl.Series:
    """Non-negative numbers as text; small ones are looked up, which takes a sixth of the time."""
    import polars as pl

    if values.max() < len(_small_numbers()):
        return _small_numbers().gather(values)
    return pl.Series(values).cast(pl.String)
