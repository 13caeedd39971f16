"""FailedLinks: what is given to such a link is lost, both ways, and routes do not know; a wrong name is refused."""

from __future__ import annotations

import pytest

import distsim
from distsim.errors import InputError

# Two racks on one spine: every path between the racks is RackSwitch-0, SpineSwitch-0, RackSwitch-1.
BASE = {
    "simulation": "cut", "seed": 1,
    "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 2, "spines": 1},
    "workload": {"kind": "flows", "flows": [{"from": 0, "to": 2, "size": "40960B"},
                                            {"from": 0, "to": 1, "size": "4096B"}]},
    "SimulationParameters": {"StartTime": 0.0, "ClientStartOffset": 0.0, "RunTime": 0.0001},
    "switch": {"SharedBufferManager": {"UETPolicyEnabled": True, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}},
}


def run(tmp_path, *links, policy=True):
    config = {**BASE, "SimulationParameters": {**BASE["SimulationParameters"], "FailedLinks": list(links)}}
    if not policy:
        config.pop("switch")
    return distsim.run(config, tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("policy", [True, False])
@pytest.mark.parametrize("link", ["RackSwitch-0--SpineSwitch-0", "SpineSwitch-0--RackSwitch-0"])
def test_what_crosses_a_failed_link_is_lost_and_counted_at_its_port(tmp_path, link, policy):
    found = run(tmp_path, link, policy=policy)
    counts = found.info["counts"]
    # ten packets of the flow between the racks, none repeated within 100 us (the first timer runs 150 us)
    assert (counts["dropped"], found.info["flows"]["finished"]) == (10, 1)
    ports = found.frame("nd-stats")
    last = ports.filter(ports["sim_time_sec"] == ports["sim_time_sec"].max()) if len(ports) else ports
    assert len(last) == 0 or last["tx_drops"].sum() == 10


def test_the_other_direction_fails_too(tmp_path):
    found = run(tmp_path, "RackSwitch-1--SpineSwitch-0")
    # the data get as far as the spine, whose port to RackSwitch-1 loses them
    assert (found.info["counts"]["dropped"], found.info["flows"]["finished"]) == (10, 1)


@pytest.mark.parametrize("text", ["RackSwitch-0", "NIC-0--RackSwitch-0", "RackSwitch-0--RackSwitch-1", "a--b", "--"])
def test_a_name_that_is_no_link_between_switches_is_refused(tmp_path, text):
    with pytest.raises(InputError, match=r"is no link between two switches; valid: two component names as A--B, e\.g\. "
                                         r"RackSwitch-0--SpineSwitch-0"):
        run(tmp_path, text)
