"""`verify` sees each invariant of shared buffers and pauses that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from verify_cases import (
    as_arrays,
    change,
    first,
    frame_alive,
    headroom_share,
    lossless,
    nic_that_pauses,
    paused_class,
    paused_share,
    served_port,
)

from distsim.state import tables as t
from distsim.state.verify import verify
from distsim.state.view import State

pytestmark = pytest.mark.core


def pausing_node(state: State) -> int:
    return int(np.flatnonzero(state.nodes["pauses"] > 0)[0])


def used_pool(state: State) -> int:
    return int(np.flatnonzero(state.buffers["in_bytes"] > 0)[0])


def switch_queue(state: State) -> int:
    """A switch's port with data waiting."""
    ports = state.ports
    waiting = (state.queues["packets"][ports["queue_begin"]] > 0) & (state.nodes["kind"][ports["node"]] != 0)
    return int(np.flatnonzero(waiting)[0])


def waiting_share(state: State) -> int:
    """SHARE row of the data class of such a port."""
    return int(state.ports["queue_begin"][switch_queue(state)])


def use_more_headroom(state: State) -> None:
    row = headroom_share(state)
    state.shares["in_bytes"][row] -= 10**6
    state.shares["headroom_bytes"][row] += 10**6


def move_to_another_link(state: State) -> None:
    """A waiting packet is said to have come by the next link."""
    port = switch_queue(state)
    head = state.queues["head"][state.ports["queue_begin"][port]]
    node = state.nodes[state.ports["node"][port]]
    state.packets["in_port"][head] = (state.packets["in_port"][head] + 1) % node["in_count"]


def strange_link(state: State) -> None:
    state.packets["in_port"][state.queues["head"][state.ports["queue_begin"][switch_queue(state)]]] = 77


def oversleep_refresh(state: State) -> None:
    node = pausing_node(state)
    state.nodes["wake_ps"][node] = t.INF_PS


def oversleep_pauses(state: State) -> None:
    """A switch with a pause outstanding that has nothing to do before its wake-up."""
    node = pausing_node(state)
    state.nodes["wake_ps"][node] = state.next_ps[node] - 1


def oversleep_release(state: State) -> None:
    for port in np.flatnonzero(state.ports["service_state"] == 1):
        node = state.ports["node"][port]
        if state.nodes["pauses"][node]:
            state.ports["free_ps"][port] = state.next_ps[node] - 1
            return
    raise LookupError("no such port at this stop")


def forget_headroom(state: State) -> None:
    """Headroom in use without a pause outstanding."""
    row = headroom_share(state)
    state.shares["refresh_ps"][row] = t.INF_PS
    state.nodes["pauses"][state.ports["node"][row // t.QUEUES]] -= 1


def pause_for_nothing(state: State) -> None:
    """A pause of a port that brought nothing."""
    row = next(row for row in range(len(state.shares)) if row % t.QUEUES < t.CLASSES
               and state.nodes["shared"][state.ports["node"][row // t.QUEUES]]
               and not state.shares["in_bytes"][row] and state.shares["refresh_ps"][row] == t.INF_PS)
    node = state.ports["node"][row // t.QUEUES]
    state.shares["refresh_ps"][row] = t.INF_PS - 1
    state.nodes["pauses"][node] += 1
    state.nodes["wake_ps"][node] = min(state.nodes["wake_ps"][node], t.INF_PS - 1)


def unpaused(state: State) -> None:
    row = paused_class(state)
    state.nics["paused"][state.nodes["nic"][state.ports["node"][row // t.QUEUES]]] = 0


def unpaused_switch(state: State) -> None:
    """A switch port that is held looks as if it were not."""
    held = np.flatnonzero(state.pfc["xoff_since_ps"] >= 0) // t.QUEUES
    state.ports["paused"][held] = 0


def nic_pfc(state: State) -> int:
    """PFC row of the data class of a NIC with a pause outstanding."""
    return int(state.ports["queue_begin"][state.nics["port"][nic_that_pauses(state)]])


def lower_the_pool(state: State) -> None:
    state.nicpar["xon_0"], state.nicpar["xoff_0"] = 10**9, 2 * 10**9


def make_large(state: State) -> None:
    state.packets["size_bytes"][frame_alive(state)] = 65


def pool_of_nothing(state: State) -> None:
    state.buffers["size_bytes"] = 1000


BROKEN: dict[str, tuple[Callable[[State], None], str]] = {
    # shared buffers
    "charged in": (change("shares", "in_bytes", paused_share, 1), "in_bytes is .* what came by it is charged"),
    "charged out": (change("shares", "out_bytes", waiting_share, 1), "out_bytes is"),
    "negative": (use_more_headroom, "in_bytes is -"),
    "in service": (change("ports", "service_state", served_port, -1), "out_bytes is|came by it is charged"),
    "state of service": (change("ports", "service_state", served_port, 1), "service_state is 2"),
    "link of the service": (change("ports", "service_in", served_port, 50), "a packet came by link"),
    "link": (move_to_another_link, "came by it is charged"),
    "link there is not": (strange_link, "a packet came by link 77"),
    "headroom too small": (lambda s: s.swpar["headroom_bytes"].fill(0), "B of headroom, 0 B are the limit"),
    "headroom unpaused": (forget_headroom, "B of headroom, .* the pause is sent again at 46"),
    "pause for nothing": (pause_for_nothing, "nothing that came by it is held"),
    "pool in": (change("buffers", "in_bytes", used_pool, 1), "B in and .* B out, its ports hold"),
    "pool out": (change("buffers", "out_bytes", used_pool, 1), "B in and .* B out, its ports hold"),
    "pool too small": (pool_of_nothing, "B in a pool of 1000 B"),
    "samples": (change("buffer_stats", "now_bytes", lambda s: used_pool(s) * t.BUFFER_KINDS + t.B_POOL, 1),
                "its record says"),
    # pauses of switches
    "pauses": (change("nodes", "pauses", pausing_node, 1), "pauses is"),
    "refresh": (oversleep_refresh, "but a pause is sent again at"),
    "refresh missed": (oversleep_pauses, "but looks at its pauses at|next_ps"),
    "release missed": (oversleep_release, "but a service of port|can serve at"),
    # frames and pauses received
    "frame": (make_large, "type 6 with 65 B"),
    "xoff sent": (change("pfc", "xoff_tx", lambda s: s.ports["queue_begin"][int(s.nics["port"][0])], 1),
                  "created is .* PFC frames"),
    "xoff": (lambda s: [change("pfc", name, lambda s: first(np.flatnonzero(s.pfc["xoff_tx"] > 0)), by)(s)
                        for name, by in (("xoff_tx", -1), ("xon_tx", 1))] and None, "xoff_tx is|xon_tx is"),
    "pause received": (change("pfc", "xoff_since_ps", paused_class, 10**12), "a pause from"),
    "packets waiting": (change("pfc", "occupied_since_ps", paused_class, 10**13), "with packets waiting from"),
    "time paused": (change("pfc", "occupied_ps", paused_class, 10**12), "with packets waiting"),
    "flag of the NIC": (unpaused, "but its flag is not set"),
    "flag of the port": (unpaused_switch, "but its flag is not set"),
    "no NIC's class": (change("pfc", "refresh_ps", lambda s: s.ports["queue_begin"][switch_queue(s)], -1),
                       "but only a NIC's two classes"),
    # pauses of NICs
    "looked at": (change("nics", "police_ps", nic_that_pauses, 10**12), "but its pauses are to be looked at"),
    "never looked at": (change("pfc", "refresh_ps", nic_pfc, -10**13), "police_ps is|a pause is looked at"),
    "not asked for": (lambda s: s.nicpar["pfc_0"].fill(0), "but none was sent"),
    "low": (lower_the_pool, "at most the 1000000000 B of Xon"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_invariant_is_seen(name):
    break_it, sentence = BROKEN[name]
    state = as_arrays(lossless())
    verify(state)
    break_it(state)
    with pytest.raises(AssertionError, match=sentence):
        verify(state)
