"""Links, switches and NICs that fail, and frames lost at random: figures worked out by hand.

At 400 Gb/s a full frame (4202 B) takes 84,040 ps, an ACK (78 B) 1,560 ps. `two_tiers`: 100 ns to a NIC, 500 ns to a
spine. A NIC's first full frame starts READY = 85,845 ps after the post and the next ones follow without a gap.
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import DOORBELL, FRAME, HOLD, NS, READY, US, Run, faults, model, nic, run, send, two_tiers

from distsim.fabric.routing import build_routes, reroute
from distsim.state.faults import INTERVALS, merged, survival_of
from distsim.state.tables import INF_PS

pytestmark = pytest.mark.core
# No window and no early retransmission: what is lost is sent again when its timer ends, long after the failure.
STEADY = nic({"InitialRetransmitTimeout": "150us"}, {"PassThrough": True})
IMPATIENT = nic({"InitialRetransmitTimeout": "20us"}, {"PassThrough": True})
RACK, SPINE = "RackSwitch-0", "SpineSwitch-0"


def test_a_link_that_goes_down_loses_what_is_on_its_wire_and_what_is_sent():
    # Frames reach RackSwitch-0 whole and leave it every 84,040 ps. One is lost if it starts before the link is up
    # again and would arrive (84,040 + 500,000 ps after its start) at the failure or later: starts in
    # (begin - 584,040, end). With end - begin = 20 * 84,040 - 584,040 ps that is twenty frames, wherever it begins.
    fabric = two_tiers()
    begin = 20 * US + 12_345
    end = begin + 20 * FRAME - 584_040
    plan = faults(fabric, (RACK, SPINE, begin, end, INF_PS - 1, INF_PS))
    running = run(fabric, [send(0, 1, 4096 * 1000)], nic=STEADY, faults=plan).to(end + US)
    assert running.lost(RACK, SPINE) == 20
    running.end()
    assert running.clock("dropped") == running.lost(RACK, SPINE) + running.lost(SPINE, RACK)
    assert running.done_ps() > 150 * US


def test_acks_are_lost_on_the_way_back_too():
    # Data cross from spine to rack 1 and ACKs back; only the link of the ACKs' rack is cut, for one microsecond.
    fabric = two_tiers()
    plan = faults(fabric, (SPINE, "RackSwitch-1", 40 * US, 41 * US, INF_PS - 1, INF_PS))
    running = run(fabric, [send(0, 1, 4096 * 1000)], nic=STEADY, faults=plan).end()
    # Down for 1,000,000 ps: starts of service in an interval of 1,000,000 + 84,040 + 500,000 ps: 18.8 data frames,
    # so 18 or 19. The last data before that reach the rack at 40 us, and their ACK leaves it 84,040 + 100,000 (to the
    # NIC) + 66,371 (held) + 1,560 + 100,000 ps later. ACKs are lost that start from 1,560 + 500,000 ps before 40 us
    # until 351,971 ps after: 853,531 ps, one each 84,040 ps, so 10 or 11.
    assert running.lost(SPINE, "RackSwitch-1") in (18, 19)
    assert running.lost("RackSwitch-1", SPINE) in (10, 11)


def test_routes_avoid_the_link_once_its_failure_is_known():
    # Two spines, one down for good from 10 us, known 5 us later. Frames that left for it before 15 us are lost.
    fabric = two_tiers(spines=2)
    dead = "SpineSwitch-1"
    plan = faults(fabric, (RACK, dead, 10 * US, INF_PS, 15 * US, INF_PS))
    running = run(fabric, [send(0, 1, 4096 * 2000)], nic=STEADY, faults=plan)
    before = running.to(15 * US).port(RACK, dead, "tx_packets")
    assert before > 0 and running.lost(RACK, dead) > 0
    running.end()
    # A frame that waits in the port's queue at 15 us still leaves by it: a switch that has enough rate has none.
    assert running.port(RACK, dead, "tx_packets") - before <= 1
    assert running.lost(RACK, dead) == running.clock("dropped") - running.lost(dead, RACK)


def test_routes_come_back_after_the_repair():
    fabric = two_tiers(spines=2)
    plan = faults(fabric, (RACK, "SpineSwitch-1", 10 * US, 20 * US, 12 * US, 22 * US))
    running = run(fabric, [send(0, 1, 4096 * 2000)], nic=STEADY, faults=plan)
    at_repair = running.to(21 * US).port(RACK, "SpineSwitch-1", "tx_packets")
    assert running.to(22 * US).port(RACK, "SpineSwitch-1", "tx_packets") == at_repair      # up, but not used yet
    assert running.to(30 * US).port(RACK, "SpineSwitch-1", "tx_packets") > at_repair
    running.end()


def test_a_link_that_also_loses_at_random_is_whole_again_after_its_repair():
    # Between 20 and 21 us all is lost, else a frame with a chance of 1e-9: none of the 1,000 of the message.
    fabric = two_tiers()
    plan = faults(fabric, (RACK, SPINE, 20 * US, 21 * US, INF_PS - 1, INF_PS), keep=1 - 1e-9)
    running = run(fabric, [send(0, 1, 4096 * 1000)], nic=STEADY, faults=plan)
    assert running.to(20 * US).clock("dropped") == 0
    lost = running.to(22 * US).clock("dropped")
    assert lost > 10
    assert running.to(60 * US).clock("dropped") == lost
    running.end()


def test_a_nic_without_link_stops_and_goes_on_when_it_is_back():
    # One packet of 4096 B in a rack: two links each way. Ready after READY, but the link is down until 10 us: the frame
    # starts then. 10,000,000 + 2 * (4202 + 78) * 20 + 4 * 100,000 + HOLD.
    fabric = two_tiers(racks=1, per_rack=2, spines=0)
    plan = faults(fabric, ("NIC-0", RACK, 0, 10 * US, INF_PS - 1, INF_PS))
    running = run(fabric, [send(0, 1, 4096)], faults=plan).end()
    assert DOORBELL < READY < 10 * US
    assert running.done_ps() == 10 * US + 2 * (4202 + 78) * 20 + 400 * NS + HOLD
    assert running.clock("dropped") == 0


def test_a_nic_that_fails_in_a_frame_loses_it_and_sends_it_again():
    # The only frame starts at READY and is on the wire until READY + FRAME + 100 ns; the link fails inside it, for a
    # microsecond. Nothing else is lost; the frame goes out again when its timer ends.
    fabric = two_tiers(racks=1, per_rack=2, spines=0)
    plan = faults(fabric, ("NIC-0", RACK, READY + 1, READY + US, INF_PS - 1, INF_PS))
    running = run(fabric, [send(0, 1, 4096)], nic=nic({"InitialRetransmitTimeout": "20us"}), faults=plan).end()
    assert running.clock("dropped") == running.lost("NIC-0", RACK) == 1
    assert running.counter(0, "write_pkts_sent") == 2 and running.counter(0, "num_rto") == 1
    assert running.done_ps() > READY + FRAME + 20 * US


def test_a_nic_whose_link_is_gone_for_good_sends_nothing_and_the_run_ends():
    fabric = two_tiers(racks=1, per_rack=2, spines=0)
    plan = faults(fabric, ("NIC-0", RACK, 0, INF_PS, INF_PS - 1, INF_PS))
    running = Run(model(fabric, [send(0, 1, 4096)], faults=plan)).to(1000 * US)
    assert running.clock("created") == 0
    assert running.clock("sends_done") == 0


def test_random_loss_has_the_asked_rate_and_every_message_gets_through():
    # 4,000 frames cross four links, each with a chance of 1 %; so do their ACKs. Of about 32,000 crossings 320 are
    # lost, give or take five standard deviations (18) of the binomial, a little more for what is sent again.
    fabric = two_tiers()
    running = run(fabric, [send(0, 1, 4096 * 4000)], nic=IMPATIENT,
                  faults=faults(fabric, keep=0.99)).end()
    crossings = running.clock("hops") + running.clock("dropped")
    expected = 0.01 * crossings
    assert abs(running.clock("dropped") - expected) < 5 * np.sqrt(expected)
    assert crossings >= 32_000 - 4 * running.clock("dropped")


def test_bit_errors_lose_long_frames_more_often():
    # At 1e-5 a bit a frame of 4202 B (33,616 bits) is lost with 1 - (1 - 1e-5)**33616 = 28.55 %, an ACK of 78 B
    # (624 bits) with 0.622 %.
    fabric = two_tiers(racks=1, per_rack=2, spines=0)
    running = run(fabric, [send(0, 1, 4096 * 4000)], nic=IMPATIENT,
                  faults=faults(fabric, bit_errors=1e-5)).end()
    sent = running.port("NIC-0", RACK, "tx_packets")
    lost = running.lost("NIC-0", RACK)
    assert abs(lost - 0.2855 * sent) < 5 * np.sqrt(0.2855 * 0.7145 * sent)
    acks = running.port("NIC-1", RACK, "tx_packets")
    assert abs(running.lost("NIC-1", RACK) - 0.00622 * acks) < 5 * np.sqrt(0.00622 * acks)


def test_the_chance_of_bit_errors_is_the_power_of_the_bits():
    row = survival_of(1e-6)
    for size in (64, 78, 4202, 65_535):
        product = np.prod([row[k] for k in range(16) if size >> k & 1])
        assert product == pytest.approx((1 - 1e-6) ** (8 * size), rel=1e-12)


def test_intervals_of_a_link_that_touch_are_one():
    rows = np.array([(3, 10, 20), (1, 5, 6), (3, 20, 30), (3, 12, 15), (3, 40, 50)], INTERVALS)
    assert merged(rows).tolist() == [(1, 5, 6), (3, 10, 30), (3, 40, 50)]


def test_a_destination_without_a_way_keeps_its_routes():
    # Rack 0 loses both its spines: nothing reaches it, so all keep the routes of the whole fabric for it, and rack 1
    # still reaches rack 2 over both spines.
    fabric = two_tiers(racks=3, spines=2)
    routes = build_routes(fabric)
    names, links = fabric.names, fabric.links
    rack = names.index(RACK)
    down = (links["src"] == rack) & (links["dst"] > rack) | (links["dst"] == rack) & (links["src"] > rack)
    found = reroute(fabric, routes, down)

    def members(routes, switch, leaf):
        number = routes.table[names.index(switch) - fabric.hosts, routes.leaf_index[names.index(leaf)]]
        begin, count = routes.set_begin[number], routes.set_count[number]
        return sorted(names[links["dst"][link]] for link in routes.members[begin:begin + count])

    assert members(found, "RackSwitch-1", RACK) == members(routes, "RackSwitch-1", RACK) == [SPINE, "SpineSwitch-1"]
    assert members(found, "RackSwitch-1", "RackSwitch-2") == [SPINE, "SpineSwitch-1"]
    one = (links["src"] == rack) & (links["dst"] == names.index(SPINE))
    found = reroute(fabric, routes, one | one[links["reverse"]])
    assert members(found, "RackSwitch-1", RACK) == members(found, RACK, "RackSwitch-2") == ["SpineSwitch-1"]
    assert members(found, SPINE, RACK) == ["RackSwitch-1", "RackSwitch-2"]       # up again over another rack
    assert reroute(fabric, routes, np.zeros(len(links), bool)) is routes
