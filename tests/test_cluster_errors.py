"""Cluster files that are wrong: one line each, with file, line, path, the bad value and the valid ones."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from cluster_cases import load_text

from distsim.cluster import load_cluster
from distsim.cluster.hypernodes import HyperNodeSpec, Member
from distsim.cluster.network_spec import NETWORKS, Link, RackSpec
from distsim.cluster.spec import Chips, ClusterFile, Nics, NodeOverride, Pool, QueueSpec, TaintSpec
from distsim.cluster.tor_node import Server, Tor, TorInfo
from distsim.errors import InputError

A = "pools: [{name: a, count: 4}]\n"
CASES = [
    ("pools:\n  - name: a\n    count: 0\n", 3, "pools.0.count: 0 is out of range; valid: 1 to 200000"),
    ("pools:\n  - {name: a, count: 2.5}\n", 2, "pools.0.count: 2.5 is not a whole number; valid: 1 to 200000"),
    ("pools:\n  - {count: 2}\n", 2,
     "pools.0.name: this key is required: Name of the pool: letters, digits, -, _ and ., at most 63."),
    ("name: x\n", 1, "pools: this key is required: the nodes, e.g. pools: [{name: gpu, count: 12}]"),
    (A + "\nqueue: []\n", 3, "queue: unknown key 'queue'; nearest valid name: queues"),
    ("pools:\n  - {name: a, count: 2, chip: {}}\n", 2, "pools.0.chip: unknown key 'chip'; nearest valid name: chips"),
    ("pools:\n  - {name: a, count: 1, chips: {count: 0}}\n", 2,
     "pools.0.chips.count: 0 is out of range; valid: 1 to 1024 (default 8)"),
    ("pools:\n  - {name: a, count: 1, nics: {count: 0}}\n", 2,
     "pools.0.nics.count: 0 is out of range; valid: 1 to 1024"),
    ("pools:\n  - {name: a, count: 1, nics: {rate: 400}}\n", 2,
     "pools.0.nics.rate: 400 has no unit; a data rate needs one of bps, Kbps, Mbps, Gbps, Tbps, e.g. 400Gbps"),
    ("pools:\n  - {name: a, count: 2}\n  - {name: a, count: 2, first: 2}\n", 3,
     "pools.1.name: 'a' is the name of pools.0 already"),
    ("pools:\n  - {name: a, count: 2}\n  - {name: b, count: 2, first: 1}\n", 3,
     "pools.1: node 'node001' stands in pool 'a' already; give names or first"),
    ("pools:\n  - {name: a, count: 2, names: node}\n", 2,
     "pools.0: names: 'node' has no place for the number of the node; write e.g. node{000}"),
    ("pools:\n  - {name: a, count: 2, names: 'Node{0}'}\n", 2,
     "pools.0: names: 'Node0' is not a node name; valid: small letters, digits, - and ., at most 253"),
    ("pools:\n  - name: a\n    count: 2\n    labels: {nvidia.com/gpu.present: true}\n", 4,
     "pools.0.labels: nvidia.com/gpu.present: true is not text; write it in quotes, e.g. \"true\""),
    ("pools:\n  - name: a\n    count: 2\n    labels: {a b: x}\n", 4,
     "pools.0.labels: 'a b' is not a label key; valid: an optional DNS name and /, then at most 63 letters, digits, -, "
     "_ and ."),
    ("pools:\n  - name: a\n    count: 2\n    taints:\n      - {key: a, effect: No}\n", 5,
     "pools.0.taints.0.effect: 'No' is not valid; valid values: NoSchedule, PreferNoSchedule, NoExecute"),
    ("pools:\n  - name: a\n    count: 2\n    capacity: {cpu: lots}\n", 4,
     "pools.0.capacity: cpu: 'lots' is not a whole amount of 0 or more; valid: e.g. 8, 192 or 2Ti"),
    ("pools:\n  - name: a\n    count: 2\n    capacity: {nvidia.com/gpu: 4}\n", 4,
     "pools.0.capacity: nvidia.com/gpu: 4 contradicts the count of 8; leave it out"),
    ("pools:\n  - name: a\n    count: 2\n    allocatable: {nvidia.com/gpu: 9}\n", 4,
     "pools.0.allocatable: nvidia.com/gpu: 9 is more than the capacity of a, 8"),
    (A + "overrides:\n  - nodes: [node001]\n    allocatable: {nvidia.com/gpu: 9}\n", 4,
     "overrides.0.allocatable: nvidia.com/gpu: 9 is more than the capacity of node001, 8"),
    (A + "overrides:\n  - nodes: [x]\n", 3,
     "overrides.0.nodes.0: no node is called 'x'; there are 4 nodes, the first is node000"),
    (A + "overrides:\n  - nodes: []\n", 3, "overrides.0.nodes: the list is empty; it needs at least one entry"),
    (A + "cordoned:\n  - node01\n", 3, "cordoned.0: no node is called 'node01'; nearest: node001"),
    (A + "queues:\n  - name: q\n  - name: q\n", 4, "queues.1.name: 'q' is the name of queues.0 already"),
    (A + "queues: [{name: -q}]\n", 2,
     "queues.0.name: '-q' is not a name; valid: 1 to 63 letters, digits, -, _ and ., a letter or digit at both ends"),
    (A + "queues: [{name: q, weight: 0}]\n", 2, "queues.0.weight: 0 is out of range; valid: 1 to 65535 (default 1)"),
    (A + "platform: cloud\n", 2,
     "platform: 'cloud' is not valid; valid values: sim, aws, gcp, azure, oci, onprem, togetherai, mistral, forge, "
     "nscale"),
    (A + "network: {kind: ring}\n", 2,
     "network: kind 'ring' is not valid; valid values of kind: rack, rail, plane, tor-node, hypernodes, topo, ns3, "
     "fabric"),
    (A + "network: {spines: 2}\n", 2,
     "network: kind is required; valid values of kind: rack, rail, plane, tor-node, hypernodes, topo, ns3, fabric"),
    (A + "network: flat\n", 2,
     "network: 'flat' is not a section of keys; valid values of kind: rack, rail, plane, tor-node, hypernodes, topo, "
     "ns3, fabric"),
    (A + "network: {kind: rack, nodes_per_rack: 0}\n", 2,
     "network.nodes_per_rack: 0 is out of range; valid: 1 to 65536"),
    (A + "network: {kind: rack, nodes_per_unit: 2}\n", 2,
     "network.nodes_per_unit: unknown key 'nodes_per_unit'; nearest valid name: nodes_per_rack"),
    (A + "network:\n  kind: rack\n  racks:\n    - nodes: [node000, node001]\n    - nodes: ['node00[1-3]']\n", 6,
     "network.racks.1.nodes: node 'node001' is in rack-0 already"),
    (A + "network:\n  kind: rack\n  racks:\n    - nodes: [node000, node001]\n", 4,
     "network.racks: 2 nodes with NICs are in none of them, the first is 'node002'"),
    (A + "network:\n  kind: rack\n  racks:\n    - {name: r, nodes: [node000]}\n    - {name: r, nodes: ['*[123]']}\n", 6,
     "network.racks.1: 'r' is the name of racks.0 already"),
    (A + "network:\n  kind: rack\n  nodes_per_rack: 2\n  racks: [{nodes: ['*']}]\n", 2,
     "network: racks and nodes_per_rack say the same thing twice; leave one of them out"),
    (A + "network:\n  kind: rack\n  oversubscription: 3\n", 4,
     "network.oversubscription: 3 needs 10.6667 uplinks of 400 Gbps under 12800 Gbps of downlinks, which is not a "
     "whole number"),
    (A + "network: {kind: rack, uplink_rate: 7Gbps}\n", 2,
     "network: 1 needs 1828.57 uplinks of 7 Gbps under 12800 Gbps of downlinks, which is not a whole number"),
    (A + "network: {kind: plane, planes: 3}\n", 2,
     "network.planes: 8 NICs of node000 cannot be shared evenly by 3 planes; give plane_of_nic"),
    (A + "network: {kind: plane, plane_of_nic: [0, 1]}\n", 2,
     "network.plane_of_nic: names 2 NICs, but node000 has 8"),
    (A + "network: {kind: plane, plane_of_nic: [0, 2]}\n", 2, "network: plane_of_nic: 2 is no plane; valid: 0 to 1"),
    (A + "network:\n  kind: rack\n  links:\n    - {rack: 1, uplink_rate: 1Gbps}\n", 5,
     "network.links.0.rack: no rack is 1; valid: 0 to 0 or their names"),
    (A + "network:\n  kind: rack\n  links:\n    - {rack: rak-0, uplink_rate: 1Gbps}\n", 5,
     "network.links.0.rack: no rack is 'rak-0'; nearest: rack-0"),
    (A + "network:\n  kind: rack\n  links:\n    - {rack: 0, rate: 1Gbps}\n", 5, "network.links.0: rate goes with node"),
    (A + "network:\n  kind: rack\n  links:\n    - {uplink_rate: 1Gbps}\n", 5,
     "network.links.0: an entry of links needs either rack or node"),
    (A + "network:\n  kind: rack\n  links:\n    - {rack: 0}\n", 5,
     "network.links.0: sets neither uplink_rate nor delay"),
    (A + "network:\n  kind: rack\n  links:\n    - {node: node0, rate: 1Gbps}\n", 5,
     "network.links.0.node: no node is called 'node0'; nearest: node003"),
    (A + "network:\n  kind: rack\n  links:\n    - {node: node000, nic: 8, rate: 1Gbps}\n", 5,
     "network.links.0.nic: 8 is out of range; node000 has 8 NICs"),
    (A + "network: {kind: fabric, fabric: {kind: fat-tree, k: 4}}\n", 2,
     "network: the nodes have 32 NICs, but the fabric has 16 hosts"),
    (A + "network: {kind: fabric, fabric: {kind: fat-tree, k: 3}}\n", 2,
     "network.fabric: k: 3 is odd; a k-ary fat tree needs an even k"),
    ("pools: [{name: a, count: 2, nics: {count: 2}}]\nnetwork:\n  kind: fabric\n  fabric: {kind: fat-tree, k: 4}\n"
     "  hosts:\n    node000: [0, 1]\n    node001: [1, 3]\n", 7,
     "network.hosts.node001: host 1 is a NIC of node000 already"),
    ("pools: [{name: a, count: 2, nics: {count: 2}}]\nnetwork:\n  kind: fabric\n  fabric: {kind: fat-tree, k: 4}\n"
     "  hosts:\n    node000: [0, 1]\n    node001: [2]\n", 7,
     "network.hosts.node001: names 1 hosts, but node001 has 2 NICs"),
    ("pools: [{name: a, count: 2, nics: {count: 2}}]\nnetwork:\n  kind: fabric\n  fabric: {kind: fat-tree, k: 4}\n"
     "  hosts:\n    node000: [0, 1]\n    node001: [2, 16]\n", 7,
     "network.hosts.node001: host 16 is out of range; valid: 0 to 15"),
    ("pools: [{name: a, count: 2, nics: {count: 2}}]\nnetwork:\n  kind: fabric\n  fabric: {kind: fat-tree, k: 4}\n"
     "  hosts:\n    node000: [0, 1]\n", 5, "network.hosts: node 'node001' is missing"),
    ("pools: [{name: a, count: 2, nics: null}]\n", 1, "pools: no node has a NIC"),
    (A + "nic:\n  NetworkInterface:\n    UplinkInterface: {}\n", 4,
     "nic.NetworkInterface.UplinkInterface: unknown key 'UplinkInterface'; nearest valid name: UplinkNetworkInterface"),
    (A + "switch:\n  PacketTrimmer: {TrimmingEnabled: 3}\n", 3,
     "switch.PacketTrimmer.TrimmingEnabled: 3 is not true or false"),
    (A + "nic_overrides:\n  - {names: [NIC-99], set: {NetworkInterface: {TransmissionMedium: {Delay: 1us}}}}\n", 3,
     "nic_overrides.0: this override selects nothing in this fabric"),
    (A + "nccl: {steady: perhaps}\n", 2, "nccl.steady: 'perhaps' is not true or false"),
    (A + "nccl: {stedy: true}\n", 2, "nccl.stedy: unknown key 'stedy'; nearest valid name: steady"),
    (A + "nccl: {command: all_reduce_perf}\n", 2, "nccl.command: is what a job sets; leave it out"),
    (A + "workloads:\n  j: 5\n", 3,
     "workloads.j: 5 is not a workload; valid: one of chakra, nccl_tests, collective, training, or a section with kind "
     "(chakra, collective, goal, nccl-tests, simai, training), e.g. {training: {compute: 20ms, gradients: 1GB}}"),
    ("name: x\nname: y\n", 2, "duplicate key 'name', first on line 1"),
    ("pools:\n\t- {name: a}\n", 2, "broken YAML: found character that cannot start any token (while scanning for the "
                                   "next token); tabs cannot indent YAML, use spaces"),
    ("- 1\n", 1, "[1] is not a cluster; write keys such as name, pools and network"),
    (A + "---\n" + A, 3, "there are 2 documents; a cluster file is one"),
    (A + "---\nname: x\nname: y\n", 4, "duplicate key 'name', first on line 3"),
]


@pytest.mark.parametrize(("text", "line", "message"), CASES, ids=range(len(CASES)))
def test_one_clear_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'cluster.yaml'}:{line}: {message}"


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, """\
            pools: [{name: a, count: 4}, {name: a, count: 1}]
            cordoned: [x, y]
            queues: [{name: q}, {name: q}]
            """)
    assert [(entry.line, entry.where) for entry in caught.value.problems] == [  # type: ignore[attr-defined]
        (1, "pools.1.name"), (1, "pools.1"), (2, "cordoned.0"), (2, "cordoned.1"), (3, "queues.1.name")]


@pytest.mark.parametrize(("text", "message"), [("", "the file is empty"), ("# nothing\n", "the file is empty")])
def test_nothing_in_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_text(tmp_path, text)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: no such file"):
        load_cluster(str(tmp_path / "none.yaml"))
    for kind in ("tor-node", "hypernodes", "topo"):
        with pytest.raises(InputError) as caught:
            load_text(tmp_path, textwrap.dedent(A) + f"network:\n  kind: {kind}\n  file: none\n")
        assert str(caught.value) == (f"{tmp_path / 'cluster.yaml'}:4: network.file: {tmp_path / 'none'}: no such file")


def test_a_network_of_other_nodes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cluster.yaml:4: network.file: names 1 servers for 4 nodes$"):
        load_text(tmp_path, A + "network:\n  kind: tor-node\n  file: t.json\n", t__json=(
            '{"tor_count": 1, "server_list": [{"tor_id": 0, "server": [{"server_ip": "1.1.1.1", "npu_count": 8, '
            '"slice_id": 0}]}]}'))


def test_a_cluster_file_may_be_json(tmp_path: Path) -> None:
    text = '{\n\t"pools": [\n\t\t{"name": "a", "count": 4}\n\t],\n\t"nic": {\n\t\t"NetworkInterfce": {}\n\t}\n}\n'
    assert len(load_text(tmp_path, text.replace("NetworkInterfce", "NetworkInterface")).nodes) == 4
    with pytest.raises(InputError, match=r"cluster.yaml:6: nic.NetworkInterfce: unknown key"):
        load_text(tmp_path, text)
    with pytest.raises(InputError, match=r"cluster.yaml:3: pools.0: duplicate key 'name', first on line 3"):
        load_text(tmp_path, text.replace('"count"', '"name"'))


def test_every_field_is_described() -> None:
    models = [ClusterFile, Pool, Chips, Nics, TaintSpec, NodeOverride, QueueSpec, Link, RackSpec, *NETWORKS.values(),
              TorInfo, Tor, Server, HyperNodeSpec, Member]
    bare = [f"{model.__name__}.{name}" for model in models for name, field in model.model_fields.items()
            if not field.description or not field.description.endswith(".")]
    assert bare == []
