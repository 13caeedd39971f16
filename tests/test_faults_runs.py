"""Faults of the fabric as a user of `distsim run` meets them: the section `faults`, run.json, and collectives that dip
when a link fails and come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from distsim.cli import run_cli
from distsim.config import from_dict
from distsim.engine import run_config

FABRIC = {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4, "spines": 4}
REPS, OBLIVIOUS = "Recycled Entropy Packet Spraying", "Default Packet Spraying"


def simulate(folder: Path, workload: dict[str, Any], faults: dict[str, Any] | None = None, spraying: str = OBLIVIOUS,
             fabric: dict[str, Any] | None = None) -> dict[str, Any]:
    """run.json of a run; the exit code stands in it as `code`."""
    transport = {"ScalaUETPdsManager": {"PacketSprayingType": spraying},
                 "PacketSpraying": {"RecycledEntropyPacketSpraying": {"FreezingTimeout": "100ms"}}}
    config = {"simulation": "run", "fabric": fabric or FABRIC, "workload": workload,
              "nic": {"TransportProcessingLayers": transport}} | ({"faults": faults} if faults else {})
    result = run_config(from_dict(config), folder, quiet=True, overwrite=True)
    return result.info | {"code": result.exit_code}


def ring(iterations: int) -> dict[str, Any]:
    return {"kind": "collective", "collective": "all_reduce", "algorithm": "ring", "size": "4MB",
            "iterations": iterations}


def bus_bandwidth(info: dict[str, Any]) -> list[float]:
    """GB/s of each all-reduce of eight ranks: bytes / time * 2 * 7 / 8."""
    return [one["size_bytes"] / one["time_us"] / 1e3 * 14 / 8 for one in info["collectives"]]


def test_a_link_that_fails_lowers_busbw_and_reps_recovers_sooner(tmp_path):
    # A rank sends 2 * 7/8 * 4 MB = 7 MB an iteration at 48.7 GB/s of payload: 144 us and the way of 14 steps, about 45
    # GB/s. One of rack 0's four uplinks fails 1 ms into the run, in the seventh iteration, and routes avoid it 1 ms
    # later: a quarter of the frames that cross are lost until then, unless REPS stays off the path.
    failure = {"detection_time": "1ms",
               "events": [{"target": "link", "between": ["RackSwitch-0", "SpineSwitch-1"], "at": "1ms"}]}
    found = {spraying: simulate(tmp_path, ring(14), failure, spraying) for spraying in (OBLIVIOUS, REPS)}
    sound = bus_bandwidth(simulate(tmp_path, ring(14)))
    assert min(sound) > 44
    for spraying, info in found.items():
        measured = bus_bandwidth(info)
        assert info["code"] == 0 and info["faults"]["lost_packets"] > 0
        assert measured[:6] == pytest.approx(sound[:6], rel=0.01)
        assert min(measured[6:9]) < 0.5 * min(sound), spraying
        assert measured[-3:] == pytest.approx(sound[-3:], rel=0.01), spraying
    worst = {spraying: min(bus_bandwidth(info)) for spraying, info in found.items()}
    assert worst[REPS] > 2 * worst[OBLIVIOUS]
    assert found[REPS]["fct_us"]["last"] < found[OBLIVIOUS]["fct_us"]["last"]
    assert found[REPS]["faults"]["lost_packets"] < found[OBLIVIOUS]["faults"]["lost_packets"]


def test_every_flow_finishes_with_a_loss_of_one_in_ten_thousand_everywhere(tmp_path):
    parts = [{"kind": "permutation", "size": "1MB"}, {"kind": "incast", "receiver": 0, "senders": 15, "size": "200KB"}]
    fabric = {"kind": "leaf-spine", "racks": 4, "nics_per_rack": 8, "spines": 4}
    info = simulate(tmp_path, {"kind": "several", "parts": parts}, {"packet_loss_rate": 0.0001}, fabric=fabric)
    assert info["code"] == 0 and info["flows"] == {"total": 47, "finished": 47, "unfinished": 0}
    # 32 MB + 3 MB in frames of 4096 B are 8,580, most over four links and their ACKs back: about 60,000 crossings, six
    # lost; 1 to 20 is far beyond five standard deviations.
    assert 1 <= info["faults"]["lost_packets"] <= 20
    counts = info["counts"]
    assert counts["created"] == counts["delivered"] + counts["dropped"] + counts["in_flight"]
    assert counts["dropped"] >= info["faults"]["lost_packets"]


def test_a_switch_takes_all_its_links_with_it(tmp_path):
    faults = {"detection_time": "20us", "events": [{"target": "switch", "name": "SpineSwitch-2", "at": "30us",
                                                    "duration": "50us"}]}
    info = simulate(tmp_path, {"kind": "permutation", "size": "2MB"}, faults)
    assert info["code"] == 0
    devices = {name for link in info["faults"]["links"] for name in (link["from"], link["to"])}
    assert devices == {"SpineSwitch-2", "RackSwitch-0", "RackSwitch-1"}


def test_a_nic_that_never_comes_back_leaves_its_flows_unfinished(tmp_path):
    faults = {"events": [{"target": "nic", "name": "NIC-3", "at": "20us"}]}
    config = {"kind": "permutation", "size": "1MB"}
    info = simulate(tmp_path, config, faults)
    assert info["code"] == 3 and info["flows"]["unfinished"] == 2          # to it and from it


def line_of(tmp_path, capsys, faults: Any) -> str:
    """The one line that refuses a section `faults`."""
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"simulation": "run", "fabric": FABRIC, "faults": faults,
                                    "workload": {"kind": "permutation", "size": "1MB"}}))
    assert run_cli(["run", str(path), "-o", str(tmp_path / "out"), "--quiet"]) == 2
    _, err = capsys.readouterr()
    assert err.count("\n") == 1 and err.startswith("distsim: error: ")
    return err


@pytest.mark.parametrize("event, message", [
    ({"target": "link", "between": ["RackSwitch-0", "SpinSwitch-1"], "at": "1us"},
     "faults.events.0.between: no device is called 'SpinSwitch-1'; the nearest name is 'SpineSwitch-1'"),
    ({"target": "link", "between": ["SpineSwitch-0", "SpineSwitch-1"], "at": "1us"},
     "faults.events.0.between: no cable runs between 'SpineSwitch-0' and 'SpineSwitch-1'"),
    ({"target": "switch", "name": "NIC-1", "at": "1us"}, "faults.events.0.name: 'NIC-1' is no switch; valid: e.g. "
                                                         "SpineSwitch-3"),
    ({"target": "nic", "name": "NIC-99", "at": "1us"}, "faults.events.0.name: no device is called 'NIC-99'"),
    ({"target": "link", "name": "NIC-1", "at": "1us"}, "a link is named by its ends"),
    ({"target": "nic", "between": ["NIC-1", "RackSwitch-0"], "at": "1us"}, "a nic is named: give name"),
    ({"target": "cable", "name": "NIC-1", "at": "1us"}, "faults.events.0.target"),
    ({"target": "nic", "name": "NIC-1", "at": 5}, "5 has no unit"),
    ({"target": "nic", "name": "NIC-1"}, "faults.events.0.at"),
])
def test_an_event_that_cannot_be_is_refused(tmp_path, capsys, event, message):
    assert message in line_of(tmp_path, capsys, {"events": [event]})


@pytest.mark.parametrize("section, message", [
    ({"packet_loss_rate": 1.5}, "faults.packet_loss_rate"), ({"bit_error_rate": 0.1}, "faults.bit_error_rate"),
    ({"links": [{"between": ["RackSwitch-0", "SpineSwitch-*"]}]}, "sets neither packet_loss_rate nor bit_error_rate"),
    ({"links": [{"between": ["RackSwitch-9", "SpineSwitch-*"], "packet_loss_rate": 0.1}]}, "faults.links.0.between"),
    ({"detection": "1ms"}, "unknown key 'detection'"),
])
def test_a_section_that_cannot_be_is_refused(tmp_path, capsys, section, message):
    assert message in line_of(tmp_path, capsys, section)


def test_a_run_without_faults_says_nothing_of_them(tmp_path):
    simulate(tmp_path, {"kind": "permutation", "size": "100KB"})
    assert "faults" not in json.loads((tmp_path / "run-run.json").read_text())
