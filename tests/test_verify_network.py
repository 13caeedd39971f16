"""`verify` sees each invariant of packets, links, ports and wake-ups that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from verify_cases import (
    as_arrays,
    busy,
    change,
    long_link,
    long_queue,
    ready_nic,
    switch_port,
)

from distsim.state import tables as t
from distsim.state.verify import verify
from distsim.state.verify_rows import walk
from distsim.state.view import State

pytestmark = pytest.mark.core


def lose_packet(state: State) -> None:
    row = long_link(state)
    state.ins["head"][row] = state.packets["next"][state.ins["head"][row]]


def packet_in_two_places(state: State) -> None:
    links = np.flatnonzero((state.ins["head"] >= 0) & (state.ins["node"] < len(state.nodes)))
    for name in ("head", "tail"):
        state.ins[name][links[0]] = state.ins[name][links[1]]
    state.next_ps[:] = 0


def free_a_packet_under_way(state: State) -> None:
    row = state.ins["head"][long_link(state)]
    pool = state.pools[t.P_PACKET]
    pool["free_head"], pool["used"] = row, pool["high"] - len(walk(int(row), state.packets["next"].tolist(), ""))


def shrink(state: State) -> None:
    state.packets["size_bytes"][state.ins["head"][long_link(state)]] = 100


def circle(state: State) -> None:
    row = long_link(state)
    state.packets["next"][state.ins["tail"][row]] = state.ins["head"][row]


def swap_arrivals(state: State) -> None:
    head = state.ins["head"][long_link(state)]
    after = state.packets["next"][head]
    times = state.packets["time_ps"]
    times[head], times[after] = times[after], times[head]


def oversleep(state: State) -> None:
    state.next_ps[state.ins["node"][long_link(state)]] = t.INF_PS


def oversleep_port(state: State) -> None:
    port = switch_port(state)
    node = state.ports["node"][port]
    state.ports["free_ps"][port] = state.next_ps[node] - 1


def sending_nic(state: State) -> int:
    """A NIC whose fetch ring is not empty."""
    return int(np.flatnonzero(state.nics["fetch_head"] != state.nics["fetch_tail"])[0])


def oversleep_nic(state: State) -> None:
    """The first fetch of a NIC's ring is there, and its port free, before it wakes."""
    nic_row = state.nics[sending_nic(state)]
    row = nic_row["fetch_begin"] + (nic_row["fetch_head"] & (nic_row["fetch_room"] - 1))
    state.ports["free_ps"][nic_row["port"]] = state.rings["time_ps"][row] = state.next_ps[nic_row["node"]] - 1


def forget_the_pass(state: State) -> None:
    nic_row = ready_nic(state)
    state.nics["pool_wait"][nic_row] = 0
    state.nics["wake_ps"][nic_row] = t.INF_PS


def lose_at_a_nic(state: State) -> None:
    state.clock["dropped"] += 1
    state.clock["delivered"] -= 1
    state.ins["rx_drops"][state.nodes["in_begin"][state.nics["node"][0]]] += 1


def wake_due(name: str) -> Callable[[State], None]:
    """A NIC's time `name` becomes due before it wakes."""
    def break_it(state: State) -> None:
        state.nics[name][0] = state.next_ps[state.nics["node"][0]] - 1
    return break_it


def wake_in_the_past(state: State) -> None:
    state.next_ps[state.nics["node"][3]] = state.nics["now_ps"][3] - 1


def oversleep_timer(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["open_tx"] > 0)[0])
    state.nics["rto_ps"][nic_row] = state.next_ps[state.nics["node"][nic_row]] - 1


def swap_classes(state: State) -> None:
    state.packets["tc"][state.queues["head"][long_queue(state)]] ^= 2


def wrong_tail(state: State) -> None:
    row = long_queue(state)
    state.queues["tail"][row] = state.queues["head"][row]


def cut_queue(state: State) -> None:
    state.packets["next"][state.queues["head"][long_queue(state)]] = -1


def over_the_limit(state: State) -> None:
    state.swpar["data_limit_bytes"] = state.swpar["rtx_limit_bytes"] = 4000


def oversleep_operation(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["heap_size"] >= 3)[0])
    state.heap["time_ps"][state.nics["heap_begin"][nic_row]] = state.next_ps[state.nics["node"][nic_row]] - 1


def strange_order(state: State) -> None:
    state.order[0] = state.order[1]


BROKEN: dict[str, tuple[Callable[[State], None], str]] = {
    # pools and packets
    "pool room": (change("pools", "room", t.P_PACKET, -1), "pool of packets: room is"),
    "pool used": (change("pools", "used", t.P_PACKET, -1), "pool of packets: .* used and .* free rows"),
    "log": (change("pools", "used", t.P_PERF, -100), "table perf: -.* rows used"),
    "pool high": (change("pools", "high", t.P_TX, -1), "high-water mark|pool of tx"),
    "packet lost": (lose_packet, "is in no link, in no queue and not free"),
    "packet twice": (packet_in_two_places, "packet .* is in link FIFO .* and in link FIFO"),
    "packet free": (free_a_packet_under_way, "in no link|is free and in link FIFO"),
    "packet size": (shrink, "type . with 100 B"),
    "created": (change("clock", "created", 0, 1), "packets created and 0 taken over are not"),
    "created and delivered": (lambda s: [change("clock", name, 0, 1)(s) for name in ("created", "delivered")] and None,
                              "created is .* but the NICs count"),
    "delivered": (lambda s: [change("counters", name, 0, 1)(s) for name in ("ack_pkts_rcvd",)] and None,
                  "delivered is .* but the NICs count"),
    # links
    "circle": (circle, "link FIFO .* runs in a circle"),
    "link tail": (change("ins", "tail", long_link, 1), "link FIFO .*: tail is"),
    "link order": (swap_arrivals, "are not in order"),
    "hops": (change("clock", "hops", 0, 1), "hops is"),
    "link packets": (change("ins", "rx_packets", 0, 1), "packets, but .* arrived"),
    "link bytes": (change("ins", "rx_bytes", 0, 1), "B arrived, were lost or are under way"),
    "peer": (change("ports", "peer", 0, 1), "peer is"),
    # ports
    "queued": (change("ports", "queued", switch_port, 1), "queued is"),
    "waiting bytes": (change("queues", "waiting_bytes", long_queue, 1), "waiting_bytes is"),
    "class": (swap_classes, "is of class"),
    "queue tail": (wrong_tail, "tail is"),
    "queue list": (cut_queue, "the list ends before"),
    "limit": (over_the_limit, "more than the limit of 4000"),
    "trims": (change("clock", "trimmed", 0, 1), "trimmed is"),
    "drops": (change("clock", "dropped", 0, 1), "dropped is|packets created"),
    "drops at a NIC": (lose_at_a_nic, "rx_dropped is 0"),
    # wake-ups
    "arrival missed": (oversleep, "a packet arrives at .*, but next_ps"),
    "service missed": (oversleep_port, "but port .* can serve at"),
    "sending missed": (oversleep_nic, "but its port can send at"),
    "timer missed": (oversleep_timer, "but a timer expires at"),
    "transmit process missed": (wake_due("pass_ps"), "its transmit process starts at"),
    "early failure missed": (wake_due("fail_ps"), "an early failure is due at"),
    "pause missed": (wake_due("police_ps"), "a pause is looked at at"),
    "egress pool missed": (wake_due("wake_ps"), "may have drained at"),
    "ready groups forgotten": (forget_the_pass, "nothing starts its transmit process"),
    "pool wait": (change("nics", "pool_wait", ready_nic, -1), "pool_wait is 0 with wake_ps"),
    "operation missed": (oversleep_operation, "but an operation is due at"),
    "woken in the past": (wake_in_the_past, "before its latest event|wakes at"),
    "visiting order": (strange_order, "visiting order"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_invariant_is_seen(name):
    break_it, sentence = BROKEN[name]
    state = as_arrays(busy())
    break_it(state)
    with pytest.raises(AssertionError, match=sentence):
        verify(state)
