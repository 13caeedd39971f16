"""Every problem of a configuration is one line with file, line, path, bad value and what is valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from distsim.config import ConfigError, load
from distsim.errors import InputError

HEAD = "simulation: t1\nfabric: {kind: leaf-spine}\nworkload: {kind: permutation}\n"  # three lines
TRANSPORT = "nic.TransportProcessingLayers."


def problems(folder: Path, text: str, *sets: str) -> list[str]:
    """What `load` finds, without the folder's name."""
    path = folder / "f.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path, sets)
    found = getattr(caught.value, "problems", [caught.value])
    assert str(found[0]) == str(caught.value)
    return [str(entry).replace(f"{folder}/", "") for entry in found]


@pytest.mark.parametrize(("text", "message"), [
    ("sed: 1\n", "f.yaml:4: sed: unknown key 'sed'; nearest valid name: seed"),
    ("simulationparameters: {}\n", "f.yaml:4: simulationparameters: unknown key 'simulationparameters'; nearest valid "
                                   "name: SimulationParameters"),
    ("nic:\n  EnableTransportStat: true\n",
     "f.yaml:5: nic.EnableTransportStat: unknown key 'EnableTransportStat'; nearest valid name: EnableTransportStats"),
    ("nic:\n  TrimmingEnabled: true\n", "f.yaml:5: nic.TrimmingEnabled: unknown key 'TrimmingEnabled'; it belongs at "
     + TRANSPORT + "ScalaUETPdsManager.TrimmingEnabled"),
    ("nic:\n  NetworkInterface:\n    TransmissionMedium:\n      Delay: 100\n",
     "f.yaml:7: nic.NetworkInterface.TransmissionMedium.Delay: 100 has no unit; a time needs one of ps, ns, us, ms, s, "
     "e.g. 100ns"),
    ("nic:\n  NetworkInterface:\n    UplinkNetworkInterface: {DataRate: 400GBps}\n",
     "f.yaml:6: nic.NetworkInterface.UplinkNetworkInterface.DataRate: '400GBps' has unknown unit 'GBps'; a data rate "
     "needs one of bps, Kbps, Mbps, Gbps, Tbps, e.g. 400Gbps"),
    ("nic:\n  NetworkInterface:\n    UplinkNetworkInterface: {DataRate: 100Mbps}\n",
     "f.yaml:6: nic.NetworkInterface.UplinkNetworkInterface.DataRate: 100Mbps is out of range; valid: 1Gbps to 100Tbps "
     "(default 400Gbps)"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETPdsManager:\n      AckRequestEveryNthPacket: 1025\n",
     f"f.yaml:7: {TRANSPORT}ScalaUETPdsManager.AckRequestEveryNthPacket: 1025 is out of range; valid: 1 to 1024 "
     "(default 1)"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETPdsManager: {TrimmingEnabled: yes}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETPdsManager.TrimmingEnabled: 'yes' is not true or false"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETPdsManager: {PacketSprayingType: Default Spraying}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETPdsManager.PacketSprayingType: 'Default Spraying' is not valid; valid values: "
     "None, Default Packet Spraying, Recycled Entropy Packet Spraying; nearest: Default Packet Spraying"),
    ("nic:\n  TransportProcessingLayers:\n    SemanticLayer: {RdmaDataMSS: 65430}\n",
     f"f.yaml:6: {TRANSPORT}SemanticLayer.RdmaDataMSS: 65430 is out of range; valid: 1 to 65429 (default 4096)"),
    ("nic:\n  TransportProcessingLayers:\n    SemanticLayer: {RdmaDataMSS: 4096.0}\n",
     f"f.yaml:6: {TRANSPORT}SemanticLayer.RdmaDataMSS: 4096.0 is not a whole number; valid: 1 to 65429 (default 4096)"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {Gamma: '0.5'}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.Gamma: '0.5' is not a number; valid: 0.001 to 1.0 (default 0.8)"),
    ("nic: [1]\n", "f.yaml:4: nic: [1] is not a section of keys"),
    ("seed: -1\n", "f.yaml:4: seed: -1 is not a seed; valid: whole numbers 0 to 9223372036854775807 (default 1)"),
    ("SimulationParameters: {RunTime: 5s}\n",
     "f.yaml:4: SimulationParameters.RunTime: '5s' is not a number; valid: 0.0 to 1000000.0 (default 1.0)"),
    ("SimulationParameters: {StartTime: .nan}\n",
     "f.yaml:4: SimulationParameters.StartTime: nan is out of range; valid: 0.0 to 1000000.0 (default 0.001)"),
    ("SimulationParameters: {TriggerDelay: 0}\n",
     "f.yaml:4: SimulationParameters.TriggerDelay: 0ps is out of range; valid: 1ps to 100s (default 100ns)"),
    ("nic_overrides: {}\n", "f.yaml:4: nic_overrides: {} is not a list of overrides"),
    ("nic_overrides:\n- set: {}\n", "f.yaml:5: nic_overrides.0: an override needs racks, names or both"),
    ("nic_overrides:\n- racks: [-1]\n  set: {}\n",
     "f.yaml:5: nic_overrides.0.racks.0: -1 is out of range; input should be greater than or equal to 0"),
    ("nic_overrides:\n- racks: [0]\n  set:\n    Networkinterface: {}\n",
     "f.yaml:7: nic_overrides.0.set.Networkinterface: unknown key 'Networkinterface'; nearest valid name: "
     "NetworkInterface"),
    ("switch_overrides:\n- tiers: [leaf]\n  set: {}\n",
     "f.yaml:5: switch_overrides.0.tiers.0: 'leaf' is not valid; valid values: 'rack', 'fabric' or 'spine'"),
])
def test_one_problem(tmp_path: Path, text: str, message: str) -> None:
    assert problems(tmp_path, HEAD + text) == [message]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("simulation: t1\n", "", "f.yaml:1: simulation: this key is required: Name of the run"),
    ("t1", "7", "f.yaml:1: simulation: 7 is not a name; use letters, digits, - and _ (at most 100, first a letter or "
                "digit); put it in quotes"),
    ("t1", "-t", "f.yaml:1: simulation: '-t' is not a name"),
    ("t1", "a b", "f.yaml:1: simulation: 'a b' is not a name"),
    ("kind: leaf-spine", "kind: leaf-spin", "f.yaml:2: fabric.kind: 'leaf-spin' is not valid; valid values: "
                                            "leaf-spine, fat-tree, topo, ns3, rail-optimised; nearest: leaf-spine"),
    ("kind: leaf-spine", "k: 4", "f.yaml:2: fabric: kind is required; valid values: leaf-spine, fat-tree, topo"),
    ("{kind: leaf-spine}", "leaf-spine", "f.yaml:2: fabric: 'leaf-spine' is not a section of keys; it needs kind, "
                                         "valid values: leaf-spine, fat-tree, topo"),
    ("kind: leaf-spine", "kind: leaf-spine, rack: 2",
     "f.yaml:2: fabric.rack: unknown key 'rack'; nearest valid name: racks"),
    ("kind: permutation", "kind: permutation, file: no.cm", "f.yaml:3: workload.file: "),
    ("kind: permutation", "kind: permutation, size: 3",
     "f.yaml:3: workload.size: 3 has no unit; a size needs one of B, KB"),
    ("{kind: permutation}", "\n  kind: several\n  parts:\n  - kind: permutation\n    sise: 1MB",
     "f.yaml:7: workload.parts.0.sise: unknown key 'sise'; nearest valid name: size"),
    ("{kind: permutation}",
     "\n  kind: several\n  parts:\n  - kind: flows\n    flows:\n    - {from: 0, to: x, size: 1MB}",
     "f.yaml:8: workload.parts.0.flows.0.to: 'x' is not a whole number"),
])
def test_one_problem_of_the_head(tmp_path: Path, old: str, new: str, message: str) -> None:
    found = problems(tmp_path, HEAD.replace(old, new))
    assert len(found) == 1
    assert found[0].startswith(message)


@pytest.mark.parametrize(("path", "value", "accepted"), [
    ("nic.NumDownLinks", "2", "2 cannot be set (read-only); the only value accepted is 1"),
    ("switch.EnableLoadBalancingStats", "true",
     "true is not modelled in this version; the only value accepted is false"),
    ("switch.LoadBalancingStatsReportInterval", "2ms",
     "2ms is not modelled in this version; the only value accepted is 1ms"),
    ("switch.PacketTrimmer.TrimmingStatsEnabled", "true",
     "true is not modelled in this version; the only value accepted is false"),
])
def test_what_is_not_modelled_is_refused(tmp_path: Path, path: str, value: str, accepted: str) -> None:
    assert problems(tmp_path, HEAD, f"{path}={value}") == [f"--set: {path}: {accepted}"]


@pytest.mark.parametrize("side", ["Ingress", "Egress"])
def test_the_probabilistic_scheduler_stops_a_run(tmp_path: Path, side: str) -> None:
    path = f"nic.NetworkInterface.{side}BufferManager.QueueSchedulingType"
    assert problems(tmp_path, HEAD, f"{path}=ProbabilisticWeightedRoundRobin") == [
        f"--set: {path}: 'ProbabilisticWeightedRoundRobin' stops a run on this NIC; valid values: StrictPriority, "
        "RoundRobin, WeightedRoundRobin"]
    (found,) = problems(tmp_path, HEAD, f"{path}=Strict")
    assert found == (f"--set: {path}: 'Strict' is not valid; valid values: StrictPriority, RoundRobin, "
                     "WeightedRoundRobin; nearest: StrictPriority")


@pytest.mark.parametrize(("text", "message"), [
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl:\n      InitialBaseRTT: 0\n",
     f"f.yaml:7: {TRANSPORT}ScalaUETCongestionControl.InitialBaseRTT: 0 makes the target queue delay 0"),
    # 1.5 x 400 Gb/s x 55 ns / 8 = 4,125 B, one packet is 4,184 B; 56 ns give 4,200 B.
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {InitialBaseRTT: 55ns}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.InitialBaseRTT: the maximum window 1.5 x 400Gbps x 55ns is 4125 "
     "B, less than one packet of 4184 B"),
    # 1.5 x 400 Gb/s x 57.3 ms / 8 = 4,297,500,000 B > 2^32 - 1.
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {InitialBaseRTT: 57300us}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.InitialBaseRTT: the maximum window 1.5 x 400Gbps x 57300us is "
     "4297500000 B, more than 4294967295 B"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {ReferenceNetworkRTT: 0}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.ReferenceNetworkRTT: the reference RTT must be more than 0"),
    # 400 Gb/s x 86 ms / 8 = 4,300,000,000 B.
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {ReferenceNetworkRTT: 86ms}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.ReferenceNetworkRTT: 400Gbps x 86ms is 4300000000 B, more than"),
    ("nic:\n  TransportProcessingLayers:\n    ScalaUETCongestionControl: {OverrideSpecTargetQueueDelay: true, "
     "TargetQueueDelay: 0}\n",
     f"f.yaml:6: {TRANSPORT}ScalaUETCongestionControl.TargetQueueDelay: the target queue delay must be more than 0"),
    ("switch:\n  SharedBufferManager: {PlaneBDP: 4183B, QueueDropThreshold: 1, UETPolicyEnabled: true}\n",
     "f.yaml:5: switch.SharedBufferManager.PlaneBDP: a queue of 4183B cannot hold one data packet (4184 B"),
    ("switch:\n  EcnHandler: {MinThreshold: 0.9}\n",
     "f.yaml:5: switch.EcnHandler.MinThreshold: 0.9 is above MaxThreshold 0.8"),
    ("SimulationParameters: {RunTime: 0.001}\n",
     "f.yaml:4: SimulationParameters.RunTime: the run is over 0.001 s after StartTime, the workload starts 0.001 s "
     "after it"),
    ("nic_overrides:\n- racks: [0]\n  set:\n    TransportProcessingLayers:\n      ScalaUETCongestionControl:\n"
     "        InitialBaseRTT: 10ns\n",
     "f.yaml:9: nic_overrides.0.set.TransportProcessingLayers.ScalaUETCongestionControl.InitialBaseRTT: "
     "the maximum window 1.5 x 400Gbps x 10ns is 750 B"),
    # An override's larger packets count for every switch: 5 x 1,000 B < 8,192 + 88 B.
    ("switch:\n  SharedBufferManager: {PlaneBDP: 1000B, UETPolicyEnabled: true}\nnic_overrides:\n- racks: [0]\n  set:\n"
     "    TransportProcessingLayers:\n      SemanticLayer: {RdmaDataMSS: 8192}\n",
     "f.yaml:5: switch.SharedBufferManager.PlaneBDP: a queue of 5KB cannot hold one data packet (8280 B"),
])
def test_rules_between_attributes(tmp_path: Path, text: str, message: str) -> None:
    found = problems(tmp_path, HEAD + text)
    assert len(found) == 1
    assert found[0].startswith(message)


def test_the_least_base_rtt_that_fits_one_packet(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + "nic: {TransportProcessingLayers: {ScalaUETCongestionControl: {InitialBaseRTT: 56ns}}}\n")
    assert load(path).nic.TransportProcessingLayers.ScalaUETCongestionControl.InitialBaseRTT == 56_000


def test_all_problems_are_found_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = problems(tmp_path, HEAD + "switch: {NumUplinks: 1}\nnic: {NumDownLinks: 2}\nsed: 2\n")
    assert [entry.split(" ")[0] for entry in found] == ["f.yaml:4:", "f.yaml:5:", "f.yaml:6:"]


def test_at_most_ten_problems_are_reported(tmp_path: Path) -> None:
    text = HEAD + "".join(f"unknown{i}: 1\n" for i in range(15))
    assert len(problems(tmp_path, text)) == 10


def test_a_file_that_is_no_configuration(tmp_path: Path) -> None:
    assert problems(tmp_path, "- 1\n") == [
        "f.yaml:1: [1] is not a configuration; write keys such as simulation, fabric and workload"]


def test_errors_are_input_errors_with_parts(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(HEAD + "sed: 1\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    error = caught.value
    assert (error.exit_code, error.file, error.line, error.where) == (2, str(path), 4, "sed")
