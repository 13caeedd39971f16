"""`verify` sees each invariant of a NIC's rings, pools, slots and caches that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from verify_cases import (
    as_arrays,
    cache_of_values,
    change,
    charged_nic,
    failure_watched,
    fetching_nic,
    held_ack,
    host_buffer,
    loaded,
    prefetching,
    queued_rtx,
    ready_nic,
    slot_of,
    uncommitted,
    write_on_its_way,
)

from distsim.state import tables as t
from distsim.state.verify import verify
from distsim.state.view import State

pytestmark = pytest.mark.core


def entry(name: str, find: Callable[[State], int | None], place: str) -> Callable[[State], int]:
    """RING row at position `place` (a field) of a NIC's ring `name`."""
    def row(state: State) -> int:
        nic_row = state.nics[find(state)]
        return int(nic_row[f"{name}_begin"] + (nic_row[place] & (nic_row[f"{name}_room"] - 1)))
    return row


def port_queue(state: State, nic_row: int, number: int) -> int:
    """QUEUE row of a NIC's port."""
    return int(state.ports["queue_begin"][state.nics["port"][nic_row]] + number)


def swap_held_acks(state: State) -> None:
    """The first held ACK is ready after the second."""
    for nic_row in range(len(state.nics)):
        queue = state.queues[port_queue(state, nic_row, t.Q_HELD)]
        if queue["packets"] >= 2:
            state.packets["time_ps"][queue["head"]] = state.packets["time_ps"][queue["tail"]] + 1
            return
    raise LookupError("no two held ACKs at this stop")


def release_ack_uncounted(state: State) -> None:
    """A held ACK vanishes as delivered: made, but never counted as sent."""
    row = port_queue(state, held_ack(state), t.Q_HELD)
    state.queues["packets"][row] -= 1


def change_value(state: State) -> None:
    state.rings["a"][state.groups["reps_begin"][cache_of_values(state)]] = 70_000


def swap_fetch_ring(state: State) -> None:
    """Two NICs' fetch rings begin at the same row."""
    owners = [row for row in range(len(state.nics)) if state.nics["fetch_room"][row]]
    a, b = owners[:2]
    state.nics["fetch_begin"][a] = state.nics["fetch_begin"][b]


def lose_ring(state: State) -> None:
    """The transmit buffer's ring is nobody's any more."""
    row = next(row for row in range(len(state.nics)) if state.nics["up_room"][row])
    for name in ("up_room", "up_head", "up_tail", "up_data_bytes", "up_header_bytes"):
        state.nics[name][row] = 0


def other_transmission(state: State) -> None:
    state.packets["flag_bits"][queued_rtx(state)] += 1 << t.TRIES_SHIFT


def set_slot(state: State, found: tuple[int, int] | None, value: int) -> None:
    assert found is not None
    state.slots["state"][found[1]] = value


def forget_queued(state: State) -> None:
    set_slot(state, slot_of(state, t.SLOT_QUEUED) or slot_of(state, t.SLOT_QUEUED_AR), t.SLOT_SENT)


def queue_what_is_out(state: State) -> None:
    set_slot(state, slot_of(state, t.SLOT_SENT), t.SLOT_QUEUED)


def waiting_for_an_id(state: State) -> None:
    nic_row = int(fetching_nic(state))
    op = int(state.tx["op"][state.nics["pdc_head"][nic_row]])
    state.nics["wait_head"][nic_row] = state.nics["wait_tail"][nic_row] = op


def later_failure(state: State) -> None:
    row = failure_watched(state)
    state.tx["fail_ps"][row] = t.INF_PS


def later_failure_of_the_nic(state: State) -> None:
    row = failure_watched(state)
    state.nics["fail_ps"][state.tx["nic"][row]] = t.INF_PS


def record(number: int) -> Callable[[State], int]:
    return lambda state: int(charged_nic(state)) * t.NIC_BUFFERS + number


# ---- of the loaded NICs ----------------------------------------------------------------------------------------------
BROKEN: dict[str, tuple[Callable[[State], None], str]] = {
    # fetch ring
    "fetch positions": (change("nics", "fetch_credit", fetching_nic, -100), "its fetch ring of .* has head"),
    "fetch ring too small": (change("nics", "fetch_room", fetching_nic, 1), "entries in .* rows|rings of fetch"),
    "fetch times": (change("rings", "time_ps", entry("fetch", fetching_nic, "fetch_handed"), 10**12),
                    "are not in order|its first entry says"),
    "first of the ring": (change("nics", "data_ps", fetching_nic, 1), "data_ps is .*, its first entry says"),
    "next payload": (change("nics", "handoff_ps", fetching_nic, 1), "handoff_ps is .*, its first entry says"),
    "PSN of a fetch": (change("rings", "b", entry("fetch", fetching_nic, "fetch_handed"), 1), "are in the fetch ring"),
    "PDC of a fetch": (change("rings", "a", entry("fetch", fetching_nic, "fetch_handed"), 1000),
                       "is of sending PDC .*, which is not its own"),
    "credit": (change("nics", "down_data_bytes", host_buffer, 1), "host's transmit buffer .*: .* B of data, its"),
    "credit of headers": (change("nics", "down_header_bytes", host_buffer, 1), "B of headers, its segments"),
    "credit exceeded": (lambda s: s.nicpar["down_data_bytes"].fill(4000), "B of data, more than its 4000 B"),
    # pools of the port
    "egress pool": (change("nics", "egress_bytes", fetching_nic, 1), "egress_bytes is .*, what is reserved"),
    "egress pool too small": (lambda s: s.nicpar["egress_bytes"].fill(4202), "egress_bytes is .*, more than its 4202"),
    "control pool": (change("nics", "control_bytes", 0, 1), "control_bytes is .*, what is reserved"),
    "serving": (lambda s: s.nics["serving"].fill(0), "is .*, what is reserved and in service"),
    "drained to": (change("nics", "wake_bytes", ready_nic, 10**6), "until its egress pool has drained to"),
    "frame to be logged": (lambda s: [s.nics[name].fill(value) for name, value in (("monitored", 1), ("serving", 0))]
                           and None, "is to be logged"),
    "order of ACKs": (swap_held_acks, "times .* are not in order"),
    "held ACK noted": (change("nics", "held_ps", held_ack, 1), "held_ps is .*, its first entry says|can send at"),
    "last held ACK": (change("nics", "hold_until_ps", held_ack, 1), "hold_until_ps is"),
    "held ACK lost": (release_ack_uncounted, "is in no link, in no queue|tail is"),
    "another's packet": (change("packets", "src", queued_rtx, 1), "packet .* is of node"),
    "ACKs counted": (change("counters", "ack_pkts_sent", 0, 1), "created is .*, but the NICs count"),
    "turn": (lambda s: s.nics["turn_left"].fill(0), "may send 0 of 1 packets in its turn"),
    # receive pool and PCIe
    "receive pool": (change("nics", "ingress_bytes", charged_nic, 1), "ingress_bytes is .*, its entries are"),
    "receive pool too small": (lambda s: s.nicpar["ingress_bytes"].fill(5000), "B in a pool of 5000 B"),
    "release": (change("nics", "release_ps", charged_nic, 1), "release_ps is .*, its first entry says"),
    "order of releases": (change("rings", "time_ps", entry("in", charged_nic, "in_head"), 10**12),
                          "are not in order"),
    "transmit buffer": (change("nics", "up_data_bytes", write_on_its_way, 1), "transmit buffer .* B of data, its"),
    "transmit buffer's headers": (change("nics", "up_header_bytes", write_on_its_way, 1), "B of headers, its segments"),
    "lanes": (change("nics", "up_free_ps", write_on_its_way, 1), "the lanes are taken until"),
    "reads": (lambda s: s.nics["up_read_ps"].fill(1), "holds no read requests"),
    "record of the receive pool": (change("buff", "now_bytes", record(t.RX_TC0), 1), "its record says"),
    "record of charges": (change("buff", "enq_bytes", record(t.TX_TC0), 1), "was charged .* more than released"),
    "number of charges": (change("buff", "deq", record(t.RX_TC0), 1), "charges are left"),
    # arena
    "ring twice": (swap_fetch_ring, "overlap|is not its own|are not in order|its first entry|in the fetch ring"),
    "ring lost": (lose_ring, "rings .* belong to nothing|rings: used is"),
    "rings used": (change("pools", "used", t.P_RING, -8), "rings: used is"),
    # slots and timers
    "transmission": (other_transmission, "but waits as transmission"),
    "queued": (forget_queued, "waits for the port in state 1"),
    "not queued": (queue_what_is_out, "waits in no queue"),
    "early failure": (later_failure, "the early failure of PSN"),
    "early failure of the NIC": (later_failure_of_the_nic, "fail_ps is .*, that of NIC"),
    "waits for an id": (waiting_for_an_id, "wait for a PDC id"),
    # recycled entropy
    "cache": (change("groups", "reps_count", cache_of_values, 100), "a cache of 8 entropy values"),
    "reuse": (change("groups", "reps_reuse", cache_of_values, 100), "a cache of 8 entropy values"),
    "value": (change_value, "70000 is no entropy value below 65536"),
    "cache unasked": (lambda s: s.nicpar["spraying"].fill(0), "but does not recycle them"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_invariant_is_seen(name):
    break_it, sentence = BROKEN[name]
    state = as_arrays(loaded())
    verify(state)
    break_it(state)
    with pytest.raises(AssertionError, match=sentence):
        verify(state)


# ---- of the prefetch buffer ------------------------------------------------------------------------------------------
def oversleep_payload(state: State) -> None:
    nic_row = state.nics[fetching_nic(state)]
    nic_row["handoff_ps"] = state.next_ps[nic_row["node"]] - 1


PREFETCH: dict[str, tuple[Callable[[State], None], str]] = {
    "reserved": (change("nics", "prefetch_bytes", 0, 1), "prefetch_bytes is .*, what is reserved"),
    "too small": (lambda s: s.nicpar["prefetch_bytes"].fill(4202), "prefetch_bytes is .*, more than its 4202"),
    "arrived": (change("tx", "arrived_psn", uncommitted, 1), "PSNs .* are being fetched"),
    "committed": (change("tx", "commit_psn", uncommitted, 1), "state 0 of PSN|first ones"),
    "committed twice": (change("tx", "commit_psn", uncommitted, -1), "commit_psn -1, but PSNs|state . of PSN"),
    "data ready": (change("nics", "data_ps", 0, -1), "data_ps is"),
    "payload missed": (oversleep_payload, "a payload arrives at"),
    "without a buffer": (lambda s: s.nicpar["prefetch"].fill(0), "without a prefetch buffer|data_ps|can send at"),
    "samples": (change("counters", "tx_samples", 0, 1), "tx_samples is"),
}


@pytest.mark.parametrize("name", PREFETCH)
def test_a_broken_prefetch_buffer_is_seen(name):
    break_it, sentence = PREFETCH[name]
    state = as_arrays(prefetching())
    verify(state)
    break_it(state)
    with pytest.raises(AssertionError, match=sentence):
        verify(state)
