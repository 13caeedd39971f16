"""Priority flow control: pause frames made and taken in, and how long a class has been held.

scala-computing/docs models/scala-uet-nic/buffers-and-pfc (PFC) and models/scala-switch/packet-handling (PFC pause and
resume). A frame names one class and asks for quanta of 512 bit times at the link's rate; both ends add the link's
delay. A fresh frame restarts the time, quanta 0 ends it. Frames go ahead of every class and are charged to no pool.
"""

from __future__ import annotations

from ..state.tables import CONTROL, PFC_FRAME, Q_PFC
from .jit import kernel, small
from .links import serialization_ps
from .pools import take_packet

PFC_WIRE_BYTES = 64
QUANTUM_BYTES = 64            # 512 bits
SWITCH_QUANTA = 65535


@small
def pause_ps(port, quanta):
    """How long a frame of `quanta` holds a class."""
    return serialization_ps(port, QUANTUM_BYTES * quanta) + port.delay_ps


@kernel
def make_frame(s, node_id, port, tc, quanta, now_ps):
    """A PACKET row holding a PFC frame of class `tc`; counted as made by the port."""
    i = take_packet(s)
    p = s.packets[i]
    s.clock[0].created += 1
    p.time_ps = now_ps
    p.src = node_id
    p.dst = -1
    p.path_hash = 0
    p.size_bytes = PFC_WIRE_BYTES
    p.entropy = 0
    p.in_port = 0
    p.tc = Q_PFC
    p.role = CONTROL
    p.psn = quanta
    p.spdc = 0
    p.dpdc = 0
    p.flag_bits = 0
    p.ptype = PFC_FRAME
    p.code = tc
    p.message = 0
    p.cack = 0
    row = s.pfc[port.queue_begin + tc]
    if quanta > 0:
        row.xoff_tx += 1
    else:
        row.xon_tx += 1
    return i


@small
def close_pause(row, at_ps):
    """The pause in force ends at `at_ps`."""
    length = at_ps - row.xoff_since_ps
    row.xoff_ps += length
    row.ivl_longest_ps = max(row.ivl_longest_ps, length)
    if row.occupied_since_ps >= 0:
        length = at_ps - row.occupied_since_ps
        row.occupied_ps += length
        row.ivl_longest_occupied_ps = max(row.ivl_longest_occupied_ps, length)
    row.xoff_since_ps = -1
    row.occupied_since_ps = -1


@kernel
def take_frame(s, port, p, waiting, now_ps):
    """A PFC frame arrived on the port's link; `waiting`: whether the class has packets to send. Returns the row's end.

    A pause that had run out is closed when it did.
    """
    row = s.pfc[port.queue_begin + p.code]
    s.clock[0].delivered += 1
    if row.xoff_since_ps >= 0 and row.pause_end_ps <= now_ps:
        close_pause(row, row.pause_end_ps)
    if p.psn > 0:
        row.xoff_rx += 1
        if row.xoff_since_ps < 0:
            row.xoff_since_ps = now_ps
            row.occupied_since_ps = now_ps if waiting else -1
        row.pause_end_ps = now_ps + pause_ps(port, p.psn)
    else:
        row.xon_rx += 1
        if row.xoff_since_ps >= 0:
            close_pause(row, now_ps)
        row.pause_end_ps = now_ps


@small
def note_waiting(row, at_ps):
    """A packet of the class begins to wait; it counts if the class is held."""
    if row.xoff_since_ps >= 0 and row.occupied_since_ps < 0 and at_ps < row.pause_end_ps:
        row.occupied_since_ps = at_ps
