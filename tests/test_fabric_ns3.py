"""ns-3 topology files: HPCC's and SimAI's, worked out by hand, and every error with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric.links import uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.summary import summary
from distsim.fabric.types import Fabric, ServerLinks

GBPS, NS = 10**9, 1000

# Switch 0 has hosts 1 and 2, switch 3 hosts 4 and 5; switch 6 joins the two.
HPCC = """7 3 6
0 3 6
1 0 100Gbps 0.001ms 0
2 0 100Gbps 1us 0
5 3 25Gb/s 1000ns 0
3 4 25Gbps 0.001ms 0
6 0 400Gbps 2us 0
3 6 400Gbps 2us 0

First line: total node #, switch node #, link #
"""

# 4 GPUs in 2 servers: NVSwitches 4 and 5, leaves 6 and 7 (a rail each), spine 8.
SIMAI = """9 2 2 3 10 A100
4 5 6 7 8
0 4 2400Gbps 0.000025ms 0
1 4 2400Gbps 0.000025ms 0
2 5 2400Gbps 0.000025ms 0
3 5 2400Gbps 0.000025ms 0
0 6 100Gbps 0.0005ms 0
1 7 100Gbps 0.0005ms 0
2 6 100Gbps 0.0005ms 0
3 7 100Gbps 0.0005ms 0
6 8 200Gbps 0.0005ms 0
7 8 200Gbps 0.0005ms 0
"""


def read(tmp_path: Path, text: str, nic_gbps: int = 100) -> Fabric:
    path = tmp_path / "topology.txt"
    path.write_text(text)
    return build(TOPOLOGIES["ns3"].Spec(kind="ns3", file=str(path)), uniform_rules(nic_gbps * GBPS, 7 * NS, 8 * NS))


def cables(fabric: Fabric) -> list[tuple[str, str, float, float]]:
    """(lower, upper, Gbps, ns) of every cable."""
    return [(fabric.names[row["src"]], fabric.names[row["dst"]], row["rate_bps"] / GBPS, row["delay_ps"] / NS)
            for row in fabric.links[0::2]]


def test_hpcc(tmp_path: Path) -> None:
    fabric = read(tmp_path, HPCC)
    # Hosts 1, 2, 4, 5 are NIC-0 to NIC-3; 0 and 3 are next to hosts, 6 is two links away.
    assert fabric.names == ["NIC-0", "NIC-1", "NIC-2", "NIC-3", "RackSwitch-0", "RackSwitch-1", "SpineSwitch-0"]
    assert cables(fabric) == [
        ("NIC-0", "RackSwitch-0", 100, 1000), ("NIC-1", "RackSwitch-0", 100, 1000),
        ("NIC-2", "RackSwitch-1", 25, 1000), ("NIC-3", "RackSwitch-1", 25, 1000),
        ("RackSwitch-0", "SpineSwitch-0", 400, 2000), ("RackSwitch-1", "SpineSwitch-0", 400, 2000)]
    assert fabric.nodes["rack"].tolist() == [0, 0, 1, 1, 0, 1, -1]
    assert fabric.nodes["pod"].tolist() == [0, 0, 0, 0, 0, 0, -1]
    assert fabric.nodes["ipv4"].tolist() == [0x20000001, 0x20000002, 0x20000003, 0x20000004, 0, 0, 0]
    assert fabric.servers is None
    name = tmp_path / "topology.txt"
    assert fabric.warnings == [
        f"{name}:10: what follows the 6 links of the header is not read",
        f"{name}: the link of NIC-2 runs at 25 Gbps, but its DataRate is 100 Gbps (2 of 4 NICs differ); these links "
        "run at the lower rate"]
    assert build_routes(fabric).set_count.tolist() == [1, 1, 1, 1]


def test_a_nic_is_never_faster_than_its_data_rate(tmp_path: Path) -> None:
    fabric = read(tmp_path, HPCC, nic_gbps=50)
    assert [row[2] for row in cables(fabric)] == [50, 50, 25, 25, 400, 400]


def test_three_tiers_have_pods(tmp_path: Path) -> None:
    # Hosts 0, 1; leaves 2, 3; middle switches 4, 5; top 6: each host has its own leaf, middle switch and so its pod.
    fabric = read(tmp_path, "7 5 6\n2 3 4 5 6\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 5 1Gbps 1us 0\n"
                            "4 6 1Gbps 1us 0\n6 5 1Gbps 1us 0\n")
    assert fabric.names[2:] == ["RackSwitch-0", "RackSwitch-1", "FabricSwitch-0", "FabricSwitch-1", "SpineSwitch-0"]
    assert fabric.nodes["pod"].tolist() == [0, 1, 0, 1, 0, 1, -1]
    assert [row[:2] for row in cables(fabric)][-2:] == [("FabricSwitch-0", "SpineSwitch-0"),
                                                        ("FabricSwitch-1", "SpineSwitch-0")]


def test_one_switch_and_links_between_leaves(tmp_path: Path) -> None:
    assert read(tmp_path, "3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n").names[2:] == ["RackSwitch-0"]
    fabric = read(tmp_path, "4 2 3\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n3 2 1Gbps 1us 0\n")
    assert cables(fabric)[2][:2] == ("RackSwitch-0", "RackSwitch-1")


def test_simai_keeps_nvswitches_out_of_the_fabric(tmp_path: Path) -> None:
    fabric = read(tmp_path, SIMAI)
    assert fabric.names == ["NIC-0", "NIC-1", "NIC-2", "NIC-3", "RackSwitch-0", "RackSwitch-1", "SpineSwitch-0"]
    assert cables(fabric) == [
        ("NIC-0", "RackSwitch-0", 100, 500), ("NIC-1", "RackSwitch-1", 100, 500),
        ("NIC-2", "RackSwitch-0", 100, 500), ("NIC-3", "RackSwitch-1", 100, 500),
        ("RackSwitch-0", "SpineSwitch-0", 200, 500), ("RackSwitch-1", "SpineSwitch-0", 200, 500)]
    # GPU to NVSwitch to GPU: two links of 25 ns.
    assert fabric.servers == ServerLinks(2, 2400 * GBPS, 50 * NS)
    assert fabric.warnings == []
    assert ("servers", "2 of 2 NICs, scale-up 2.4 Tbps a NIC, latency 50 ns") in summary(fabric)


def test_several_nvswitches_a_server_add_up(tmp_path: Path) -> None:
    text = ("6 2 2 2 8 H100\n2 3 4 5\n0 2 100Gbps 10ns 0\n1 2 100Gbps 10ns 0\n3 0 100Gbps 30ns 0\n1 3 100Gbps 30ns 0\n"
            "0 4 100Gbps 1us 0\n1 5 100Gbps 1us 0\n4 5 100Gbps 1us 0\n5 4 100Gbps 1us 0\n")
    fabric = read(tmp_path, text)
    assert fabric.servers == ServerLinks(2, 200 * GBPS, 60 * NS)
    assert "the greatest is used" in fabric.warnings[0]
    assert len(fabric.links) == 2 * 4      # parallel cables between switches stay


def test_parallel_links_of_a_host_are_summed(tmp_path: Path) -> None:
    fabric = read(tmp_path, "3 1 3\n2\n0 2 50Gbps 1us 0\n1 2 100Gbps 1us 0\n2 0 50Gbps 1us 0.01\n")
    assert cables(fabric) == [("NIC-0", "RackSwitch-0", 100, 1000), ("NIC-1", "RackSwitch-0", 100, 1000)]
    name = tmp_path / "topology.txt"
    assert fabric.warnings == [
        f"{name}:5: error rates of links are not modelled (1 links name one)",
        f"{name}:5: parallel links of a host to one switch are one link of their summed rate (1 links in all)"]


@pytest.mark.parametrize(("word", "gbps"), [("1000Mbps", 1), ("2GBps", 16), ("1Gib/s", 1.073741824), ("0.5Tbps", 500),
                                            ("4000000kb/s", 4)])
def test_rates(tmp_path: Path, word: str, gbps: float) -> None:
    fabric = read(tmp_path, f"3 1 2\n2\n0 2 {word} 1us 0\n1 2 100Gbps 1us 0\n", nic_gbps=10**6)
    assert fabric.links["rate_bps"][0] == gbps * GBPS


@pytest.mark.parametrize(("old", "new", "place", "message"), [
    ("7 3 6", "7 3", ":1", "the header has 2 words"),
    ("7 3 6", "x 3 6", ":1", "nodes 'x' is not a whole number"),
    ("7 3 6", "3 3 6", ":1", "3 switches of 3 nodes leave no host"),
    ("7 3 6", "7 3 60", "", "ends early: 6 of 60 links"),
    ("0 3 6\n", "0 3 3\n", ":2", "node 3 is listed as a switch twice"),
    ("0 3 6\n", "0 3 9\n", ":2", "unknown node 9; 7 nodes are 0 to 6"),
    ("2 0 100Gbps", "8 0 100Gbps", ":4", "unknown node 8"),
    ("2 0 100Gbps", "-2 0 100Gbps", ":4", "unknown node -2"),
    ("2 0 100Gbps", "2 0 100Gpbs", ":4", "rate '100Gpbs' is not a data rate"),
    ("2 0 100Gbps", "2 0 0Gbps", ":4", "rate 0Gbps is out of range"),
    ("2 0 100Gbps 1us", "2 0 100Gbps 1", ":4", "delay '1' is not a time"),
    ("2 0 100Gbps 1us 0", "2 0 100Gbps 1us x", ":4", "error rate 'x' is not a number"),
    ("2 0 100Gbps 1us 0", "2 0 100Gbps 1us 2", ":4", "error rate 2 is out of range, 0 to 1"),
    ("2 0 100Gbps 1us 0", "2 0 100Gbps 1us", ":4", "a link is five words on one line"),
    ("2 0 100Gbps", "0 0 100Gbps", ":4", "node 0 is linked to itself"),
    ("2 0 100Gbps", "2 1 100Gbps", ":4", "nodes 2 and 1 are both hosts"),
    ("2 0 100Gbps", "1 3 100Gbps", ":4", "host 1 is linked to a second switch (the first in line 3)"),
    ("2 0 100Gbps", "1 0 100Gbps", "", "node 2 has no link of the fabric"),
])
def test_errors_name_the_line(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    assert old in HPCC
    with pytest.raises(InputError) as error:
        read(tmp_path, HPCC.split("\n\n")[0].replace(old, new, 1) + "\n")
    assert str(error.value).startswith(f"{tmp_path / 'topology.txt'}{place}: ") and message in str(error.value)


def test_nvswitches_take_time(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"topology.txt:3: the links to NVSwitches have no delay"):
        read(tmp_path, SIMAI.replace("0.000025ms", "0ms"))


@pytest.mark.parametrize(("old", "new", "place", "message"), [
    ("9 2 2 3 10", "9 3 2 3 10", "", "4 GPUs are not a multiple of gpus_per_server 3"),
    ("2 5 2400Gbps", "2 4 2400Gbps", ":5", "NVSwitch 4 joins GPUs of two servers"),
    ("2 5 2400Gbps", "8 5 2400Gbps", ":5", "NVSwitch 5 is linked to node 8, which is no GPU"),
    ("2 5 2400Gbps", "2 5 1200Gbps", "", "GPU 2 has 1200 Gbps to NVSwitches, GPU 0 has 2400 Gbps"),
])
def test_errors_of_servers(tmp_path: Path, old: str, new: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, SIMAI.replace(old, new, 1))
    assert str(error.value).startswith(f"{tmp_path / 'topology.txt'}{place}: ") and message in str(error.value)


def test_a_missing_file_and_an_island(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        build(TOPOLOGIES["ns3"].Spec(kind="ns3", file=str(tmp_path / "none")), uniform_rules(GBPS, 0, 0))
    with pytest.raises(InputError, match="node 3 is linked to no host"):
        read(tmp_path, "5 3 3\n2 3 4\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n3 4 1Gbps 1us 0\n")
    with pytest.raises(InputError, match="is disconnected"):
        read(tmp_path, "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n")


def test_many_hosts_are_quick(tmp_path: Path) -> None:
    lines = [f"{host} {4096 + host // 64} 400Gbps 500ns 0" for host in range(4096)]
    lines += [f"{4096 + leaf} {4160 + spine} 400Gbps 500ns 0" for leaf in range(64) for spine in range(64)]
    ids = " ".join(map(str, range(4096, 4224)))
    fabric = read(tmp_path, f"4224 128 {len(lines)}\n{ids}\n" + "\n".join(lines) + "\n", nic_gbps=400)
    assert np.bincount(fabric.nodes["tier"]).tolist() == [64, 0, 64, 4096]
    assert fabric.warnings == [] and len(fabric.links) == 2 * (4096 + 4096)
