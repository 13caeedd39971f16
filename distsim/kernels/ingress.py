"""The receiving side of a NIC: its receive pools, the way of payload to the host, what the backlog tells the senders.

scala-computing/docs models/scala-uet-nic/buffers-and-pfc (Receive buffer, PFC), transport (Acknowledgements) and
congestion-control (Receiver penalty). A packet is charged its IP size. Data stay charged until PCIe takes their write,
everything else until it has been processed, which is at once.
"""

from __future__ import annotations

from ..state.tables import (
    INF_PS,
    NIC_BUFFERS,
    NIC_CONTROL,
    NIC_DATA,
    Q_PFC,
    RX_TC0,
    RX_TC1,
    STAT_BUFFERS,
)
from .jit import kernel, once, small
from .links import append
from .pcie import lane_ps, post_write
from .pfc import make_frame, pause_ps
from .rings import WRAP, grow_ring, write_entry
from .segments import ETHERNET_BYTES, NOMINAL_HEADER_BYTES

FULL_PENALTY = 127
SERVICE_TICK_PS = 128_000
MOST_TICKS = 65535


@small
def enqueue_stat(s, nic_row, number, size_bytes, occupancy_bytes):
    """Note a charge of a pool for net-buff-stats; `occupancy_bytes` with it."""
    row = s.buff[nic_row * NIC_BUFFERS + number]
    row.enq += 1
    row.enq_bytes += size_bytes
    row.now_bytes = occupancy_bytes
    row.most_bytes = max(row.most_bytes, occupancy_bytes)
    row.ivl_most_bytes = max(row.ivl_most_bytes, occupancy_bytes)


@small
def dequeue(s, nic_row, number, size_bytes, occupancy_bytes):
    """Note the end of a charge."""
    row = s.buff[nic_row * NIC_BUFFERS + number]
    row.deq += 1
    row.deq_bytes += size_bytes
    row.now_bytes = occupancy_bytes


@kernel
def release_due(s, nic_row, par, until_ps):
    """End the charges of data whose write PCIe has accepted by `until_ps`."""
    nic = s.nics[nic_row]
    while nic.release_ps <= until_ps:
        size_bytes = s.rings[nic.in_begin + (nic.in_head & (nic.in_room - 1))].a
        nic.in_head += 1
        nic.ingress_bytes -= size_bytes
        nic.release_ps = INF_PS
        if nic.in_head != nic.in_tail:
            nic.release_ps = s.rings[nic.in_begin + (nic.in_head & (nic.in_room - 1))].time_ps
        if par.stats & STAT_BUFFERS:
            dequeue(s, nic_row, RX_TC0, size_bytes, nic.ingress_bytes)


@kernel
def write_to_host(s, nic_row, par, payload_bytes, size_bytes, now_ps):
    """A new payload goes to the host; its packet stays charged until the write is accepted."""
    nic = s.nics[nic_row]
    at = now_ps
    if payload_bytes > 0:
        at = post_write(s, nic_row, par, payload_bytes, now_ps)
    if at <= now_ps:
        processed(s, nic_row, par, NIC_DATA, size_bytes + ETHERNET_BYTES, now_ps)
        return
    nic.ingress_bytes += size_bytes
    if nic.in_tail - nic.in_head >= nic.in_room:
        nic.in_begin = grow_ring(s, nic.in_begin, nic.in_room, nic.in_head, nic.in_tail)
        nic.in_room = max(2 * nic.in_room, 8)
    if nic.in_head >= WRAP:
        nic.in_head -= WRAP
        nic.in_tail -= WRAP
    write_entry(s, nic.in_begin + (nic.in_tail & (nic.in_room - 1)), at, size_bytes, 0)
    if nic.in_head == nic.in_tail:
        nic.release_ps = at
    nic.in_tail += 1
    if nic.police_ps < INF_PS:
        watch_release(s, nic)


@small
def admit(s, nic_row, par, number, wire_bytes, now_ps):
    """`charge`; where no record and no PFC looks, data that fit and control packets, which always do, need nothing."""
    if par.attends == 0:
        occupied = s.nics[nic_row].ingress_bytes + wire_bytes - ETHERNET_BYTES
        if number == NIC_CONTROL or occupied <= par.ingress_bytes:
            return True
    return charge(s, nic_row, par, number, wire_bytes, now_ps)


@kernel
def charge(s, nic_row, par, number, wire_bytes, now_ps):
    """Charge an arriving packet of a class to its pool; False when it does not fit and is lost.

    A pause goes out first if the pool would be at or above Xoff with it. The caller ends the charge of what is not
    data at once; the charge of data is made by `write_to_host`.
    """
    nic = s.nics[nic_row]
    size_bytes = wire_bytes - ETHERNET_BYTES
    occupied = size_bytes
    if number == NIC_DATA:
        occupied += nic.ingress_bytes
        room = par.ingress_bytes
        if par.pfc_0 != 0 and occupied >= par.xoff_0:
            pause(s, nic_row, par, NIC_DATA, now_ps)
    else:
        room = par.ingress_control_bytes
        if par.pfc_1 != 0 and occupied >= par.xoff_1:
            pause(s, nic_row, par, NIC_CONTROL, now_ps)
    if occupied > room:
        lose(s, nic_row, par, number)
        return False
    if par.stats & STAT_BUFFERS:
        stat = RX_TC0 if number == NIC_DATA else RX_TC1
        enqueue_stat(s, nic_row, stat, size_bytes, occupied)
    return True


@kernel
def lose(s, nic_row, par, number):
    """A packet that its receive pool cannot hold."""
    nic = s.nics[nic_row]
    clock = s.clock[0]
    clock.dropped += 1
    clock.rx_dropped += 1
    s.ins[s.nodes[nic.node].in_begin].rx_drops += 1
    s.counters[nic_row].rx_drops += 1
    if par.stats & STAT_BUFFERS:
        s.buff[nic_row * NIC_BUFFERS + (RX_TC0 if number == NIC_DATA else RX_TC1)].overflow += 1


@small
def processed(s, nic_row, par, number, wire_bytes, now_ps):
    """`discharge`, where a record or PFC looks."""
    if par.attends != 0:
        discharge(s, nic_row, par, number, wire_bytes, now_ps)


@kernel
def discharge(s, nic_row, par, number, wire_bytes, now_ps):
    """The charge of a packet that carried nothing for the host ends; it may have drawn a pause."""
    nic = s.nics[nic_row]
    if par.stats & STAT_BUFFERS:
        stat = RX_TC0 if number == NIC_DATA else RX_TC1
        occupied = nic.ingress_bytes if number == NIC_DATA else 0
        dequeue(s, nic_row, stat, wire_bytes - ETHERNET_BYTES, occupied)
    if nic.police_ps < INF_PS:
        resume_if_low(s, nic_row, par, number, now_ps)


@small
def hold_ps(nic, par, size_bytes):
    """How long an ACK is held: what the receive pool holds and this packet, at the NIC's PCIe rate."""
    if nic.ingress_bytes == 0 and size_bytes == par.mss_bytes + NOMINAL_HEADER_BYTES:
        return par.full_hold_ps
    return lane_ps(par.up_num, par.up_den, nic.ingress_bytes + size_bytes)


@small
def service_ticks(hold):
    """A hold in the steps of 128 ns that an ACK reports, rounded down."""
    return min(hold // SERVICE_TICK_PS, MOST_TICKS)


@small
def penalty(nic, par, size_bytes):
    """Receiver penalty: 0 below the low threshold of the data pool, 127 from the high one, linear between."""
    occupied = nic.ingress_bytes + size_bytes
    if occupied < par.penalty_low_bytes:
        return 0
    if occupied >= par.penalty_high_bytes:
        return FULL_PENALTY
    return int(FULL_PENALTY * (occupied - par.penalty_low_bytes) / (par.penalty_high_bytes - par.penalty_low_bytes))


# ---- pauses that the NIC sends ---------------------------------------------------------------------------------------
@small
def quanta_of(par, number):
    """QuantaValue of a class."""
    return par.quanta_1 if number == NIC_CONTROL else par.quanta_0


@kernel
def send_frame(s, nic_row, number, quanta, now_ps):
    """A PFC frame waits for the port, ahead of all."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    i = make_frame(s, s.nodes[nic.node].id, port, number, quanta, now_ps)
    append(s, s.queues[port.queue_begin + Q_PFC], i, s.packets[i])
    port.queued += 1


@kernel
def pause(s, nic_row, par, number, now_ps):
    """Pause the switch for a class unless a pause is outstanding; it is looked at again after half its time."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    row = s.pfc[port.queue_begin + number]
    if row.refresh_ps < INF_PS:
        return
    send_frame(s, nic_row, number, quanta_of(par, number), now_ps)
    row.refresh_ps = now_ps + (pause_ps(port, quanta_of(par, number)) >> 1)
    watch_release(s, nic)


@small
def watch_release(s, nic):
    """While a pause is outstanding, releases of the pool and refreshes are events."""
    first = s.ports[nic.port].queue_begin
    data = s.pfc[first + NIC_DATA].refresh_ps
    nic.police_ps = min(data, s.pfc[first + NIC_CONTROL].refresh_ps)
    if data < INF_PS:
        nic.police_ps = min(nic.police_ps, nic.release_ps)


@kernel
def resume(s, nic_row, number, now_ps):
    """Send XON and stop looking."""
    nic = s.nics[nic_row]
    s.pfc[s.ports[nic.port].queue_begin + number].refresh_ps = INF_PS
    send_frame(s, nic_row, number, 0, now_ps)
    watch_release(s, nic)


@kernel
def resume_if_low(s, nic_row, par, number, now_ps):
    """On a release: XON once the pool is at or below Xon."""
    nic = s.nics[nic_row]
    row = s.pfc[s.ports[nic.port].queue_begin + number]
    occupied = nic.ingress_bytes if number == NIC_DATA else 0
    low = par.xon_1 if number == NIC_CONTROL else par.xon_0
    if row.refresh_ps < INF_PS and occupied <= low:
        resume(s, nic_row, number, now_ps)


@once
def police(s, nic_row, par, now_ps):
    """A release of the pool or a refresh is due while a pause is outstanding; releases up to now have been made."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    for number in range(NIC_CONTROL + 1):
        resume_if_low(s, nic_row, par, number, now_ps)
        row = s.pfc[port.queue_begin + number]
        if row.refresh_ps <= now_ps:
            occupied = nic.ingress_bytes if number == NIC_DATA else 0
            high = par.xoff_1 if number == NIC_CONTROL else par.xoff_0
            if occupied >= high:
                send_frame(s, nic_row, number, quanta_of(par, number), now_ps)
                row.refresh_ps = now_ps + (pause_ps(port, quanta_of(par, number)) >> 1)
            else:
                resume(s, nic_row, number, now_ps)
    watch_release(s, nic)
