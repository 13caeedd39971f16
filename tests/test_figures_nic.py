"""The figures of the UET NIC's pages, one test each, on running kernels: in the units and digits of the pages.

Asserted elsewhere:
    BDP 300,000 B, window 450,000 B       test_nscc_constants::test_the_defaults
    window 447,688 B                      test_nscc_constants::test_the_maximum_window_in_packets
    targets 6 and 4.5 us                  test_nscc_constants::test_the_target
    quick-adapt windows, gate 56,250 B    test_nscc_constants::test_the_observation_window_and_its_byte_threshold
    headroom 720,000 B                    test_parameters_nic::test_pools_and_thresholds_at_the_defaults
    32, 33 and 256 ACKs                   test_analytic_acks::test_packets_that_ask_for_an_ack
    54 data packets in the egress pool    test_analytic_hosts::test_the_egress_pool_holds_54_packets_and_is_filled_...
"""

from __future__ import annotations

import pytest
from engine_cases import DOORBELL, FRAME, READY, US, Run, model, nic, one_rack, ready_ps, run, send, switch
from test_analytic_hosts import slow_receiver, there

from distsim.config import from_dict
from distsim.config.nic import Nic
from distsim.kernels import egress, entry
from distsim.kernels.spray import reps
from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell

pytestmark = pytest.mark.core

assert entry                    # numba has to know the state's type before a kernel is called from here
DATA_THERE = READY + 2 * FRAME + 200_000     # the first packet, in a rack


# ---- packets ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("payload, on_the_wire", [(4096, 4202), (1, 107), (0, 106)])
def test_sizes_of_data(payload, on_the_wire):
    # 44 + 16 + 8 + 20 B of headers make the IP datagram, 18 B of Ethernet the frame.
    going = run(one_rack(2), [send(0, 1, payload)]).to(ready_ps(payload) + 1)
    assert going.port("NIC-0", "RackSwitch-0", "tx_bytes") == on_the_wire
    going.end()
    assert cell(going.state.ins, int(going.rank.here.in_of[going.link("RackSwitch-0", "NIC-1")]), "rx_bytes") == (
        on_the_wire + 62)                                    # and a probe


def test_sizes_of_control_packets():
    # 62 B: trimmed data, NACK, probe; 78 B: ACK and a probe's answer. The first packet is trimmed at the switch.
    kind = switch(300_000, trimming=True)
    going = Run(model(one_rack(2), [send(0, 1, 4096)], nic=nic({"TrimmingEnabled": True}), switch=kind))
    going.set_limit("RackSwitch-0", 0)
    seen = set()
    for at in range(READY + FRAME, 4 * US, 50_000):                     # each is on a link for 100 ns
        for way in (("RackSwitch-0", "NIC-1"), ("NIC-1", "RackSwitch-0")):
            seen |= set(going.to(at).under_way(*way, "ptype", "role", "size_bytes"))
        if any(kind == t.NACK for kind, *_ in seen):
            going.set_limit("RackSwitch-0", 300_000)
    assert seen == {(t.RUD_REQUEST, t.TRIMMED_LAST_HOP, 62), (t.NACK, t.CONTROL, 62),
                    (t.RUD_REQUEST, t.TRIMMABLE_RTX, 4202), (t.ACK_CC, t.CONTROL, 78), (t.PROBE, t.CONTROL, 62),
                    (t.PROBE_ACK, t.CONTROL, 78)}


def test_a_mebibyte_takes_21_51_us_and_peak_goodput_is_389_9_gbps():
    # 256 frames of 84.04 ns, and one probe (1.24 ns) between them.
    going = run(one_rack(2), [send(0, 1, 1 << 20)]).to(READY + 255 * FRAME + 1_240 + 1)
    assert going.port("NIC-0", "RackSwitch-0", "tx_bytes") == 256 * 4202 + 62 == 1_075_712 + 62
    duration_ps = going.port("NIC-0", "RackSwitch-0", "free_ps") - READY
    assert round((duration_ps - 1_240) / 1e6, 2) == 21.51
    assert round((1 << 20) * 8 / (duration_ps - 1_240) * 1000, 1) == 389.9


# ---- host ------------------------------------------------------------------------------------------------------------
def test_a_payload_takes_69_29_ns_and_a_read_1_55_ns():
    def start_ps(payload_bytes: int, **lanes: int) -> int:
        return run(one_rack(2), [send(0, 1, payload_bytes)], nic=nic(**lanes)).to(DOORBELL + 1).nic(0, "handoff_ps")

    # A host with one lane of the reads' 16: the payload takes 16 times as long, 1108.6 ns; what is left is the read.
    whole, slow = start_ps(4096) - DOORBELL, start_ps(4096, host_lanes=1) - DOORBELL
    payload_ps = (slow - whole) / 15
    assert round(payload_ps / 1000, 2) == 69.29
    assert int((whole - payload_ps) / 10) / 100 == 1.55      # 1,554.6 ps, up to the next one: not rounded but cut
    assert round(whole / 1000, 1) == 70.8                    # a fetch


def test_an_ack_is_held_66_4_ns_by_an_empty_pool_and_says_0():
    going = run(one_rack(2), [send(0, 1, 4096)])
    assert going.to(DATA_THERE + 66_371).under_way("NIC-1", "RackSwitch-0", "ptype") == []
    going.to(DATA_THERE + 66_371 + 1)
    assert going.under_way("NIC-1", "RackSwitch-0", "ptype", "service", "code") == [(t.ACK_CC, 0, 0)]
    start = going.port("NIC-1", "RackSwitch-0", "free_ps") - 1_560
    assert round((start - DATA_THERE) / 1000, 1) == 66.4


def test_14_lanes_keep_up_with_the_wire_and_13_do_not():
    # 4,368 B in 79.2 or 85.3 ns, a packet every 84.04 ns. With buffers for one write (8 headers of 34 B) each packet
    # waits for the one before or does not.
    def waiting(lanes: int) -> int:
        settings = nic(nic_lanes=lanes).model_dump(mode="json", by_alias=True)
        near = settings["HostInterface"]["NICSide"]["PCIeGen3.0"]["NicDeviceLayer"]["NicPCIeInterface"]
        near["TransactionLayer"]["TXHeaderBufferSize"] = "272B"
        going = run(one_rack(2), [send(0, 1, 100 * 4096)], nic=Nic.model_validate(settings))
        return going.to(DATA_THERE + 90 * FRAME + 2_480).nic(1, "ingress_bytes")

    assert waiting(14) == 0 and waiting(13) > 0


@pytest.mark.parametrize("k, waiting, penalty", [
    (66, 4, 0), (67, 5, 15), (70, 8, 63), (73, 11, 111), (74, 12, 127), (75, 13, 127)])
def test_the_penalty_is_0_at_a_quarter_of_the_pool_and_127_at_three_quarters(k, waiting, penalty):
    # A pool of 16 packets: low at 4, high at 12, 127 / 8 a packet. Packet k finds k - 57 less the writes gone waiting,
    # itself included.
    pool = {"TotalBufferSize": "66944B", "PoolAllocationVector": [1, 0.5, 0, 0, 0, 0, 0, 0]}
    going = slow_receiver(90, pool=pool).to(there(k) + 1)
    assert going.nic(1, "ingress_bytes") == waiting * 4184
    going.to(there(k) + waiting * 1_061_930)
    codes = {psn: code for kind, psn, code in going.under_way("NIC-1", "RackSwitch-0", "ptype", "psn", "code")}
    assert codes[k] == penalty


def test_a_pause_of_the_nic_lasts_83_985_us():
    pool = {"TotalBufferSize": "100KB", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0]}
    paused = there(81) + 1_280 + 100_000                     # at the switch: see test_analytic_hosts
    going = slow_receiver(100, pool=pool, shared=True).to(there(81) + 1)
    assert (t.PFC_FRAME, 64) in going.under_way("NIC-1", "RackSwitch-0", "ptype", "size_bytes")
    going.to(paused + 1)
    duration_ps = going.pfc("RackSwitch-0", "NIC-1", 0, "pause_end_ps") - paused
    assert round(duration_ps / 1e6, 3) == 83.985


# ---- Recycled Entropy Packet Spraying --------------------------------------------------------------------------------
def test_reps_explores_9_of_71_packets_after_a_freeze():
    # The 7th, 15th, ..., 63rd and the 71st packet explore, the others recycle; then all recycle again.
    pds = {"PacketSprayingType": "Recycled Entropy Packet Spraying"}
    going = run(one_rack(2), [send(0, 1, 200 * 4096)], nic=nic(pds)).to(DOORBELL + 1)
    ref, state = going.rank.ref, going.state
    group, par = state.groups[going.sender("group")], state.nicpar[0]
    assert cell(state.nicpar, 0, "explore_packets") == 71
    reps.feedback(ref, group, par, 40_000, True, 0)          # something is cached, or it would go on exploring
    reps.failure(group, 0)
    drawn = going.group("draws")
    for _ in range(20):
        assert reps.pick(ref, 0, group, par) == 40_000       # frozen
    assert going.group("draws") == drawn and going.group("explore_left") == 0
    for _ in range(8):
        reps.feedback(ref, group, par, 40_000, True, 100 * US)
    assert (going.group("frozen"), going.group("explore_left")) == (0, 71)
    explored = []
    for number in range(1, 101):
        before = going.group("draws")
        reps.pick(ref, 0, group, par)
        if going.group("draws") > before:
            explored.append(number)
        reps.feedback(ref, group, par, 40_000, True, 100 * US)
    assert explored == [7, 15, 23, 31, 39, 47, 55, 63, 71]


# ---- pools -----------------------------------------------------------------------------------------------------------
def test_328_acks_fill_the_control_pool_of_25_600_bytes():
    made = model(one_rack(2), [send(0, 1, 1)])
    made.nicpar["stats"] = t.STAT_BUFFERS
    going = Run(made)
    going.rank.holder.ensure_room(t.P_PACKET, 512)
    state = going.state
    for row in range(330):
        set_cell(state.packets, row, "size_bytes", 78)
        egress.hand_down(going.rank.ref, 0, row, state.packets[row])
        assert going.nic(0, "control_bytes") == (row + 1) * 78
        assert cell(state.buff, t.TX_TC1, "overflow") == max(0, row + 1 - 328)     # it is over-full, nothing is lost


# ---- records ---------------------------------------------------------------------------------------------------------
def test_first_rows_at_0_003_s_and_the_pools_of_net_buff_stats(tmp_path):
    import distsim

    config = {
        "simulation": "first", "fabric": {"kind": "leaf-spine", "racks": 1, "nics_per_rack": 2, "spines": 0},
        "workload": {"kind": "flows", "flows": [{"from": 0, "to": 1, "size": "4KB"}]},
        "nic": {"EnableBufferStats": True},
        "SimulationParameters": {"EnableNetworkBufferStatsReporting": True, "EnablePCIeStatsLogging": True}}
    assert from_dict(config).parameters.StartTime == 0.001
    found = distsim.run(config, tmp_path / "run")
    for name in ("uet-transport-stats", "nd-stats", "net-buff-stats", "pcie-stats"):
        assert found.frame(name)["sim_time_sec"].unique().to_list() == [0.003], name
    pools = found.frame("net-buff-stats").filter(component_name="NIC-1")
    assert dict(pools.select("buffer_id", "buffer_max_size_B").iter_rows()) == {
        "RX_TC0_BUFFER": 3_600_000, "RX_TC1_BUFFER": 400_000, "TX_TC0_BUFFER": 230_400, "TX_TC1_BUFFER": 25_600}
    # 4000 B of payload, received at their IP size and sent at the frame's.
    most = dict(pools.select("buffer_id", "max_occupancy_B").iter_rows())
    assert (most["RX_TC0_BUFFER"], most["TX_TC1_BUFFER"]) == (4088, 78)
