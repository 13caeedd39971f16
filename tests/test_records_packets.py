"""uet-events and uet-monitor, read back from their files: each column of each kind of row."""

import csv

import numpy as np
import pytest
from records_cases import MS, shard, table

from distsim.fabric.address import ip_text, node_of_ip
from distsim.records import merge, open_records
from distsim.state import tables as t

NIC, PEER = 1, 254  # 32.0.0.2 and 32.0.0.255
EVERY = {"sim_time_ns", "component_name", "FEP_ID", "packet_UID", "packet_size", "local_PDC_ID", "remote_PDC_ID",
         "direction", "packet_type", "DSCP_type", "job_ID", "ACK_bitmap_PSNs"}  # the last two are never empty
SENDER = {"NIC_prefetched_bytes", "PDC_prefetched_bytes", "bytes_fetched", "bytes_in_flight", "congestion_window"}
ACKS = {"entropy_value", "receiver_congestion_window_penalty", "M_Flag", "PSN", "CACK_PSN", "SACK_base_PSN"}
# a row of which every field is set, so that an empty column is left empty by the record
FULL = {"time_ps": 2_064_240_123, "uid": 2**40 + 1, "rtt_ps": 7_123_456, "inflight_bytes": 41_840,
        "fetched_bytes": 83_680, "nic_prefetched_bytes": 8404, "pdc_prefetched_bytes": 4202, "cwnd_bytes": 447_688.25,
        "node": NIC, "peer": PEER, "local_id": 4500, "remote_id": 40_000, "job": 12, "size_bytes": 4202, "entropy": 300,
        "psn": 77, "cack": 70, "sack_first": 71, "sack_lo": 0b100101, "sack_hi": 1 << 31, "penalty": 33,
        "bits": t.F_AR | t.F_CE | t.F_ECHO, "code": 1, "role": t.TRIMMABLE}


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def monitored(directory, *rows, **changes):
    with open_records(shard(directory, **changes), {"EnableUETMonitor": True}) as records:
        records.on_rows("monitor", table(t.MONITOR, *rows))
    return read(directory / "sim-uet-monitor-0.csv")


def filled(row):
    return {name for name, value in row.items() if value != ""}


# ---- uet-monitor -----------------------------------------------------------------------------------------------------

KINDS = {
    t.M_DATA_TX: ("Tx", "RUD_REQUEST", {"entropy_value", "AR_bit", "PSN"} | SENDER),
    t.M_DATA_RX: ("Rx", "RUD_REQUEST", {"entropy_value", "AR_bit", "ECN_marked", "PSN"}),
    t.M_ACK_TX: ("Tx", "ACK_CC", ACKS),
    t.M_ACK_RX: ("Rx", "ACK_CC", ACKS | {"ECN_marked", "RTT_ns"} | SENDER),
    t.M_PROBE_TX: ("Tx", "CTRL", {"PSN", "entropy_value"} | SENDER),
    t.M_PROBE_RX: ("Rx", "CTRL", {"PSN", "entropy_value", "ECN_marked"}),
    t.M_NACK_TX: ("Tx", "NACK", {"nack_code", "PSN", "M_Flag", "entropy_value"}),
    t.M_NACK_RX: ("Rx", "NACK", {"nack_code", "PSN", "M_Flag", "entropy_value"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_a_kind_of_row_fills(tmp_path, kind):
    (row,) = monitored(tmp_path, {**FULL, "row": kind})
    direction, packet_type, columns = KINDS[kind]
    assert filled(row) == EVERY | columns
    assert (row["direction"], row["packet_type"]) == (direction, packet_type)
    assert row["job_ID"] == ("12" if kind in (t.M_DATA_TX, t.M_ACK_RX, t.M_PROBE_TX) else "0")
    assert row["ACK_bitmap_PSNs"] == ("[71:73:76:134]" if packet_type == "ACK_CC" else "[]")
    values = {"sim_time_ns": "2064240.123", "component_name": "NIC-1", "FEP_ID": "1", "packet_UID": "1099511627777",
              "packet_size": "4202", "local_PDC_ID": "32.0.0.2:4500", "remote_PDC_ID": "32.0.0.255:40000",
              "entropy_value": "300", "RTT_ns": "7123.456", "nack_code": "UET_TRIMMED", "AR_bit": "1",
              "ECN_marked": "1", "M_Flag": "1", "NIC_prefetched_bytes": "8404", "PDC_prefetched_bytes": "4202",
              "bytes_fetched": "83680", "bytes_in_flight": "41840", "congestion_window": "447688.25",
              "receiver_congestion_window_penalty": "33", "DSCP_type": "TRIMMABLE", "PSN": "77", "CACK_PSN": "70",
              "SACK_base_PSN": "71"}
    if packet_type in ("CTRL", "NACK"):  # the id of the PDC end at the packet's sender
        values["entropy_value"] = "4500" if direction == "Tx" else "40000"
    assert {name: row[name] for name in values if row[name]} == {name: values[name] for name in values if row[name]}


@pytest.mark.parametrize("kind", KINDS)
def test_zeros_are_written_not_left_out(tmp_path, kind):
    nothing = {"time_ps": 0, "uid": 0, "row": kind, "code": 2}
    (row,) = monitored(tmp_path, nothing)
    assert filled(row) == EVERY | KINDS[kind][2]
    zeros = filled(row) - {"component_name", "local_PDC_ID", "remote_PDC_ID", "direction", "packet_type", "DSCP_type",
                           "ACK_bitmap_PSNs", "nack_code"}
    assert {float(row[name]) for name in zeros} == {0.0}
    assert row["ACK_bitmap_PSNs"] == "[]"


def test_flags_one_by_one(tmp_path):
    got = monitored(tmp_path,
                    {**FULL, "row": t.M_DATA_TX, "bits": t.F_RTX | t.F_EOM},
                    {**FULL, "row": t.M_DATA_TX, "bits": t.F_AR | 3 << t.TRIES_SHIFT},
                    {**FULL, "row": t.M_DATA_RX, "bits": t.F_RTX | t.F_CE},
                    {**FULL, "row": t.M_ACK_RX, "bits": t.F_ECHO},
                    {**FULL, "row": t.M_ACK_RX, "bits": t.F_CE | t.F_RTX},
                    {**FULL, "row": t.M_NACK_RX, "bits": t.F_RESTORE, "code": 2})
    names = ("direction", "AR_bit", "ECN_marked", "M_Flag", "nack_code")
    assert [tuple(row[name] for name in names) for row in got] == [
        ("ReTx", "0", "", "", ""), ("Tx", "1", "", "", ""), ("Rx", "0", "1", "", ""), ("Rx", "", "0", "1", ""),
        ("Rx", "", "1", "0", ""), ("Rx", "", "", "0", "UET_TRIMMED_LASTHOP")]


def test_an_ack_without_a_sample_has_no_rtt(tmp_path):
    got = monitored(tmp_path, {**FULL, "row": t.M_ACK_RX, "rtt_ps": -1}, {**FULL, "row": t.M_ACK_RX, "rtt_ps": 0},
                    {**FULL, "row": t.M_ACK_TX, "rtt_ps": 5})
    assert [row["RTT_ns"] for row in got] == ["", "0.0", ""]


def test_marking_of_every_role(tmp_path):
    got = monitored(tmp_path, *[{**FULL, "row": t.M_DATA_RX, "role": role} for role in range(8)])
    assert [row["DSCP_type"] for row in got] == [
        "NO_TRIM", "TRIMMABLE", "TRIMMABLE_RTX", "TRIMMED", "TRIMMED_LAST_HOP", "CONTROL", *["UNRECOGNIZED"] * 2]
    (ack,) = monitored(tmp_path, {**FULL, "row": t.M_ACK_TX, "penalty": 127, "role": t.CONTROL})
    assert (ack["receiver_congestion_window_penalty"], ack["DSCP_type"]) == ("127", "CONTROL")


def test_bitmaps(tmp_path):
    ones = 2**32 - 1
    cases = [(0, 0, 0), (0, 1, 0), (5, 0, 1), (65_530, 1 << 31, 1 << 31), (9, ones, ones), (2_000_000, 3, 0), (4, 0, 0)]
    got = monitored(tmp_path, *[{**FULL, "row": t.M_ACK_TX, "sack_first": first, "sack_lo": low, "sack_hi": high}
                                for first, low, high in cases])
    assert [row["ACK_bitmap_PSNs"] for row in got] == [
        "[]", "[0]", "[37]", "[65561:65593]", "[" + ":".join(map(str, range(9, 73))) + "]", "[2000000:2000001]", "[]"]


def test_bitmaps_against_a_loop(tmp_path):
    rng = np.random.default_rng(3)
    rows = table(t.MONITOR, *[{**FULL, "row": kind} for kind in rng.integers(0, 8, 500).tolist()])
    for name in ("sack_lo", "sack_hi"):
        rows[name] = rng.integers(0, 2**32, 500) & rng.integers(0, 2**32, 500) & rng.integers(0, 2**32, 500)
    rows["sack_first"] = rng.integers(0, 70_000, 500)
    with open_records(shard(tmp_path), {"EnableUETMonitor": True}) as records:
        records.on_rows("monitor", rows)
    for row, line in zip(rows, read(tmp_path / "sim-uet-monitor-0.csv"), strict=True):
        mask = int(row["sack_lo"]) | int(row["sack_hi"]) << 32
        psns = [int(row["sack_first"]) + bit for bit in range(64) if mask >> bit & 1]
        expected = psns if row["row"] in (t.M_ACK_TX, t.M_ACK_RX) else []
        assert line["ACK_bitmap_PSNs"] == "[" + ":".join(map(str, expected)) + "]"


def test_a_large_drain_is_written_in_batches_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("distsim.records.record_set.BATCH_ROWS", 3)
    got = monitored(tmp_path, *[{**FULL, "row": t.M_DATA_RX, "uid": uid} for uid in range(8)])
    assert [int(row["packet_UID"]) for row in got] == list(range(8))


def test_names_that_need_quotes(tmp_path):
    names = ["a", 'rack 1, "b"', *["x"] * PEER]
    (row,) = monitored(tmp_path, {**FULL, "row": t.M_DATA_TX}, names=names)
    assert row["component_name"] == 'rack 1, "b"' and row["PSN"] == "77"


# ---- uet-events ------------------------------------------------------------------------------------------------------

def test_events(tmp_path):
    common = {"node": NIC, "peer": PEER, "local_id": 7, "remote_id": 0}
    work = {"wqe": 3, "size_bytes": 1_048_576}
    kinds = ("PDC_CREATED", "WQE_CREATED", "SEND_COMPLETE", "WQE_COMPLETE", "RECV_COMPLETE", "PDC_TERMINATED")
    assert [getattr(t, f"E_{kind}") for kind in kinds] == list(range(6))
    rows = [{**common, "time_ps": 2 * MS + kind, "kind": kind, "size_bytes": -1,
             **(work if kinds[kind].startswith(("WQE", "SEND")) else {})} for kind in range(6)]
    rows[5]["remote_id"] = 32_769
    rows.append({**common, "kind": 1, "wqe": 4, "size_bytes": 0})  # a message without a byte
    with open_records(shard(tmp_path), {"EnableEventLogging": True}, clock=lambda: 59.9) as records:
        records.on_rows("events", table(t.EVENT, *rows))
    got = read(tmp_path / "sim-uet-events-0.csv")
    assert [row["ev_type"] for row in got] == [*kinds, "WQE_CREATED"]
    assert [row["sim_time_ns"] for row in got[:3]] == ["2000000.0", "2000000.001", "2000000.002"]
    assert [(row["wqe_ID"], row["wqe_size_bytes"]) for row in got] == [
        ("", ""), ("3", "1048576"), ("3", "1048576"), ("3", "1048576"), ("", ""), ("", ""), ("4", "0")]
    assert {(row["component_name"], row["FEP_ID"], row["local_PDC_ID"], row["time_utc"]) for row in got} == {
        ("NIC-1", "1", "32.0.0.2:7", "1970-01-01T00:00:59Z")}
    assert [row["remote_PDC_ID"] for row in got[4:6]] == ["32.0.0.255:0", "32.0.0.255:32769"]


# ---- addresses -------------------------------------------------------------------------------------------------------

def test_addresses_carry_into_higher_octets():
    for node, text in ((0, "32.0.0.1"), (1, "32.0.0.2"), (254, "32.0.0.255"), (255, "32.0.1.0"), (65_535, "32.1.0.0"),
                       (2**24, "33.0.0.1")):
        assert ip_text(node) == text and node_of_ip(text) == node


@pytest.mark.parametrize("text", ["32.0.0.0", "31.255.255.255", "032.0.0.1", "32.0.0.01", "32.0.0.256", "32.0.0", "",
                                  "32.0.0.1.", " 32.0.0.1", "32.0.0.1\n", "NIC-0", "255.255.255.255", "32.0.0.\u0661"])
def test_what_is_no_address_of_a_nic(text):
    assert node_of_ip(text) == -1


def test_addresses_are_of_node_ids():
    for node in (-1, 2**31):
        with pytest.raises(ValueError, match=f"{node} is not a node id"):
            ip_text(node)


# ---- the order of merged shards --------------------------------------------------------------------------------------

def test_two_shards_merge_to_one(tmp_path):
    rng = np.random.default_rng(5)
    rows = table(t.MONITOR, *[{**FULL, "row": index % 8, "uid": index} for index in range(200)])
    rows["time_ps"], rows["node"] = 2 * MS + np.sort(rng.integers(0, 60, 200)), rng.integers(0, 6, 200)
    events = table(t.EVENT, *[{"time_ps": 2 * MS + index // 4, "node": index % 4, "kind": index % 6, "wqe": index % 3,
                               "local_id": index} for index in range(60)])
    for name, parts in (("one", [range(6)]), ("two", [(0, 3, 5), (1, 2, 4)])):
        (tmp_path / name).mkdir()
        for index, nodes in enumerate(parts):
            on = {"EnableUETMonitor": True, "EnableEventLogging": True}
            with open_records(shard(tmp_path / name, index=index), on) as records:
                records.on_rows("monitor", rows[np.isin(rows["node"], nodes)])
                records.on_rows("events", events[np.isin(events["node"], nodes)])
    for record, height in (("uet-monitor", 200), ("uet-events", 60)):
        one, two = merge(tmp_path / "one", record), merge(tmp_path / "two", record)
        assert one.height == height and one.equals(two)
        assert one["sim_time_ns"].is_sorted()
