"""Cluster files: nodes, labels, resources, cordons, queues."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_cases import load_text

from distsim.cluster import Node, Queue, Taint, load_cluster
from distsim.cluster.labels import architecture, parse_amount
from distsim.cluster.spec import node_name

CLUSTER12 = Path(__file__).parents[1] / "configs" / "cluster12.yaml"


def test_cluster12_has_what_its_name_says() -> None:
    cluster = load_cluster(str(CLUSTER12))
    assert [node.name for node in cluster.nodes] == [f"node{i:03}" for i in range(12)]
    assert {(node.gpus, len(node.nics), node.labels["nvidia.com/gpu.present"]) for node in cluster.nodes} == {
        (8, 8, "true")}
    assert cluster.nodes[11].nics == tuple(range(88, 96))
    assert (cluster.name, cluster.platform) == ("cluster12", "sim")
    assert cluster.fabric == {"kind": "leaf-spine", "racks": 6, "nics_per_rack": 16}
    assert cluster.settings["nic"]["NetworkInterface"]["UplinkNetworkInterface"] == {"DataRate": "400Gbps"}
    assert cluster.settings["switch"]["PacketTrimmer"] == {"TrimmingEnabled": True}
    assert [queue.name for queue in cluster.queues] == ["default-queue", "high-priority", "team-a"]


def test_a_node_is_all_that_its_pool_and_overrides_say(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        platform: onprem
        pools:
          - name: gpu
            count: 2
            names: gb{00}
            first: 9
            platform: aws
            chips: {product: NVIDIA-GB200-NVL72, count: 4}
            nics: {count: 2, rate: 800Gbps, resource: rdma/ib}
            labels: {zone: a, nvidia.com/gpu.count: null}
            annotations: {note: "any text, at all"}
            taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
            capacity: {cpu: 96, memory: 2Ti}
            allocatable: {cpu: "90"}
        overrides:
          - nodes: [gb10]
            labels: {zone: null, spare: "yes"}
            taints: [{key: broken, value: fan, effect: NoExecute}]
            allocatable: {nvidia.com/gpu: 1}
        cordoned: ["gb1*"]
        network: {kind: rack, nodes_per_rack: 1}
        """)
    gpu = Taint("nvidia.com/gpu", "", "NoSchedule")
    capacity = {"cpu": 96, "memory": 2 * 2**40, "nvidia.com/gpu": 4, "rdma/ib": 2}
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-GB200-NVL72"}
    assert cluster.nodes == (
        Node("gb09", {"kubernetes.io/hostname": "gb09", **labels, "zone": "a", "topology.kubernetes.io/rack": "rack-0"},
             {"note": "any text, at all"}, (gpu,), 4, (0, 1), False, "gpu", {**capacity, "cpu": 90}, capacity,
             "rack-0", "aws"),
        Node("gb10", {"kubernetes.io/hostname": "gb10", **labels, "spare": "yes",
                      "topology.kubernetes.io/rack": "rack-1"},
             {"note": "any text, at all"}, (gpu, Taint("broken", "fan", "NoExecute")), 1, (2, 3), True, "gpu",
             {**capacity, "cpu": 90, "nvidia.com/gpu": 1}, capacity, "rack-1", "aws"))
    assert cluster.by_name["gb10"] is cluster.nodes[1]


def test_pools_are_numbered_in_order_and_may_lack_chips_or_nics(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools:
          - {name: gpu, count: 2, chips: {count: 2}}
          - {name: store, count: 1, names: store, chips: null}
          - {name: login, count: 1, names: login, chips: null, nics: null}
          - {name: npu, count: 1, names: "npu{0}", chips: {product: Ascend910B, count: 2, resource: huawei.com/npu}}
        """)
    assert [(node.name, node.gpus, node.nics) for node in cluster.nodes] == [
        ("node000", 2, (0, 1)), ("node001", 2, (2, 3)), ("store", 0, (4,)), ("login", 0, ()), ("npu0", 2, (5, 6))]
    assert "nvidia.com/gpu.present" not in cluster.by_name["store"].labels
    assert "nvidia.com/gpu.present" not in cluster.by_name["npu0"].labels
    assert cluster.by_name["login"].rack == ""
    assert cluster.by_name["npu0"].resources == {"huawei.com/npu": 2}


def test_queues_and_defaults(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 1}]
        queues: [{name: q, weight: 3, priority: -1}, {name: r}]
        """)
    assert cluster.queues == (Queue("q", 3, -1), Queue("r", 1, 0))
    assert (cluster.name, cluster.platform, cluster.workloads) == ("cluster", "sim", {})
    assert load_text(tmp_path, "pools: [{name: a, count: 1}]").queues == ()


def test_sections_of_configurations_are_settings(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 2, nics: {count: 1, rate: 200Gbps}}]
        network: {kind: rack, nic_delay: 50ns, uplink_delay: 300ns}
        SimulationParameters: {RunTime: 2.0}
        nic:
          NetworkInterface: {TransmissionMedium: {Delay: 70ns}}
        nic_overrides: [{names: [NIC-1], set: {NetworkInterface: {TransmissionMedium: {Delay: 1us}}}}]
        nccl: {steady: true, scale_up: {gpus_per_server: 8}}
        """)
    assert cluster.settings == {
        "nic": {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "200Gbps"},
                                     "TransmissionMedium": {"Delay": "70ns"}}},
        "switch": {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "200Gbps"},
                                        "DownlinkNetworkInterface": {"DataRate": "200Gbps"},
                                        "TransmissionMedium": {"Delay": "300ns"}}},
        "SimulationParameters": {"RunTime": 2.0},
        "nic_overrides": [{"names": ["NIC-1"], "set": {"NetworkInterface": {"TransmissionMedium": {"Delay": "1us"}}}}],
        "nccl": {"steady": True, "scale_up": {"gpus_per_server": 8}},
    }


def test_workloads_are_sections(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 2}]
        workloads:
          ring: {collective: {collective: all_reduce, size: 64MiB}}
        """)
    assert cluster.workloads == {"ring": {"kind": "collective", "collective": "all_reduce", "size": "64MiB"}}


@pytest.mark.parametrize(("pattern", "number", "name"), [
    ("node{000}", 7, "node007"), ("node{000}", 1234, "node1234"), ("n{0}.rack", 12, "n12.rack"), ("login", 0, "login"),
    ("1.1.0.{0}", 4, "1.1.0.4")])
def test_names(pattern: str, number: int, name: str) -> None:
    assert node_name(pattern, number) == name


@pytest.mark.parametrize(("product", "name"), [
    ("NVIDIA-H100-80GB-HBM3", "h100"), ("NVIDIA-GB200-NVL72", "gb200"), ("NVIDIA-GB300", "gb300"),
    ("Tesla-T4", "tesla"), ("NVIDIA-RTX-PRO-6000-Blackwell", "rtxpro6000"), ("", "unknown")])
def test_architecture_of_a_product(product: str, name: str) -> None:
    assert architecture(product) == name


@pytest.mark.parametrize(("text", "amount"), [(8, 8), ("192", 192), ("2Ti", 2 * 2**40), ("3k", 3000), ("4000m", 4),
                                              ("0", 0), ("1Gi", 2**30), ("5M", 5_000_000)])
def test_amounts(text: str | int, amount: int) -> None:
    assert parse_amount(text, "cpu") == amount


@pytest.mark.parametrize("text", ["-1", "1500m", "many", True, 1.5, "", "1e3", None])
def test_amounts_that_are_none(text: object) -> None:
    with pytest.raises(ValueError, match=r"^cpu: .* is not a whole amount of 0 or more"):
        parse_amount(text, "cpu")


@pytest.mark.parametrize(("platform", "label"), [
    ("sim", "topology.kubernetes.io/rack"), ("aws", "topology.k8s.aws/network-node-layer-1"),
    ("gcp", "cloud.google.com/gce-topology-block"), ("azure", "kubernetes.azure.com/ppg")])
def test_the_label_of_a_rack_is_the_platforms(tmp_path: Path, platform: str, label: str) -> None:
    cluster = load_text(tmp_path, f"platform: {platform}\npools: [{{name: a, count: 5}}]")
    assert cluster.rack_label == label
    assert [node.labels[label] for node in cluster.nodes] == ["rack-0"] * 4 + ["rack-1"]


def test_a_rack_label_that_the_file_gives_stays(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 2, labels: {where: here}}]
        network: {kind: rack, rack_label: where}
        """)
    assert [node.labels["where"] for node in cluster.nodes] == ["here", "here"]


def test_null_takes_the_label_of_the_rack_away_too(tmp_path: Path) -> None:
    rack = "topology.kubernetes.io/rack"
    found = load_text(tmp_path, f"""
        pools:
          - {{name: a, count: 2, names: "a{{0}}"}}
          - {{name: b, count: 2, names: "b{{0}}", labels: {{{rack}: null}}}}
        overrides:
          - {{nodes: [a0], labels: {{{rack}: null}}}}
          - {{nodes: [b1], labels: {{{rack}: mine}}}}
        """)
    assert [node.labels.get(rack) for node in found.nodes] == [None, "rack-0", None, "mine"]
    assert [node.rack for node in found.nodes] == ["rack-0"] * 4
