"""What sending, acknowledging and timing a packet share: sizes, PSN slots, the timer and ACK-request rules.

scala-computing/docs models/scala-uet-nic/transport (Packets on the wire, Acknowledgements, Retransmission timer).
"""

from __future__ import annotations

from ..state.tables import SLOT_FREE
from .jit import kernel, small
from .pools import give_slots, take_slots

DATA_HEADER_BYTES = 106       # payload + this on the wire: Ethernet 18, IPv4 20, UDP 8, PDS 16, SES 44
NOMINAL_HEADER_BYTES = 88     # payload + this is the IP datagram, the unit of the window
ETHERNET_BYTES = 18
ACK_WIRE_BYTES, NACK_WIRE_BYTES, PROBE_WIRE_BYTES = 78, 62, 62
MAX_TRIES = 255
NEVER = 1 << 62


@small
def payload_bytes(par, pdc, psn):
    """Payload of a PSN: RdmaDataMSS but for the message's last packet."""
    return pdc.last_bytes if psn == pdc.packets - 1 else par.mss_bytes


@small
def slot_row(pdc, psn):
    """SLOT row of an outstanding PSN."""
    return pdc.slot_begin + (psn & (pdc.slot_room - 1))


@small
def rto_ps(par, tries):
    """Timeout of a packet sent `tries` times: doubles with every retransmission up to the cap, or is fixed."""
    if par.rto_fixed != 0:
        return par.rto_ps
    doublings = tries - 1
    if doublings > par.rto_max_backoff:
        doublings = par.rto_max_backoff
    return par.rto_ps << doublings


@small
def wants_ack(par, pdc, psn):
    """ACK-request rule: every n-th transmission of the PDC, counted from the first or not, and the last packet."""
    if par.ar_every == 1:
        return True
    count = pdc.transmissions
    if par.ar_first != 0:
        asks = (count - 1) % par.ar_every == 0
    else:
        asks = count % par.ar_every == 0
    return asks or (par.ar_last != 0 and psn == pdc.packets - 1)


@kernel
def grow_slots(s, pdc):
    """Double the PDC's ring of PSN slots."""
    room = 2 * pdc.slot_room
    first = take_slots(s, room)
    for psn in range(pdc.unacked, pdc.next_psn):
        old = s.slots[slot_row(pdc, psn)]
        new = s.slots[first + (psn & (room - 1))]
        new.end_ps = old.end_ps
        new.rtx_next = old.rtx_next
        new.entropy = old.entropy
        new.tries = old.tries
        new.state = old.state
    give_slots(s, pdc.slot_begin, pdc.slot_room)
    pdc.slot_begin = first
    pdc.slot_room = room


@small
def open_slot(s, pdc, psn):
    """Make the slot of the PDC's next PSN its own: fetched, not yet sent."""
    if psn - pdc.unacked >= pdc.slot_room:
        grow_slots(s, pdc)
    slot = s.slots[slot_row(pdc, psn)]
    slot.state = SLOT_FREE
    slot.tries = 0
    pdc.next_psn = psn + 1


@small
def arm_timers(nic, par, g, pdc, slot, end_ps):
    """A transmission's serialization ends at `end_ps`: its timer starts, and its early-failure deadline."""
    slot.end_ps = end_ps
    deadline = end_ps + rto_ps(par, slot.tries)
    if deadline < pdc.rto_ps:
        pdc.rto_ps = deadline
        nic.rto_ps = min(nic.rto_ps, deadline)
    if par.fail_multiplier != 0:
        wait_ns = (par.fail_multiplier * g.base_rtt_ps + 999) // 1000
        slot.rtx_next = min(wait_ns, 2147483647)
        deadline = end_ps + 1000 * slot.rtx_next
        if deadline < pdc.fail_ps:
            pdc.fail_ps = deadline
            nic.fail_ps = min(nic.fail_ps, deadline)
