"""The simulator's own records: rows with every number worked out by hand."""

import dataclasses

import numpy as np
import pytest
from records_cases import MS, shard

from distsim.records import PORT_COUNTERS, RECORDS, Tick, merge, open_records
from distsim.records.switch_buffer_stats import SwitchAggBuffStats, SwitchBuffStats
from distsim.records.tier_hop import TierHop
from distsim.records.topology_report import TopologyReport
from distsim.state.tables import (
    B_IN_DOWN,
    B_IN_UP,
    B_OUT_DOWN,
    B_OUT_UP,
    B_POOL,
    BUFFER,
    BUFFER_KINDS,
    BUFFER_STATS,
    CLASSES,
    NO_SAMPLE_MAX,
    NO_SAMPLE_MIN,
)

DOCUMENTED = {
    "topology-report": (
        "component_name,component_type,tier,subtier,node_id,net_device,dev_id,peer_component_name,peer_component_type,"
        "peer_tier,peer_subtier,peer_node_id,peer_net_device,peer_dev_id,linkspeed_Gbps,prop_delay_ns"),
    "tier-hop": "job_id,time_utc,sim_time_sec,spine,fabric,rack,spineInt,fabricInt,rackInt",
    "mpi-stats": (
        "job_id,time_utc,sim_time_sec,mpi_pkt_tx,mpi_pkt_rx,mpi_tr_tx,mpi_tr_rx,mpi_app_tag_tx,mpi_app_tag_rx,mpi_null"),
    "mpi-profiling": (
        "job_id,time_utc,sim_time_sec,core,cntWhile,cntCalcGrantedTime,cntWhileNextGreater,cntWhileIsLocalFinished,"
        "cntWhileBoth,cntRxEqTx,cntRxEqTxLookAheadEqMax,cntRxEqTxLookAheadNeqMax,cntRxNeqTx,num_processed_events,"
        "testTime_sec,mtestTime_sec,timeReceive_sec,mtimeReceive_sec,timeSend_sec,mtimeSend_sec,timeGather_sec,"
        "mtimeGather_sec,timeEvents_sec,mtimeEvents_sec"),
    "cpu-mem-stats": (
        "job_id,time_utc,sim_time_sec,host_name,pid,core_vm_usage_M,core_rss_M,core_vm_usage_pct,core_rss_usage_pct,"
        "sys_total_mem_M,sys_free_mem_M,sys_used_mem_M,sys_mem_usage_pct,sys_swap_usage_pct,user_time_ticks,"
        "kernel_time_ticks,total_time_ticks,elapse_time_ticks,user_time_pct,system_time_pct,total_time_pct"),
    "scala-switch-agg-buff-stats": (
        "time_utc,sim_time_sec,component_name,tier,node_id,buff_id,uldl,pool_num,total_bytes,buffer_limit,ivl_count,"
        "ivl_min_bytes,ivl_max_bytes,ivl_mean_bytes,ivl_max_pct_util,ivl_mean_pct_util"),
    "scala-switch-buff-stats": (
        "time_utc,sim_time_sec,component_name,tier,node_id,buff_id,ifid,uldl,pool_num,buff_limit,ivl_count,"
        "ivl_min_bytes,ivl_max_bytes,ivl_mean_bytes,ivl_max_pct_util,ivl_mean_pct_util"),
}
OURS = {"tier-hop": ["component_name", "node_id"], "mpi-stats": ["core", "mpi_bytes_tx"],
        "mpi-profiling": ["timeRecords_sec"], "scala-switch-buff-stats": ["bytes", "pct_util"]}
LEFT_OUT = {"topology-report": 0, "tier-hop": 0, "mpi-stats": 2, "mpi-profiling": 15, "cpu-mem-stats": 0,
            "scala-switch-agg-buff-stats": 0, "scala-switch-buff-stats": 7}
SWITCH = {"topology-report": "EnableTopologyReport", "tier-hop": "EnableTierHop", "mpi-stats": "EnableMPIStats",
          "mpi-profiling": "EnableMPIProfiling", "cpu-mem-stats": "EnableCPUMemStats",
          "scala-switch-agg-buff-stats": "EnableSwitchBufferStats",
          "scala-switch-buff-stats": "EnableSwitchBufferStats"}
CLOCK = {"topology-report": "start", "scala-switch-agg-buff-stats": "switch-buffers",
         "scala-switch-buff-stats": "switch-buffers"}
ON = dict.fromkeys(SWITCH.values(), True)
USUAL_OFF = dict.fromkeys(("EnableNetDeviceStatLogging", "EnablePFCECNStatsLogging", "EnableTransportStats"), False)


def row(columns, index=0):
    return {name: values if np.isscalar(values) else values[index] for name, values in columns.items()}


# ---- schemas ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("record", DOCUMENTED)
def test_columns_are_the_documented_ones_in_their_order(record):
    header, documented = RECORDS[record].schema.header, DOCUMENTED[record].split(",")
    shared = [name for name in header if name not in OURS.get(record, [])]
    assert shared == [name for name in documented if name in header]
    assert len(documented) - len(shared) == LEFT_OUT[record]
    assert len(header) == len(set(header)) == len(shared) + len(OURS.get(record, []))


@pytest.mark.parametrize("record", DOCUMENTED)
def test_switches_clocks_and_what_is_compared(record):
    schema = RECORDS[record].schema
    assert schema.switch == SWITCH[record] and schema.global_switch
    assert not schema.is_on({}) and schema.is_on({SWITCH[record]: True})
    assert schema.clock == CLOCK.get(record, "nd") and schema.rows == ""
    assert schema.wall_clock == (record in ("mpi-stats", "mpi-profiling", "cpu-mem-stats"))
    assert set(schema.order) <= set(schema.header)


# ---- topology-report -------------------------------------------------------------------------------------------------

def cable(directory=""):
    """NIC-0 and RackSwitch-0 (node 1) with a cable, 400 Gb/s up after 100 ns, 800 Gb/s down after 600.5 ns."""
    return shard(directory, port_peer_name=["RackSwitch-0", "NIC-0"], port_peer_node_id=np.array([1, 0]),
                 port_peer_ifid=np.array([0, 0]), port_peer_tier=np.array([2, 3]),
                 port_delay_ps=np.array([100_000, 600_500]))


def test_topology_has_a_row_for_each_direction():
    columns = TopologyReport(cable()).on_tick(Tick(0, "start"))
    assert row(columns, 0) == {
        "component_name": "NIC-0", "component_type": "NIC", "tier": 3, "subtier": 4294967295, "node_id": 0,
        "net_device": "distsim::UetNicDevice", "dev_id": 0, "peer_component_name": "RackSwitch-0",
        "peer_component_type": "Switch", "peer_tier": 2, "peer_subtier": 4294967295, "peer_node_id": 1,
        "peer_net_device": "distsim::SwitchPortDevice", "peer_dev_id": 0, "linkspeed_Gbps": 400, "prop_delay_ns": 100}
    down = row(columns, 1)
    assert [down[name] for name in ("component_name", "component_type", "node_id", "peer_component_name", "peer_tier",
                                    "peer_component_type", "linkspeed_Gbps", "prop_delay_ns")] == [
        "RackSwitch-0", "Switch", 1, "NIC-0", 3, "NIC", 800, 600.5]


def test_topology_interfaces_are_those_of_the_two_ends():
    """A rack switch (node 5) whose interface 4 leads to interface 7 of a spine (node 9)."""
    one = shard(port_node_id=np.array([5]), port_ifid=np.array([4]), port_tier=np.array([2]),
                port_name=["RackSwitch-1"], port_rate_bps=np.array([10**11]), port_peer_name=["SpineSwitch-0"],
                port_peer_node_id=np.array([9]), port_peer_ifid=np.array([7]), port_peer_tier=np.array([0]),
                port_delay_ps=np.array([500_000]))
    got = row(TopologyReport(one).on_tick(Tick(0, "start")))
    assert [got[name] for name in ("node_id", "tier", "dev_id", "peer_node_id", "peer_tier", "peer_dev_id")] == [
        5, 2, 4, 9, 0, 7]
    assert (got["linkspeed_Gbps"], got["prop_delay_ns"]) == (100, 500)


# ---- tier-hop --------------------------------------------------------------------------------------------------------

# Two NICs (0, 1), rack switches 2 and 3 with two ports each, fabric switch 4 with two, spine 5 with one.
PORT_NODE = np.array([0, 1, 2, 2, 3, 3, 4, 4, 5])
PORT_TIER = np.array([3, 3, 2, 2, 2, 2, 1, 1, 0])
PORT_NAME = ["NIC-0", "NIC-1", "RackSwitch-0", "RackSwitch-0", "RackSwitch-1", "RackSwitch-1", "FabricSwitch-0",
             "FabricSwitch-0", "SpineSwitch-0"]


def tree(ports=range(9), directory="", **changes):
    """The shard that has these ports of the tree."""
    ports = list(ports)
    return shard(directory, port_node_id=PORT_NODE[ports], port_ifid=np.zeros(len(ports), int),
                 port_tier=PORT_TIER[ports], port_uplink=np.zeros(len(ports), int), port_is_nic=PORT_TIER[ports] == 3,
                 port_rate_bps=np.full(len(ports), 10**9), port_name=[PORT_NAME[i] for i in ports], **changes)


def arrived(*packets, ports=range(9)):
    out = np.zeros(9, PORT_COUNTERS)
    out["rx_packets"] = packets
    return out[list(ports)]


FIRST, SECOND = (50, 60, 10, 20, 1, 2, 100, 200, 7), (90, 90, 15, 20, 4, 3, 100, 350, 7)


def test_tier_hop_counts_in_the_column_of_the_tier():
    record = TierHop(tree())
    one = record.on_tick(Tick(3 * MS, "nd", ports=arrived(*FIRST)))
    two = record.on_tick(Tick(4 * MS, "nd", ports=arrived(*SECOND)))
    assert list(one["component_name"]) == ["RackSwitch-0", "RackSwitch-1", "FabricSwitch-0", "SpineSwitch-0"]
    assert list(one["node_id"]) == [2, 3, 4, 5] and one["job_id"] == "sim" and one["sim_time_sec"] == 0.003
    assert [list(one[name]) for name in ("spine", "fabric", "rack")] == [[0, 0, 0, 7], [0, 0, 300, 0], [30, 3, 0, 0]]
    assert all(list(one[f"{name}Int"]) == list(one[name]) for name in ("spine", "fabric", "rack"))
    assert [list(two[name]) for name in ("spine", "fabric", "rack")] == [[0, 0, 0, 7], [0, 0, 450, 0], [35, 7, 0, 0]]
    assert [list(two[f"{name}Int"]) for name in ("spine", "fabric", "rack")] == [
        [0, 0, 0, 0], [0, 0, 150, 0], [5, 4, 0, 0]]


def test_tier_hop_of_nics_alone_is_nothing():
    assert TierHop(tree(range(2))).on_tick(Tick(3 * MS, "nd", ports=arrived(*FIRST, ports=range(2)))) is None


def test_tier_hop_shards_merge_to_the_rows_of_one(tmp_path):
    for name, shards in (("one", [range(9)]), ("two", [(0, 2, 3, 6, 7), (1, 4, 5, 8)]), ("three", [
            (0, 1), (6, 7, 8), (2, 3, 4, 5)])):
        (tmp_path / name).mkdir()
        for index, ports in enumerate(shards):
            part = tree(ports, tmp_path / name, index=index, count=len(shards))
            with open_records(part, {**USUAL_OFF, "EnableTierHop": True}) as records:
                for k, counts in enumerate((FIRST, SECOND)):
                    records.on_tick(Tick((3 + k) * MS, "nd", ports=arrived(*counts, ports=ports)))
    one, two, three = (merge(tmp_path / name, "tier-hop") for name in ("one", "two", "three"))
    assert one.height == 8 and one.equals(two) and one.equals(three)
    # the documented row of an instant: the sum of its rows
    totals = one.select("sim_time_sec", "rack", "rackInt").group_by("sim_time_sec", maintain_order=True).sum()
    assert totals["rack"].to_list() == [33, 42] and totals["rackInt"].to_list() == [33, 9]


# ---- switch buffers --------------------------------------------------------------------------------------------------

def switches(**changes):
    return shard(switch_node_id=np.array([8, 9]), switch_name=["RackSwitch-0", "SpineSwitch-0"],
                 switch_tier=np.array([2, 0]), switch_pools=np.array([[0, 3, -1], [0, -1, -1]]), **changes)


def buffers():
    """Switch 8 has pools 0 (2,000 B) and 3 (500 B), switch 9 pool 0 (4,000 B)."""
    out = np.zeros((2, CLASSES), BUFFER)
    out["size_bytes"] = [[2_000, 500, 0], [4_000, 0, 0]]
    out["in_bytes"] = [[1_500, 100, 0], [80, 0, 0]]
    out["out_bytes"] = [[1_000, 125, 0], [40, 0, 0]]
    return out


def samples():
    out = np.zeros((2, CLASSES, BUFFER_KINDS), BUFFER_STATS)
    out["least_bytes"], out["most_bytes"] = NO_SAMPLE_MIN, NO_SAMPLE_MAX
    return out


def test_present_bytes_of_each_pool():
    columns = SwitchBuffStats(switches()).on_tick(Tick(3 * MS, "switch-buffers", buffers=buffers()))
    assert columns["uldl"] == "-" and columns["sim_time_sec"] == 0.003
    names = ("component_name", "tier", "node_id", "pool_num", "buff_id", "buff_limit", "bytes", "pct_util")
    assert [tuple(columns[name][i] for name in names) for i in range(6)] == [
        ("RackSwitch-0", 2, 8, 0, "egressQueue", 2_000, 1_000, 50),
        ("RackSwitch-0", 2, 8, 0, "ingressUsage", 2_000, 1_500, 75),
        ("RackSwitch-0", 2, 8, 3, "egressQueue", 500, 125, 25),
        ("RackSwitch-0", 2, 8, 3, "ingressUsage", 500, 100, 20),
        ("SpineSwitch-0", 0, 9, 0, "egressQueue", 4_000, 40, 1),
        ("SpineSwitch-0", 0, 9, 0, "ingressUsage", 4_000, 80, 2)]


def test_samples_of_each_pool_and_kind():
    record = SwitchAggBuffStats(switches())
    found = samples()
    for kind in range(BUFFER_KINDS):
        found[0, 0, kind]["most_bytes"] = 100 + kind
        found[0, 0, kind]["samples"] = 1
    # pool 3, egress of downlink ports: samples of 10, 40 and 70 bytes
    found[0, 1, B_OUT_DOWN] = (70, 3, 120, 10, 70)
    columns = record.on_tick(Tick(3 * MS, "switch-buffers", buffers=buffers(), buffer_stats=found))
    assert len(columns["buff_id"]) == 15 and list(columns["node_id"]) == [8] * 10 + [9] * 5
    assert list(columns["pool_num"]) == [0] * 5 + [3] * 5 + [0] * 5
    assert list(zip(columns["buff_id"][:5], columns["uldl"][:5], columns["ivl_max_bytes"][:5], strict=True)) == [
        ("egressQueue", "ul", 100 + B_OUT_UP), ("egressQueue", "dl", 100 + B_OUT_DOWN),
        ("ingressUsage", "ul", 100 + B_IN_UP), ("ingressUsage", "dl", 100 + B_IN_DOWN),
        ("sharedBuffer", "-", 100 + B_POOL)]
    assert row(columns, 6) == {
        "component_name": "RackSwitch-0", "tier": 2, "node_id": 8, "sim_time_sec": 0.003, "buff_id": "egressQueue",
        "uldl": "dl", "pool_num": 3, "total_bytes": 120, "buffer_limit": 500, "ivl_count": 3, "ivl_min_bytes": 10,
        "ivl_max_bytes": 70, "ivl_mean_bytes": 40, "ivl_max_pct_util": 14, "ivl_mean_pct_util": 8}


def test_samples_of_the_interval():
    record = SwitchAggBuffStats(switches())
    found = samples()
    found[1, 0, B_POOL] = (200, 4, 1_000, 100, 400)
    record.on_tick(Tick(3 * MS, "switch-buffers", buffers=buffers(), buffer_stats=found))
    found[1, 0, B_POOL] = (60, 6, 1_100, 40, 60)      # two more samples: 40 and 60
    two = row(record.on_tick(Tick(4 * MS, "switch-buffers", buffers=buffers(), buffer_stats=found)), 14)
    assert [two[name] for name in ("buff_id", "total_bytes", "ivl_count", "ivl_min_bytes", "ivl_max_bytes",
                                   "ivl_mean_bytes", "ivl_max_pct_util", "ivl_mean_pct_util")] == [
        "sharedBuffer", 1_100, 2, 40, 60, 50, 1.5, 1.25]
    found[1, 0, B_POOL] = (60, 6, 1_100, NO_SAMPLE_MIN, NO_SAMPLE_MAX)     # nothing changes: 60 bytes throughout
    three = row(record.on_tick(Tick(5 * MS, "switch-buffers", buffers=buffers(), buffer_stats=found)), 14)
    assert (three["total_bytes"], three["ivl_count"]) == (1_100, 0)
    assert (three["ivl_min_bytes"], three["ivl_max_bytes"], three["ivl_mean_bytes"]) == (60, 60, 60)


def test_documented_example_row_of_the_aggregate():
    """The page's row: 18,114 samples that sum to 8,856,181, 0 to 5,530 bytes, of a pool of 213,308,112."""
    pools, found = buffers(), samples()
    pools["size_bytes"][0, 0] = 213_308_112
    found[0, 0, B_OUT_DOWN] = (0, 18_114, 8_856_181, 0, 5_530)
    got = row(SwitchAggBuffStats(switches()).on_tick(
        Tick(3 * MS, "switch-buffers", buffers=pools, buffer_stats=found)), 1)
    assert (got["buff_id"], got["uldl"], got["pool_num"], got["total_bytes"]) == ("egressQueue", "dl", 0, 8_856_181)
    figures = got["ivl_mean_bytes"], got["ivl_max_pct_util"], got["ivl_mean_pct_util"]
    assert [f"{figure:.6g}" for figure in figures] == ["488.914", "0.00259249", "0.000229205"]


def test_a_rank_without_switches_or_pools_writes_nothing():
    tick = Tick(3 * MS, "switch-buffers")
    assert SwitchBuffStats(shard()).on_tick(tick) is None and SwitchAggBuffStats(shard()).on_tick(tick) is None
    empty = Tick(3 * MS, "switch-buffers", buffers=np.zeros((2, CLASSES), BUFFER), buffer_stats=samples())
    assert SwitchBuffStats(switches()).on_tick(empty) is None and SwitchAggBuffStats(switches()).on_tick(empty) is None


# ---- files -----------------------------------------------------------------------------------------------------------

def test_files_hold_the_rows_of_their_clocks(tmp_path):
    names, pools = ("switch_node_id", "switch_name", "switch_tier", "switch_pools"), switches()
    one = dataclasses.replace(cable(tmp_path), **{name: getattr(pools, name) for name in names})
    with open_records(one, {**ON, **USUAL_OFF}) as records:
        assert records.has("start") and records.has("switch-buffers")
        records.on_tick(Tick(0, "start"))
        for k in (3, 4):
            records.on_tick(Tick(k * MS, "nd", ports=np.zeros(2, PORT_COUNTERS)))
        records.on_tick(Tick(3 * MS, "switch-buffers", buffers=buffers(), buffer_stats=samples()))
    rows = {file["record"]: file["rows"] for file in records.files() if file["record"] in DOCUMENTED}
    assert rows == {"topology-report": 2, "tier-hop": 2, "mpi-stats": 2, "mpi-profiling": 2, "cpu-mem-stats": 2,
                    "scala-switch-agg-buff-stats": 15, "scala-switch-buff-stats": 6}
    for record in DOCUMENTED:
        assert merge(tmp_path, record).height == rows[record]
    text = (tmp_path / "sim-topology-report-0.csv").read_text().splitlines()
    assert text[1] == ("NIC-0,NIC,3,4294967295,0,distsim::UetNicDevice,0,RackSwitch-0,Switch,2,4294967295,1,"
                       "distsim::SwitchPortDevice,0,400.0,100.0")


def test_nothing_is_written_by_default(tmp_path):
    with open_records(shard(tmp_path)) as records:
        assert not {file["record"] for file in records.files()} & set(DOCUMENTED)
