"""ecn-pfc-stats, net-buff-stats and pcie-stats, with every number worked out by hand."""

import numpy as np
import pytest
from records_cases import MS, pauses, shard

from distsim.records import Tick
from distsim.records.ecn_pfc_stats import EcnPfcStats
from distsim.records.net_buff_stats import NetBuffStats
from distsim.records.pcie_stats import PcieStats
from distsim.state.tables import BUFF, NIC_BUFFERS, PCIE, PCIE_ENDS

US = 10**6  # picoseconds


def rows(columns):
    """The rows of a batch as dicts."""
    if columns is None:
        return []
    count = next(len(values) for values in columns.values() if not np.isscalar(values))
    return [{name: values if np.isscalar(values) else values[index] for name, values in columns.items()}
            for index in range(count)]


# ---- ecn-pfc-stats ---------------------------------------------------------------------------------------------------

def pfc_rows(record, k, pfc):
    """Rows at the k-th tick: k ms after the start at 2 ms."""
    return rows(record.on_tick(Tick((2 + k) * MS, "nd", pfc=pfc)))


def test_no_row_until_a_counter_is_not_zero_then_at_every_interval():
    record, pfc = EcnPfcStats(shard()), pauses()
    assert pfc_rows(record, 1, pfc) == []
    pfc[0, 1]["xoff_rx"] = 1  # the NIC is paused in its control class
    got = pfc_rows(record, 2, pfc)
    assert [(row["component_name"], row["priority"], row["pfcxoff_rx"]) for row in got] == [("NIC-0", 1, 1)]
    assert len(pfc_rows(record, 3, pfc)) == 1  # nothing new, and a row all the same


@pytest.mark.parametrize("field", ["xoff_tx", "xoff_rx", "xon_tx", "xon_rx", "ecn_marks"])
def test_each_counter_alone_brings_the_row(field):
    pfc = pauses()
    pfc[1, 2][field] = 7
    (got,) = pfc_rows(EcnPfcStats(shard()), 1, pfc)
    column = {"ecn_marks": "pkts_ecn_marked"}.get(field, f"pfc{field}")
    counters = {name: got[name] for name in ("pfcxoff_tx", "pfcxoff_rx", "pfcxon_tx", "pfcxon_rx", "pkts_ecn_marked")}
    assert counters == {**dict.fromkeys(counters, 0), column: 7}


def test_identity_and_classes():
    pfc = pauses()
    pfc["xoff_tx"] = 1  # everywhere, also in the rows that are no class: 2 classes of the NIC, 3 of the switch port
    got = pfc_rows(EcnPfcStats(shard()), 1, pfc)
    who = ("node_id", "component_name", "component_type", "ifid", "uldl", "tier", "subtier", "priority")
    nic, switch = (0, "NIC-0", "NIC", 0, "ul", 3, 4294967295), (1, "RackSwitch-0", "Switch", 0, "dl", 2, 4294967295)
    assert [tuple(row[name] for name in who) for row in got] == [
        (*nic, 0), (*nic, 1), (*switch, 0), (*switch, 1), (*switch, 2)]
    assert got[0]["job_id"] == "sim" and got[0]["sim_time_sec"] == 0.003


def test_pauses_that_are_over():
    """Three pauses of 100, 250 and 50 us, occupied for 40 and 200 us of the first two; then one of 20 us."""
    record, pfc = EcnPfcStats(shard()), pauses()
    pfc[0, 0]["xoff_rx"] = 3
    pfc[0, 0]["xoff_ps"], pfc[0, 0]["occupied_ps"] = 400 * US, 240 * US
    pfc[0, 0]["ivl_longest_ps"], pfc[0, 0]["ivl_longest_occupied_ps"] = 250 * US, 200 * US
    (one,) = pfc_rows(record, 1, pfc)
    assert (one["pfc_time_paused_usec"], one["interval_total_time_xoff_usec"], one["interval_max_time_xoff_usec"],
            one["interval_total_time_xoff_egr_occ_usec"], one["interval_max_time_xoff_egr_occ_usec"],
            one["total_xoff_time_egr_occ_usec"]) == (400, 400, 250, 240, 200, 240)
    assert (one["percent_xon"], one["xoff_egr_occ_ratio"]) == (60, 0.6)  # 600 of 1,000 us; 240 of 400
    pfc[0, 0]["xoff_ps"] = 420 * US
    pfc[0, 0]["ivl_longest_ps"], pfc[0, 0]["ivl_longest_occupied_ps"] = 20 * US, 0
    (two,) = pfc_rows(record, 2, pfc)
    assert (two["pfc_time_paused_usec"], two["interval_total_time_xoff_usec"], two["interval_max_time_xoff_usec"],
            two["interval_total_time_xoff_egr_occ_usec"], two["interval_max_time_xoff_egr_occ_usec"],
            two["total_xoff_time_egr_occ_usec"]) == (420, 20, 20, 0, 0, 240)
    assert two["percent_xon"] == 98 and two["xoff_egr_occ_ratio"] == pytest.approx(240 / 420)


def test_a_pause_in_force_counts_up_to_the_row_or_until_it_runs_out():
    record, pfc = EcnPfcStats(shard()), pauses()
    queue = pfc[1, 0]
    queue["xoff_rx"], queue["ivl_longest_ps"] = 1, 30 * US
    # paused at 2.9 ms until 4.2 ms at most, packets wait from 2.95 ms on
    queue["xoff_since_ps"], queue["occupied_since_ps"], queue["pause_end_ps"] = 2900 * US, 2950 * US, 4200 * US
    (one,) = pfc_rows(record, 1, pfc)
    assert (one["pfc_time_paused_usec"], one["interval_max_time_xoff_usec"], one["total_xoff_time_egr_occ_usec"],
            one["interval_max_time_xoff_egr_occ_usec"], one["percent_xon"]) == (100, 100, 50, 50, 90)
    queue["ivl_longest_ps"] = 0
    (two,) = pfc_rows(record, 2, pfc)  # paused all through the second interval, 1,100 us so far
    assert (two["interval_total_time_xoff_usec"], two["interval_max_time_xoff_usec"], two["percent_xon"]) == (
        1000, 1100, 0)
    assert (two["interval_total_time_xoff_egr_occ_usec"], two["interval_max_time_xoff_egr_occ_usec"]) == (1000, 1050)
    (three,) = pfc_rows(record, 3, pfc)  # it has run out 200 us into the third
    assert (three["interval_total_time_xoff_usec"], three["interval_max_time_xoff_usec"], three["percent_xon"]) == (
        200, 1300, 80)
    # the kernel closes it later: the total stays, nothing counts twice
    queue["xoff_ps"], queue["occupied_ps"] = 1300 * US, 1250 * US
    queue["xoff_since_ps"] = queue["occupied_since_ps"] = -1
    (four,) = pfc_rows(record, 4, pfc)
    assert (four["pfc_time_paused_usec"], four["interval_total_time_xoff_usec"], four["total_xoff_time_egr_occ_usec"],
            four["interval_total_time_xoff_egr_occ_usec"], four["percent_xon"]) == (1300, 0, 1250, 0, 100)


def test_a_class_that_only_sends_pauses_has_no_time_and_no_ratio():
    pfc = pauses()
    pfc[0, 0]["xoff_tx"], pfc[0, 0]["xon_tx"] = 4, 3
    (got,) = pfc_rows(EcnPfcStats(shard()), 1, pfc)
    assert (got["pfcxoff_tx"], got["pfcxon_tx"], got["pfc_time_paused_usec"], got["xoff_egr_occ_ratio"],
            got["percent_xon"]) == (4, 3, 0, 0, 100)
    assert EcnPfcStats(shard()).on_tick(Tick(3 * MS, "nd")) is None  # a run without PFC


# ---- net-buff-stats --------------------------------------------------------------------------------------------------

def buffered(nics=1, on=None):
    return shard(nics=nics, nic_buffers=np.ones(nics, bool) if on is None else np.array(on),
                 nic_ingress_pools=np.tile([3_600_000, 400_000], (nics, 1)),
                 nic_egress_pools=np.tile([230_400, 25_600], (nics, 1)))


def test_pools_of_a_nic():
    got = rows(NetBuffStats(buffered()).on_tick(Tick(3 * MS, "buffers", buff=np.zeros((1, NIC_BUFFERS), BUFF))))
    assert [(row["buffer_id"], row["tc"], row["buffer_max_size_B"]) for row in got] == [
        ("RX_TC0_BUFFER", 0, 3_600_000), ("RX_TC1_BUFFER", 1, 400_000),
        ("TX_TC0_BUFFER", 0, 230_400), ("TX_TC1_BUFFER", 1, 25_600)]
    assert {(row["job_id"], row["component_name"], row["node_id"], row["sim_time_sec"]) for row in got} == {
        ("sim", "NIC-0", 0, 0.003)}


def test_occupancy_counts_and_rates():
    record, buff = NetBuffStats(buffered()), np.zeros((1, NIC_BUFFERS), BUFF)
    pool = buff[0, 0]
    pool["enq"], pool["enq_bytes"], pool["deq"], pool["deq_bytes"] = 3, 12_552, 1, 4184
    pool["now_bytes"], pool["most_bytes"], pool["ivl_most_bytes"] = 8368, 12_552, 12_552
    rows(record.on_tick(Tick(3 * MS, "buffers", buff=buff)))
    # the second interval: 10,000 packets in, 9,562 out, 440 held: 1,840,960 B of 3,600,000; 2 did not fit
    pool["enq"], pool["enq_bytes"], pool["deq"], pool["deq_bytes"] = 10_003, 41_852_552, 9563, 40_011_592
    pool["now_bytes"], pool["most_bytes"], pool["ivl_most_bytes"], pool["overflow"] = 1_840_960, 2_000_000, 1_900_000, 2
    got = rows(record.on_tick(Tick(4 * MS, "buffers", buff=buff)))[0]
    assert {name: got[name] for name in (
        "occupancy_B", "max_occupancy_B", "num_enq", "num_deq", "interval_num_enq", "interval_num_deq",
        "interval_enq_B", "interval_deq_B", "interval_max_occupancy_B", "overflow")} == {
        "occupancy_B": 1_840_960, "max_occupancy_B": 2_000_000, "num_enq": 10_003, "num_deq": 9563,
        "interval_num_enq": 10_000, "interval_num_deq": 9562, "interval_enq_B": 41_840_000,
        "interval_deq_B": 40_007_408, "interval_max_occupancy_B": 1_900_000, "overflow": 2}
    assert (got["enq_Gbps"], got["deq_Gbps"]) == (334.72, 320.059264)  # x 8 / 1 ms
    assert got["percent_occupancy"] == pytest.approx(51.13777777777778)


def test_only_nics_with_buffer_stats_and_the_interval_is_its_own_clocks():
    record = NetBuffStats(buffered(3, [False, True, False]))
    buff = np.zeros((3, NIC_BUFFERS), BUFF)
    buff["enq_bytes"] = 1000
    got = rows(record.on_tick(Tick(2 * MS + 100 * US, "buffers", buff=buff)))
    assert [row["node_id"] for row in got] == [1] * 4
    assert got[0]["enq_Gbps"] == 0.08  # 8,000 bits in 100 us
    assert NetBuffStats(buffered(1, [False])).on_tick(Tick(3 * MS, "buffers", buff=buff[:1])) is None


# ---- pcie-stats ------------------------------------------------------------------------------------------------------

def test_both_ends_of_a_link():
    """1,000 payloads of 4,096 B fetched and 500 written in 1 ms, over 16 lanes at the NIC and 8 at the host."""
    record = PcieStats(shard(nic_pcie=np.array([True]), nic_lanes=np.array([[16, 8]]),
                             nic_lane_gbps=np.array([[31.52, 30.0]])))
    pcie = np.zeros((1, PCIE_ENDS), PCIE)
    nic, host = pcie[0]
    # a read request is 98 B; a payload 8 transfers, 4,368 B
    nic["reads"], nic["writes"], nic["transfers"] = 1000, 500, 1000 + 4000
    nic["bytes"], nic["payload_bytes"] = 1000 * 98 + 500 * 4368, 500 * 4096
    host["reads"], host["transfers"], host["bytes"], host["payload_bytes"] = 1000, 8000, 1000 * 4368, 1000 * 4096
    nic["waits"], nic["wait_ps"], nic["ivl_most_bytes"], host["ivl_most_bytes"] = 7, 3_500_000, 250_000, 81_920
    pcie = np.array([[nic, host]], PCIE)
    got = rows(record.on_tick(Tick(3 * MS, "nd", pcie=pcie)))
    who = ("component_name", "node_id", "side", "lane_count", "lane_Gbps")
    assert [tuple(row[name] for name in who) for row in got] == [
        ("NIC-0", 0, "nic", 16, 31.52), ("NIC-0", 0, "host", 8, 30)]
    one, other = got
    for way, back in (("tx", "rx"), ("rx", "tx")):  # what one end sends the other receives
        for name in ("total_transfers_", "ivl_transfers_", "total_bytes_", "ivl_bytes_", "ivl_payload_bytes_"):
            assert one[name + way] == other[name + back]
        assert one[f"{way}_link_percent_util"] == other[f"{back}_link_percent_util"]
    names = ("total_transfers_", "total_bytes_", "ivl_payload_bytes_")
    assert [one[name + "tx"] for name in names] == [5000, 2_282_000, 2_048_000]
    assert [one[name + "rx"] for name in names] == [8000, 4_368_000, 4_096_000]
    assert (one["tx_rate_Gbps"], one["rx_rate_Gbps"]) == (18.256, 34.944)
    assert one["tx_link_percent_util"] == pytest.approx(100 * 18.256 / 504.32)
    assert one["rx_link_percent_util"] == pytest.approx(100 * 34.944 / 240)  # the host's lanes
    counts = ("read_requests", "completions", "mem_writes")
    assert [[row[name] for name in counts] for row in got] == [[1000, 0, 500], [0, 1000, 0]]
    assert (one["ivl_buffer_waits"], one["ivl_buffer_wait_usec"], one["ivl_max_tx_data_buf_B"]) == (7, 3.5, 250_000)
    assert (other["ivl_buffer_waits"], other["ivl_max_tx_data_buf_B"]) == (0, 81_920)
    # nothing more in the next interval
    later = pcie.copy()
    later["ivl_most_bytes"] = 0
    for row, before in zip(rows(record.on_tick(Tick(4 * MS, "nd", pcie=later))), got, strict=True):
        assert {name: row[name] for name in row if name.startswith("total_") or name in counts} == {
            name: before[name] for name in before if name.startswith("total_") or name in counts}
        assert all(row[name] == 0 for name in row if name.startswith("ivl_") or name.endswith("_rate_Gbps"))


def test_nics_without_pcie_stats_have_no_rows():
    record = PcieStats(shard(nics=2, nic_pcie=np.array([False, True]), nic_lanes=np.full((2, 2), 16),
                             nic_lane_gbps=np.full((2, 2), 31.52)))
    got = rows(record.on_tick(Tick(3 * MS, "nd", pcie=np.zeros((2, PCIE_ENDS), PCIE))))
    assert [row["node_id"] for row in got] == [1, 1]
    assert PcieStats(shard()).on_tick(Tick(3 * MS, "nd", pcie=np.zeros((1, PCIE_ENDS), PCIE))) is None
