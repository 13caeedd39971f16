"""SimulationParameters and the switches of the records: changing each changes what it should."""

from __future__ import annotations

from pathlib import Path

import pytest
from attribute_cases import BUFFER, GLOBAL, MONITOR, MONITOR_ONLY, RECORDS_ON, Case, check, config_of, run, ticks

import distsim

CHAKRA8 = Path(__file__).parent.parent / "configs" / "chakra8.yaml"
SHORT = {GLOBAL + "RunTime": 1.4e-5}           # 4 us of the workload, of which the first message takes 10
TIMES = {
    GLOBAL + "StartTime": Case("one", 2e-5, "perf total sim_time_sec", ">"),
    GLOBAL + "ClientStartOffset": Case("one", 2e-5, "perf total start_time_sec", ">"),
    GLOBAL + "WarmUp": Case("one", 1e-3, "perf kinds node_id", ">", SHORT),
    GLOBAL + "RunTime": Case("one", 1e-3, "perf kinds node_id", ">", SHORT),
    GLOBAL + "CoolDown": Case("one", 1e-3, "perf kinds node_id", ">", SHORT),
    GLOBAL + "NDStatsReportInterval": Case("one", 5e-6, "uet-transport-stats least sim_time_sec", "<"),
    GLOBAL + "NetworkBufferStatsReportingInterval": Case("one", 5e-6, "net-buff-stats least sim_time_sec", "<"),
    GLOBAL + "TriggerDelay": Case("in turn", "5us", "perf most start_time_sec", ">"),
    GLOBAL + "FailedLinks": Case("one", ["RackSwitch-0--SpineSwitch-1"], "nd-stats total tx_drops", ">", ticks(5e-4)),
    GLOBAL + "MaxRecordRows": Case("one", 1, "uet-monitor kinds packet_UID", "<"),
    BUFFER + "BufferStatsReportInterval": Case("one", "5us", "scala-switch-buff-stats least sim_time_sec", "<"),
}
# With false in place of true these records are not written.
RECORDS = {
    GLOBAL + "EnableNetDeviceStatLogging": ["nd-stats"],
    GLOBAL + "EnablePFCECNStatsLogging": ["ecn-pfc-stats"],
    GLOBAL + "EnableNetworkBufferStatsReporting": ["net-buff-stats"],
    GLOBAL + "EnablePCIeStatsLogging": ["pcie-stats"],
    GLOBAL + "EnableTopologyReport": ["topology-report"],
    GLOBAL + "EnableTierHop": ["tier-hop"],
    GLOBAL + "EnableMPIStats": ["mpi-stats"],
    GLOBAL + "EnableMPIProfiling": ["mpi-profiling"],
    GLOBAL + "EnableCPUMemStats": ["cpu-mem-stats"],
    GLOBAL + "EnableSwitchBufferStats": ["scala-switch-agg-buff-stats", "scala-switch-buff-stats"],
    "nic.EnableBufferStats": ["net-buff-stats"],
    "nic.EnableTransportStats": ["uet-transport-stats"],
    "nic.EnableEventLogging": ["uet-events"],
    MONITOR + "EnableUETMonitor": ["uet-monitor"],
}
# Of a workload of ranks: a value, and how many rows (files) there are then; the ranks of chakra8 end at 0.331 ms.
RANKS = {
    GLOBAL + "BeaconReportInterval": (1e-4, "chakra-cdf", 1, 4),       # at 1 ms; at 0.1, 0.2, 0.3 and 0.4 ms
    GLOBAL + "EnableAnnotatedTraces": (False, "post_annotated", 8, 0),
}
# Connections that are logged on two ranks with a limit of 1.
SCOPE = {GLOBAL + "MonitorScope": {"global": 1, "process": 2}}


@pytest.mark.parametrize("path", TIMES)
def test_times_and_run(path: str) -> None:
    check(path, TIMES[path])


@pytest.mark.parametrize("path", RECORDS)
def test_records_appear_and_disappear(path: str) -> None:
    """Written with true; with false there are no rows of it, and every other record is as before."""
    on, off = run("one"), run("one", {path: False})
    assert set(RECORDS[path]) <= set(on.records)
    for name in RECORDS[path]:
        assert name not in off.records or off.frame(name).height == 0
    rest = set(on.records) - set(RECORDS[path])
    assert rest <= set(off.records)
    for name in rest - {"mpi-stats", "mpi-profiling", "cpu-mem-stats"}:
        assert off.frame(name).drop("time_utc", strict=False).equals(
            on.frame(name).drop("time_utc", strict=False)), name


@pytest.mark.parametrize("path", RANKS)
def test_records_of_ranks(path: str, tmp_path: Path) -> None:
    value, record, before, after = RANKS[path]
    for directory, changes, expected in (("a", {}, before), ("b", {path: value}, after)):
        distsim.run(CHAKRA8, tmp_path / directory, set=changes)
        found = list((tmp_path / directory).glob(f"{record}/*.json"))
        if record != "post_annotated":
            found = distsim.open(tmp_path / directory).frame(record).collect().rows()
        assert len(found) == expected, directory


def test_rows_left_out_are_counted() -> None:
    """One row a component: of the 8 NICs' uet-transport-stats each has its first; run.json counts the others."""
    cut = run("one", {GLOBAL + "MaxRecordRows": 1})
    whole = run("one").frame("uet-transport-stats")
    kept = cut.frame("uet-transport-stats")
    assert sorted(kept["component_name"].to_list()) == [f"NIC-{host}" for host in range(8)]
    (file,) = [file for file in cut.info["files"] if file["record"] == "uet-transport-stats"]
    assert file["rows_left_out"] == whole.height - 8


@pytest.mark.ranks
@pytest.mark.parametrize("path", SCOPE)
def test_the_limit_of_triggers_counts_in_the_run_or_in_each_process(path: str, tmp_path: Path) -> None:
    """Senders 1, 2, 3 are on one rank and 4, 5 on the other; every connection reaches 1 us."""
    for scope, connections in SCOPE[path].items():
        found = distsim.run(config_of("crowd"), tmp_path / scope, ranks=2, set={
            **RECORDS_ON, **MONITOR_ONLY, MONITOR + "EnableUETMonitor": False,
            MONITOR + "TriggerLoggingOnRttEnable": True, MONITOR + "TriggerLoggingOnRttThreshold": "1us",
            MONITOR + "TriggeredLoggingPDCLimit": 1, path: scope})
        frame = found.frame("uet-monitor")
        senders = frame.filter(frame["packet_type"] == "ACK_CC", frame["direction"] == "Rx")["FEP_ID"]
        assert senders.n_unique() == connections, scope
