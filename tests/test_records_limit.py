"""MaxRecordRows, which clock and which table reach which record, and merging of the periodic records of the NIC."""

import numpy as np
import pytest
from records_cases import MS, ONE, counters, messages, pauses, shard, table

from distsim.records import PORT_COUNTERS, Tick, limit_warnings, merge, open_records, read_record
from distsim.records.row_limit import RowLimit
from distsim.state import tables as t


def rows_of(records):
    return {file["record"]: (file["rows"], file["rows_left_out"]) for file in records.files()}


# ---- MaxRecordRows ---------------------------------------------------------------------------------------------------

def test_each_component_writes_so_many_rows_and_the_rest_is_counted(tmp_path):
    events = table(t.EVENT, *[{"time_ps": index, "node": node} for index, node in enumerate([4, 4, 9, 4, 4, 9, 9])])
    with open_records(shard(tmp_path, max_rows=3), {"EnableEventLogging": True}) as records:
        records.on_rows("events", events[:4])
        assert rows_of(records)["uet-events"] == (4, 0) and records.warnings() == []
        records.on_rows("events", events[4:])
    assert rows_of(records)["uet-events"] == (6, 1)
    assert merge(tmp_path, "uet-events")["sim_time_ns"].to_list() == [0, 0.001, 0.002, 0.003, 0.005, 0.006]
    assert records.warnings() == ["uet-events: 1 rows left out, because MaxRecordRows lets each component write 3"]


def test_no_limit_by_default(tmp_path):
    with open_records(shard(tmp_path)) as records:
        for _ in range(5):
            records.on_rows("perf", messages(*[ONE] * 100))
    assert rows_of(records)["perf"] == (500, 0) and records.warnings() == []


def test_periodic_rows_of_a_switch_count_for_all_its_ports(tmp_path):
    """Two NICs with a port each, a switch with two: the switch has used up three rows in its second tick."""
    with open_records(shard(tmp_path, nics=2, max_rows=3)) as records:
        for k in (1, 2, 3, 4):
            records.on_tick(Tick((2 + k) * MS, "nd", counters(2), np.zeros(4, PORT_COUNTERS)))
    assert rows_of(records)["nd-stats"] == (9, 7) and rows_of(records)["uet-transport-stats"] == (6, 2)
    frame = merge(tmp_path, "nd-stats")
    assert [(row["node_id"], row["ifid"]) for row in frame.iter_rows(named=True)] == [
        (0, 0), (1, 0), (2, 0), (2, 1), (0, 0), (1, 0), (2, 0), (0, 0), (1, 0)]
    assert len(records.warnings()) == 2


def test_what_is_left_out_does_not_depend_on_the_partition(tmp_path):
    rng = np.random.default_rng(2)
    rows = table(t.EVENT, *[{"time_ps": index, "node": node} for index, node in enumerate(rng.integers(0, 5, 300))])
    left_out = {}
    for name, parts in (("one", [range(5)]), ("two", [(0, 4), (1, 2, 3)])):
        (tmp_path / name).mkdir()
        files = []
        for index, nodes in enumerate(parts):
            part = shard(tmp_path / name, index=index, max_rows=40)
            with open_records(part, {"EnableEventLogging": True}) as records:
                for batch in np.array_split(rows, 7):
                    records.on_rows("events", batch[np.isin(batch["node"], nodes)])
            files += records.files()
        left_out[name] = limit_warnings(files, 40)
    assert left_out["one"] == left_out["two"] == [
        "uet-events: 100 rows left out, because MaxRecordRows lets each component write 40"]  # 300 - 5 x 40
    assert merge(tmp_path / "one", "uet-events").equals(merge(tmp_path / "two", "uet-events"))


def test_a_record_without_a_component_is_counted_whole():
    limit = RowLimit(3, "")
    assert limit.cut_columns({"a": [1, 2], "b": "x"}) == {"a": [1, 2], "b": "x"}
    assert limit.cut_columns({"a": [3, 4], "b": "x"}) == {"a": [3], "b": "x"}
    assert limit.cut_columns({"a": np.array([5]), "b": "x"})["a"].tolist() == [] and limit.left_out == 2


def test_a_component_that_is_one_value_for_the_batch():
    limit = RowLimit(2, "node_id")
    assert limit.cut_columns({"node_id": 7, "a": [1, 2, 3]}) == {"node_id": 7, "a": [1, 2]}
    assert limit.cut_columns({"node_id": 8, "a": [4]}) == {"node_id": 8, "a": [4]}


# ---- clocks and tables -----------------------------------------------------------------------------------------------

def nic_state(nics, k):
    """Counters of every kind at the k-th tick, different for each NIC and port."""
    rng = np.random.default_rng(k)
    buff, pcie, pfc = np.zeros((nics, t.NIC_BUFFERS), t.BUFF), np.zeros((nics, 2), t.PCIE), pauses(2 * nics)
    for array in (buff, pcie):
        for name in array.dtype.names:
            array[name] = k * rng.integers(1000, 2000, array.shape)
    for name in ("xoff_rx", "xoff_ps", "ecn_marks"):
        pfc[name] = k * (np.arange(2 * nics)[:, None] % 3)
    return {"buff": buff, "pcie": pcie, "pfc": pfc}


ON = {"EnableNetworkBufferStatsReporting": True, "EnablePCIeStatsLogging": True, "EnableEventLogging": True}


def full_shard(directory, nics, **changes):
    return shard(directory, nics, **{
        "nic_buffers": np.ones(nics, bool), "nic_pcie": np.ones(nics, bool),
        "nic_ingress_pools": np.tile([3_600_000, 400_000], (nics, 1)),
        "nic_egress_pools": np.tile([230_400, 25_600], (nics, 1)), "nic_lanes": np.full((nics, 2), 16),
        "nic_lane_gbps": np.full((nics, 2), 31.52), **changes})


def test_a_tick_reaches_the_records_of_its_clock_and_rows_those_of_their_table(tmp_path):
    with open_records(full_shard(tmp_path, 1), ON) as records:
        def grown(feed):
            before = rows_of(records)
            feed()
            return {name for name, rows in rows_of(records).items() if rows != before[name]}

        state = {**nic_state(1, 1), "counters": counters(), "ports": np.zeros(2, PORT_COUNTERS)}
        assert grown(lambda: records.on_tick(Tick(3 * MS, "nd", **state))) == {
            "uet-transport-stats", "nd-stats", "ecn-pfc-stats", "pcie-stats"}
        assert grown(lambda: records.on_tick(Tick(3 * MS, "buffers", **state))) == {"net-buff-stats"}
        assert grown(lambda: records.on_tick(Tick(3 * MS, "start", **state))) == set()
        assert grown(lambda: records.on_rows("perf", messages(ONE))) == {"perf"}
        assert grown(lambda: records.on_rows("events", table(t.EVENT, {}))) == {"uet-events"}
        assert grown(lambda: records.on_rows("monitor", table(t.MONITOR, {}))) == set()  # it is off
        assert records.has("buffers") and records.has("events")
        assert not records.has("monitor") and not records.has("start") and not records.has("switch-buffers")


def test_merged_shards_of_the_nics_records(tmp_path):
    """Four NICs and their switch on one rank, and on two with the NICs apart."""
    nics, spread = 4, [([1, 3], [1, 3, 4, 5, 6, 7]), ([0, 2], [0, 2])]
    for name, parts in (("one", [(list(range(4)), list(range(8)))]), ("two", spread)):
        (tmp_path / name).mkdir()
        for index, (mine, ports) in enumerate(parts):
            whole = full_shard(tmp_path / name, nics)
            fields = {key: getattr(whole, key)[mine] for key in (
                "nic_node_id", "nic_stats", "nic_buffers", "nic_pcie", "nic_ingress_pools", "nic_egress_pools",
                "nic_lanes", "nic_lane_gbps")}
            fields |= {key: getattr(whole, key)[ports] for key in (
                "port_node_id", "port_ifid", "port_tier", "port_uplink", "port_is_nic", "port_rate_bps")}
            part = full_shard(tmp_path / name, nics, **fields, index=index, nic_name=[whole.nic_name[i] for i in mine],
                              port_name=[whole.port_name[i] for i in ports])
            with open_records(part, ON, clock=lambda i=index: 1e9 + i) as records:
                for k in (1, 2, 3):
                    state = nic_state(nics, k)
                    cut = {"buff": state["buff"][mine], "pcie": state["pcie"][mine], "pfc": state["pfc"][ports]}
                    records.on_tick(Tick((2 + k) * MS, "nd", counters(len(mine)), np.zeros(len(ports), PORT_COUNTERS),
                                         **cut))
                    records.on_tick(Tick((2 + k) * MS, "buffers", **cut))
    # a port's counters are 0, 1 or 2 times k, so 5 of 8 ports have rows: NICs 1 and 2, switch ports 0, 1 and 3
    for record, height in (("net-buff-stats", 48), ("pcie-stats", 24), ("ecn-pfc-stats", 3 * (2 * 2 + 3 * 3))):
        one, two = merge(tmp_path / "one", record), merge(tmp_path / "two", record)
        assert one.height == height and one.equals(two), record


def test_a_record_without_rows_can_be_read(tmp_path):
    open_records(shard(tmp_path)).close()
    assert read_record(tmp_path, "ecn-pfc-stats").shape == (0, 24)
    with pytest.raises(NotImplementedError, match="nd-stats is not made from drained rows"):
        from distsim.records.nd_stats import NdStats
        NdStats(shard()).on_rows(messages())
