"""Groups of PDCs: found by (NIC, remote address), kept alive by every PDC of either direction, served in turns.

scala-computing/docs models/scala-uet-nic/transport, "PDC groups and the transmit scheduler".
"""

from __future__ import annotations

from . import cc, spray
from .jit import kernel, small
from .pools import give_group, take_group
from .rng import mix32


@small
def bucket(s, nic_row, dst, key_pdc):
    """Hash bucket of a group; the number of buckets is a power of two."""
    return mix32(nic_row * 0x1000003 + dst + (key_pdc + 1) * 0x2545F49) & (len(s.group_hash) - 1)


@kernel
def find_group(s, nic_row, dst, key_pdc):
    """GROUP row of the PDCs between this NIC and `dst`, -1 when there is none."""
    row = s.group_hash[bucket(s, nic_row, dst, key_pdc)]
    while row >= 0:
        g = s.groups[row]
        if g.nic == nic_row and g.dst == dst and g.key_pdc == key_pdc:
            return row
        row = g.hash_next
    return -1


@kernel
def join_group(s, nic_row, dst, key_pdc, pdc_id, now_ps):
    """GROUP row for the PDCs between this NIC and `dst`, made if there is none; one more PDC holds it.

    key_pdc : -1 when groups are shared, else it makes the group the PDC's own (PDCGroupsEnabled false). pdc_id : of the
    PDC that joins; a new group has its local UDP port.
    """
    row = find_group(s, nic_row, dst, key_pdc)
    if row >= 0:
        s.groups[row].ref_count += 1
        return row
    at = bucket(s, nic_row, dst, key_pdc)
    row = take_group(s)
    g = s.groups[row]
    par = s.nicpar[s.nodes[s.nics[nic_row].node].param]
    g.hash_next = s.group_hash[at]
    s.group_hash[at] = row
    g.nic = nic_row
    g.dst = dst
    g.key_pdc = key_pdc
    g.ref_count = 1
    g.in_ready = 0
    g.ready_next = -1
    g.param = s.nodes[s.nics[nic_row].node].param
    g.turn_head = -1
    g.turn_tail = -1
    g.inflight_bytes = 0
    g.fetched_bytes = 0
    g.reps_begin = -1
    g.incarnation = s.nics[nic_row].groups_made
    s.nics[nic_row].groups_made = (g.incarnation + 1) & 0x3FFFFFFF
    cc.start(g, par, now_ps)
    spray.start(g, par, pdc_id)
    return row


@kernel
def leave_group(s, row):
    """One PDC less; the last one ends the group."""
    g = s.groups[row]
    g.ref_count -= 1
    if g.ref_count > 0:
        return
    if g.in_ready != 0:
        unlink_ready(s, s.nics[g.nic], row)
    at = bucket(s, g.nic, g.dst, g.key_pdc)
    if s.group_hash[at] == row:
        s.group_hash[at] = g.hash_next
    else:
        before = s.group_hash[at]
        while s.groups[before].hash_next != row:
            before = s.groups[before].hash_next
        s.groups[before].hash_next = g.hash_next
    spray.end(s, g)
    give_group(s, row)


@kernel
def unlink_ready(s, nic, row):
    """Take a group out of the middle of the NIC's ready queue."""
    g = s.groups[row]
    if nic.ready_head == row:
        nic.ready_head = g.ready_next
        if nic.ready_head < 0:
            nic.ready_tail = -1
    else:
        before = nic.ready_head
        while s.groups[before].ready_next != row:
            before = s.groups[before].ready_next
        s.groups[before].ready_next = g.ready_next
        if nic.ready_tail == row:
            nic.ready_tail = before
    g.in_ready = 0
    g.ready_next = -1


@small
def ready_at_tail(s, nic, row):
    """A new message, or a group that has sent its packet and has more."""
    g = s.groups[row]
    if g.in_ready == 0:
        g.in_ready = 1
        g.ready_next = -1
        if nic.ready_head < 0:
            nic.ready_head = row
        else:
            s.groups[nic.ready_tail].ready_next = row
        nic.ready_tail = row


@small
def ready_at_head(s, nic, row):
    """Woken by an ACK, a NACK or a timeout."""
    g = s.groups[row]
    if g.in_ready == 0 and g.turn_head >= 0:
        g.in_ready = 1
        g.ready_next = nic.ready_head
        nic.ready_head = row
        if nic.ready_tail < 0:
            nic.ready_tail = row


@small
def pop_ready(s, nic):
    """Take the group at the head of the ready queue."""
    row = nic.ready_head
    g = s.groups[row]
    nic.ready_head = g.ready_next
    if nic.ready_head < 0:
        nic.ready_tail = -1
    g.in_ready = 0
    return row


@small
def has_work(pdc):
    """A PDC with a retransmission waiting, a segment never fetched, or a payload in the prefetch buffer."""
    return pdc.rtx_head >= 0 or pdc.next_psn < pdc.packets or pdc.commit_psn < pdc.arrived_psn


@small
def join_turn(s, g, row):
    """Give the PDC a place in its group's turns."""
    pdc = s.tx[row]
    if pdc.in_turn == 0:
        pdc.in_turn = 1
        pdc.turn_next = -1
        if g.turn_head < 0:
            g.turn_head = row
        else:
            s.tx[g.turn_tail].turn_next = row
        g.turn_tail = row


@small
def pop_turn(s, g):
    """Take the PDC whose turn it is."""
    row = g.turn_head
    pdc = s.tx[row]
    g.turn_head = pdc.turn_next
    if g.turn_head < 0:
        g.turn_tail = -1
    pdc.in_turn = 0
    return row


@small
def drop_turn(s, g, before, row):
    """Take a PDC out of its group's turns; `before`: the one ahead of it, -1: it is the first."""
    pdc = s.tx[row]
    if before < 0:
        g.turn_head = pdc.turn_next
    else:
        s.tx[before].turn_next = pdc.turn_next
    if g.turn_tail == row:
        g.turn_tail = before
    pdc.in_turn = 0


@kernel
def unlink_turn(s, g, row):
    """Take a PDC out of the middle of its group's turns."""
    pdc = s.tx[row]
    if pdc.in_turn == 0:
        return
    if g.turn_head == row:
        pop_turn(s, g)
        return
    before = g.turn_head
    while s.tx[before].turn_next != row:
        before = s.tx[before].turn_next
    s.tx[before].turn_next = pdc.turn_next
    if g.turn_tail == row:
        g.turn_tail = before
    pdc.in_turn = 0
