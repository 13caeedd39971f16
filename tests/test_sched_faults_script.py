"""The fault script: what is read, what is refused with which message, and the section for the packet simulation."""

from __future__ import annotations

from pathlib import Path

import pytest
import sched_cases as cases

from distsim.cluster import Cluster, load_cluster
from distsim.config.faults import FaultsSection
from distsim.errors import InputError
from distsim.scheduler.faults import Fault, fabric_section, read_faults, read_script

CLUSTER = """
pools:
  - name: npu
    count: 4
    names: n{0}
    chips: {product: Ascend910B, count: 2, resource: huawei.com/Ascend910}
    nics: {count: 2, rate: 400Gbps}
network: {kind: rack, nodes_per_rack: 2, spines: 2}
"""
S = 10**12


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER)
    return load_cluster(str(path))


def read(cluster: Cluster, text: str, tmp_path: Path, jobs: bool = False) -> list[Fault]:
    path = tmp_path / "faults.yaml"
    path.write_text(text)
    return read_faults(str(path), cluster, [cases.job(2, 2, "train")] if jobs else None)


def one(cluster: Cluster, entry: str, tmp_path: Path) -> Fault:
    return read(cluster, f"faults:\n  - {{{entry}}}\n", tmp_path)[0]


def test_a_chip_fault_in_the_words_of_the_seed(cluster: Cluster, tmp_path: Path) -> None:
    fault = one(cluster, "at: 10s, duration: 30s, fault_type: CardUnhealthy, npu_name: 'Ascend910-1, Ascend910-0', "
                         "node: n2, fault_handling: RestartNPU, fault_code: \"80E18005,0x8C2FA009\"", tmp_path)
    assert (fault.target, fault.node, fault.chips, fault.mask) == ("chip", "n2", (0, 1), 3)
    assert (fault.fault_type, fault.level, fault.codes) == ("CardUnhealthy", "RestartNPU", ("80E18005", "0x8C2FA009"))
    assert (fault.begin_ms, fault.end_ms, fault.line) == (10_000, 40_000, 2)


@pytest.mark.parametrize("key", ["fault_handling", "fault_level", "large_model_fault_level"])
def test_the_level_has_three_names(cluster: Cluster, tmp_path: Path, key: str) -> None:
    assert one(cluster, f"at: 1s, node: n0, npu_name: Ascend910-0, {key}: FreeRestartNPU", tmp_path).level == (
        "FreeRestartNPU")


@pytest.mark.parametrize(("entry", "kind", "level", "state"), [
    ("npu_name: Ascend910-0", "CardUnhealthy", "SeparateNPU", None),
    ("npu_name: Ascend910-0, fault_type: CardNetworkUnhealthy", "CardNetworkUnhealthy", "PreSeparateNPU", None),
    ("npu_name: Ascend910-0, fault_code: Disconnected", "CardNetworkUnhealthy", "PreSeparateNPU", None),
    ("npu_name: Ascend910-0, fault_code: 'Disconnected,heartbeatTimeOut,80E18005'", "CardUnhealthy", "SeparateNPU",
     "UnHealthy"),
    ("fault_type: NodeUnhealthy", "NodeUnhealthy", "", "UnHealthy"),
    ("fault_code: heartbeatTimeOut", "NodeUnhealthy", "", "UnHealthy"),
    ("NodeHealthState: UnHealthy", "NodeUnhealthy", "", "UnHealthy"),
    ("NodeHealthState: PreSeparate", "", "", "PreSeparate"),
    ("NodeHealthState: SubHealthy", "", "", "SubHealthy"),
    ("NodeHealthState: Healthy", "", "", "Healthy"),
])
def test_what_an_entry_means_by_itself(cluster: Cluster, tmp_path: Path, entry: str, kind: str, level: str,
                                       state: str | None) -> None:
    fault = one(cluster, f"at: 0, node: n0, {entry}", tmp_path)
    assert (fault.fault_type, fault.level, fault.state) == (kind, level, state)


def test_node_d_enable_is_read(cluster: Cluster, tmp_path: Path) -> None:
    assert not one(cluster, "at: 0, node: n0, NodeDEnable: false", tmp_path).detection
    assert one(cluster, "at: 0, node: n0, NodeDEnable: true", tmp_path).detection


def test_a_fault_for_good_never_ends(cluster: Cluster, tmp_path: Path) -> None:
    assert one(cluster, "at: 1500us, node: n0", tmp_path).end_ms is None


def test_the_scheduler_sees_whole_milliseconds(cluster: Cluster, tmp_path: Path) -> None:
    fault = one(cluster, "at: 1500us, duration: 1ms, node: n0", tmp_path)
    assert (fault.begin_ms, fault.end_ms) == (2, 3)            # 1.5 ms and 2.5 ms, rounded up


def test_pods_and_processes(cluster: Cluster, tmp_path: Path) -> None:
    text = ("faults:\n  - {at: 5s, target: pod, job: train, rank: 1, exit_code: 137}\n"
            "  - {at: 6s, target: process, job: default/train, rank: 3}\n")
    pod, process = read(cluster, text, tmp_path, jobs=True)
    assert (pod.target, pod.job, pod.rank, pod.exit_code) == ("pod", "train", 1, 137)
    assert (process.target, process.job, process.rank, process.exit_code) == ("process", "default/train", 3, 1)


def test_devices_of_the_fabric(cluster: Cluster, tmp_path: Path) -> None:
    """Hosts go through a rack: n0 has NIC-0 and NIC-1, n3 has NIC-6 and NIC-7; RackSwitch-0 holds n0 and n1."""
    text = """
faults:
  - {at: 1s, target: nic, node: n3, index: 1}
  - {at: 1s, target: nic, name: NIC-6}
  - {at: 1s, target: link, between: [RackSwitch-0, "SpineSwitch-*"]}
  - {at: 1s, target: link, between: [RackSwitch-0, NIC-1]}
  - {at: 1s, target: switch, name: RackSwitch-0}
  - {at: 1s, target: switch, name: SpineSwitch-1}
"""
    faults = read(cluster, text, tmp_path)
    assert [fault.cuts for fault in faults] == [
        (("n3", 2),), (("n3", 1),), (), (("n0", 2),), (("n0", 3), ("n1", 3)), ()]
    assert faults[0].names == ("NIC-7",) and faults[4].names == ("RackSwitch-0",)


@pytest.mark.parametrize(("entry", "message"), [
    ("at: 1s, node: nn0", "faults.0.node: no node is called 'nn0'; nearest: n0"),
    ("at: 1s, node: n0, npu_name: Ascend910-2", "node n0 has no chip 'Ascend910-2'; valid: Ascend910-0 to Ascend910-1"),
    ("at: 1s, node: n0, npu_name: Ascend310-0", "node n0 has no chip 'Ascend310-0'; valid: Ascend910-0 to Ascend910-1"),
    ("at: 1s, node: n0, npu_name: 'Ascend910-0,Ascend910-0'", "node n0 has no chip 'Ascend910-0' twice"),
    ("at: 1s, node: n0, target: gpu", "'gpu' is not valid; valid values: chip, node, nic, link, switch, pod, process"),
    ("at: 1s", "target is required; valid values: chip, node, nic, link, switch, pod, process"),
    ("node: n0", "faults.0.at: this key is required"),
    ("at: 10, node: n0", "10 has no unit"),
    ("at: 1s, duration: 0, node: n0", "out of range"),
    ("at: 1s, nod: n0, target: node", "unknown key 'nod'; nearest valid name: node"),
    ("at: 1s, target: nic, node: n0, index: 2", "node n0 has NICs 0 to 1, not 2"),
    ("at: 1s, target: nic, name: NIC-8", "no device is called 'NIC-8'; the nearest name is"),
    ("at: 1s, target: nic, node: n0", "a nic is named by name: NIC-3, or by node and index"),
    ("at: 1s, target: nic", "a nic is named by name: NIC-3, or by node and index"),
    ("at: 1s, target: switch, name: RackSwitch-2", "no device is called 'RackSwitch-2'; the nearest name is"),
    ("at: 1s, target: switch, name: NIC-0", "'NIC-0' is no switch; valid: e.g."),
    ("at: 1s, target: switch", "name is required of a switch fault"),
    ("at: 1s, target: link, between: [RackSwitch-0, RackSwitch-1]", "no cable runs between 'RackSwitch-0' and "),
    ("at: 1s, target: link, between: [Rack-0, SpineSwitch-0]", "no device is called 'Rack-0'"),
    ("at: 1s, target: pod, job: train, duration: 1s", "duration is not for a pod fault; valid: exit_code, job, rank"),
    ("at: 1s, target: pod", "job is required of a pod fault"),
    ("at: 1s, target: pod, job: train, exit_code: 0", "0 is out of range; valid: 1 to 255"),
    ("at: 1s, target: chip, node: n0", "npu_name is required of a chip fault"),
    ("at: 1s, node: n0, npu_name: Ascend910-0, fault_handling: RestartNpu", "nearest: RestartNPU"),
    ("at: 1s, node: n0, npu_name: Ascend910-0, fault_handling: RestartNPU, fault_level: SeparateNPU",
     "fault_handling RestartNPU, fault_level SeparateNPU contradict each other"),
    ("at: 1s, node: n0, fault_handling: RestartNPU", "fault_handling is not for a node fault"),
    ("at: 1s, node: n0, npu_name: Ascend910-0, fault_type: NodeUnhealthy", "fault_type NodeUnhealthy names no chip"),
    ("at: 1s, node: n0, fault_type: CardUnhealthy", "fault_type CardUnhealthy needs npu_name, e.g. Ascend910-3"),
    ("at: 1s, node: n0, fault_type: Card", "valid values: CardUnhealthy, CardNetworkUnhealthy, NodeUnhealthy"),
    ("at: 1s, node: n0, fault_code: Disconnected", "fault_code Disconnected is of a chip; give npu_name"),
    ("at: 1s, node: n0, npu_name: Ascend910-0, fault_code: disconected", "'disconected' is not a fault code; valid: "
     "Disconnected, heartbeatTimeOut or hexadecimal, e.g. 80E18005; nearest: Disconnected"),
    ("at: 1s, node: n0, npu_name: Ascend910-0, fault_code: 80E18005", "write it in quotes"),
    ("at: 1s, node: n0, NodeHealthState: Unhealthy", "nearest: UnHealthy"),
    ("at: 1s, node: n0, NodeDEnable: 'True'", "'True' is not true or false"),
    ("at: 1s, node: n0, fault_type: NodeUnhealthy, NodeHealthState: Healthy", "contradicts fault_type NodeUnhealthy"),
])
def test_what_is_wrong_is_said(cluster: Cluster, tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        one(cluster, entry, tmp_path)
    assert message in str(error.value) and "faults.yaml:2" in str(error.value)


@pytest.mark.parametrize(("entry", "message"), [
    ("target: pod, job: tran", "no job is called 'tran'; nearest: train"),
    ("target: pod, job: train, rank: 2", "2 is no rank of job train, which has 2 pods; valid: 0 to 1"),
    ("target: process, job: train, rank: 4", "4 is no rank of job train, which has 4 processes, one a chip; valid: "
                                             "0 to 3"),
])
def test_jobs_are_checked_where_they_are_known(cluster: Cluster, tmp_path: Path, entry: str, message: str) -> None:
    text = f"faults: [{{at: 1s, {entry}}}]"
    with pytest.raises(InputError, match=message):
        read(cluster, text, tmp_path, jobs=True)
    assert len(read(cluster, text, tmp_path)) == 1


def test_a_name_of_two_jobs_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    jobs = [cases.job(2, 2, "train"), cases.job(2, 2, "train", namespace="b")]
    path.write_text("faults: [{at: 1s, target: pod, job: train}]")
    with pytest.raises(InputError, match="'train' is the name of several jobs; valid: default/train, b/train"):
        read_faults(str(path), cluster, jobs)
    path.write_text("faults: [{at: 1s, target: pod, job: b/train}]")
    assert read_faults(str(path), cluster, jobs)[0].job == "b/train"


def test_all_that_is_wrong_is_found_at_once(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(cluster, "faults:\n  - {at: 1s, node: m0}\n  - {at: 1s, node: m1}\n", tmp_path)
    assert [entry.line for entry in error.value.problems] == [2, 3]


def test_a_cluster_without_a_fabric_has_no_links(tmp_path: Path) -> None:
    bare = cases.cluster([cases.node("n0")])
    with pytest.raises(InputError, match="the cluster has no fabric, so no links and switches"):
        read(bare, "faults: [{at: 1s, target: switch, name: S}]", tmp_path)
    assert read(bare, "faults: [{at: 1s, target: nic, node: n0, index: 3}]", tmp_path)[0].cuts == (("n0", 8),)


def test_the_section_has_what_overlaps_in_relative_times(cluster: Cluster, tmp_path: Path) -> None:
    """Window [10 s, 20 s): one fault reaches into it, one lies in it, one goes beyond, two are outside."""
    text = """
faults:
  - {at: 4s, duration: 8s, target: nic, node: n0, index: 0}
  - {at: 12s, duration: 1s, target: link, between: [RackSwitch-0, SpineSwitch-1], detection_time: 2ms}
  - {at: 15s, target: switch, name: SpineSwitch-0}
  - {at: 4s, duration: 6s, target: nic, name: NIC-2}
  - {at: 20s, target: nic, name: NIC-3}
  - {at: 11s, node: n0}
"""
    faults = read(cluster, text, tmp_path)
    section = fabric_section(faults, cluster, start_ps=10 * S, end_ps=20 * S)
    assert section == {"events": [
        {"target": "nic", "at": "0ps", "duration": "2s", "name": "NIC-0"},
        {"target": "link", "at": "2s", "duration": "1s", "detection_time": "2ms",
         "between": ["RackSwitch-0", "SpineSwitch-1"]},
        {"target": "switch", "at": "5s", "name": "SpineSwitch-0"}]}
    FaultsSection.model_validate(section)


def test_an_open_window_and_one_without_faults(cluster: Cluster, tmp_path: Path) -> None:
    faults = read(cluster, "faults: [{at: 20s, target: nic, name: NIC-3}]", tmp_path)
    assert fabric_section(faults, cluster)["events"][0]["at"] == "20s"
    assert fabric_section(faults, cluster, end_ps=20 * S) == {}


def test_rates_of_the_whole_fabric_are_passed_on(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text("""
detection_time: 500us
packet_loss_rate: 0.0001
bit_error_rate: 1.0e-12
links: [{between: [RackSwitch-0, SpineSwitch-*], packet_loss_rate: 0.5}]
""")
    script = read_script(str(path), cluster)
    assert script.faults == () and fabric_section([], cluster, settings=script.fabric) == {
        "detection_time": "500us", "packet_loss_rate": 0.0001, "bit_error_rate": 1e-12,
        "links": [{"between": ["RackSwitch-0", "SpineSwitch-*"], "packet_loss_rate": 0.5}]}
    path.write_text("links: [{between: [RackSwitch-0, NIC-7], packet_loss_rate: 0.5}]")
    with pytest.raises(InputError, match=r"links\.0\.between: no cable runs between 'RackSwitch-0' and 'NIC-7'"):
        read_script(str(path), cluster)
    path.write_text("packet_loss_rate: 2")
    with pytest.raises(InputError, match=r"2 is out of range; valid: 0\.0 to 1\.0"):
        read_script(str(path), cluster)


def test_a_nic_of_another_cluster_is_refused(cluster: Cluster) -> None:
    with pytest.raises(InputError, match="no NIC is called 'NIC-90'; nearest: NIC-0"):
        fabric_section([Fault(0, "nic", 0, names=("NIC-90",))], cluster)
