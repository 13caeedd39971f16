"""The PCIe link between a NIC and its host: fetches of payload, posted writes of received payload.

scala-computing/docs models/scala-uet-nic/buffers-and-pfc, PCIe host interface. Each direction is a first-in first-out
server at its sender's lane rate. Data moves in transfers of at most 512 B, each with 34 B more on the lanes. A
segment's transfers enter the transmit buffer together once it has room for their headers and their payload, and leave
it together when the last one has gone; that frees the room for the next, so every time is known when a segment is
offered and nothing has to wait for an event. The receiving end takes a transfer at once, the host answers at once.
"""

from __future__ import annotations

from ..state.tables import PCIE_ENDS, PCIE_HOST, PCIE_NIC, STAT_PCIE
from .jit import kernel, small
from .rings import WRAP, grow_ring, write_entry

TRANSFER_SHIFT = 9            # 512 B
OVERHEAD_BYTES = 34
REQUEST_BYTES = 64            # of a read request, and its overhead


@small
def lane_ps(num, den, size_bytes):
    """Time on the lanes of `size_bytes`, rounded up to a picosecond once a segment."""
    return (size_bytes * num + den - 1) // den


@small
def headers_bytes(payload_bytes):
    """Overhead of a payload's transfers."""
    return OVERHEAD_BYTES * ((payload_bytes + (1 << TRANSFER_SHIFT) - 1) >> TRANSFER_SHIFT)


@small
def enter_up(s, nic, par, data_bytes, header_bytes, now_ps):
    """When the NIC's transmit buffer takes a segment offered now, after all offered before."""
    at = max(now_ps, nic.up_accept_ps)
    while nic.up_head != nic.up_tail:
        first = s.rings[nic.up_begin + (nic.up_head & (nic.up_room - 1))]
        if (first.time_ps > at and nic.up_data_bytes + data_bytes <= par.up_data_bytes
                and nic.up_header_bytes + header_bytes <= par.up_header_bytes):
            break
        at = max(at, first.time_ps)
        nic.up_data_bytes -= first.a
        nic.up_header_bytes -= first.b
        nic.up_head += 1
    nic.up_accept_ps = at
    nic.up_data_bytes += data_bytes
    nic.up_header_bytes += header_bytes
    return at


@small
def push_up(s, nic, end_ps, data_bytes, header_bytes):
    """Note a segment in the transmit buffer until `end_ps`."""
    if nic.up_tail - nic.up_head >= nic.up_room:
        nic.up_begin = grow_ring(s, nic.up_begin, nic.up_room, nic.up_head, nic.up_tail)
        nic.up_room = max(2 * nic.up_room, 8)
    if nic.up_head >= WRAP:
        nic.up_head -= WRAP
        nic.up_tail -= WRAP
    write_entry(s, nic.up_begin + (nic.up_tail & (nic.up_room - 1)), end_ps, data_bytes, header_bytes)
    nic.up_tail += 1


@kernel
def post_write(s, nic_row, par, payload_bytes, now_ps):
    """Offer the write of a received payload to the NIC's transmit buffer; returns when it is accepted."""
    nic = s.nics[nic_row]
    header_bytes = headers_bytes(payload_bytes)
    at = enter_up(s, nic, par, payload_bytes, header_bytes, now_ps)
    if payload_bytes == par.mss_bytes:
        duration = par.full_write_ps
    else:
        duration = lane_ps(par.up_num, par.up_den, payload_bytes + header_bytes)
    end = max(at, nic.up_free_ps) + duration
    nic.up_free_ps = end
    push_up(s, nic, end, payload_bytes, header_bytes)
    nic.up_read_ps = -1
    if par.stats & STAT_PCIE:
        note(s, nic_row, PCIE_NIC, payload_bytes, header_bytes, nic.up_data_bytes, at - now_ps)
        s.pcie[nic_row * PCIE_ENDS + PCIE_NIC].writes += 1
    return at


@small
def request(s, nic_row, par, now_ps):
    """Send a read request; returns when it has reached the host. Requests of one instant share a buffer entry."""
    nic = s.nics[nic_row]
    at = enter_up(s, nic, par, REQUEST_BYTES, OVERHEAD_BYTES, now_ps)
    end = max(at, nic.up_free_ps) + par.read_ps
    nic.up_free_ps = end
    if nic.up_read_ps == now_ps and nic.up_head != nic.up_tail:
        entry = s.rings[nic.up_begin + ((nic.up_tail - 1) & (nic.up_room - 1))]
        entry.time_ps = end
        entry.a += REQUEST_BYTES
        entry.b += OVERHEAD_BYTES
    else:
        push_up(s, nic, end, REQUEST_BYTES, OVERHEAD_BYTES)
        nic.up_read_ps = now_ps
    if par.stats & STAT_PCIE:
        note(s, nic_row, PCIE_NIC, 0, REQUEST_BYTES + OVERHEAD_BYTES, nic.up_data_bytes, at - now_ps)
        ends = s.pcie[nic_row * PCIE_ENDS + PCIE_NIC]
        ends.reads += 1
        ends.transfers += 1
    return end


@kernel
def fetch(s, nic_row, par, payload_bytes, now_ps):
    """Fetch a payload from the host; returns when it is at the NIC. The caller adds it to the fetch ring."""
    nic = s.nics[nic_row]
    if payload_bytes == 0:
        return max(now_ps, nic.down_free_ps)
    header_bytes = headers_bytes(payload_bytes)
    answered = request(s, nic_row, par, now_ps)
    at = max(answered, nic.down_accept_ps)
    while (nic.fetch_credit != nic.fetch_tail and (nic.down_data_bytes + payload_bytes > par.down_data_bytes
                                                   or nic.down_header_bytes + header_bytes > par.down_header_bytes)):
        at = max(at, leave_host(s, nic, par))
    nic.down_accept_ps = at
    nic.down_data_bytes += payload_bytes
    nic.down_header_bytes += header_bytes
    if payload_bytes == par.mss_bytes:
        duration = par.full_fetch_ps
    else:
        duration = lane_ps(par.down_num, par.down_den, payload_bytes + header_bytes)
    end = max(at, nic.down_free_ps) + duration
    nic.down_free_ps = end
    if par.stats & STAT_PCIE:
        note(s, nic_row, PCIE_HOST, payload_bytes, header_bytes, nic.down_data_bytes, at - answered)
        s.pcie[nic_row * PCIE_ENDS + PCIE_HOST].reads += 1
    return end


@small
def leave_host(s, nic, par):
    """The oldest payload leaves the host's transmit buffer; returns when it has."""
    entry = s.rings[nic.fetch_begin + (nic.fetch_credit & (nic.fetch_room - 1))]
    nic.fetch_credit += 1
    pdc = s.tx[entry.a]
    payload = pdc.last_bytes if entry.b == pdc.packets - 1 else par.mss_bytes
    nic.down_data_bytes -= payload
    nic.down_header_bytes -= headers_bytes(payload)
    return entry.time_ps


@kernel
def note(s, nic_row, end, payload_bytes, header_bytes, buffered_bytes, waited_ps):
    """Count a segment for pcie-stats."""
    row = s.pcie[nic_row * PCIE_ENDS + end]
    row.transfers += (payload_bytes + (1 << TRANSFER_SHIFT) - 1) >> TRANSFER_SHIFT
    row.bytes += payload_bytes + header_bytes
    row.payload_bytes += payload_bytes
    if waited_ps > 0:
        row.waits += 1
        row.wait_ps += waited_ps
    row.ivl_most_bytes = max(row.ivl_most_bytes, buffered_bytes)
