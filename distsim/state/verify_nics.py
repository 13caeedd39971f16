"""Invariants of what a NIC holds: fetches, egress pools, receive pool, PCIe transmit buffers, held ACKs."""

from __future__ import annotations

from . import tables as t
from .verify_rows import Snapshot, check_rings, fail

DATA_HEADER_BYTES = 106
TRANSFER_BYTES, OVERHEAD_BYTES, REQUEST_BYTES = 512, 34, 64      # on PCIe


def check_nics(shot: Snapshot, groups: list[int], senders: list[int]) -> None:
    """All of this file."""
    prefetched = prefetched_bytes(shot, senders)
    for nic in range(len(shot.nics)):
        check_fetches(shot, nic)
        check_egress(shot, nic, prefetched[nic])
        check_order(shot, nic)
        check_receive_pool(shot, nic)
        check_transmit_buffer(shot, nic)
        check_turn(shot, nic)
        if shot.nicpar.stats[shot.parameters(nic)] & t.STAT_BUFFERS:
            check_statistics(shot, nic)
    nics, g = shot.nics, shot.groups
    rings = [(getattr(nics, f"{name}_begin")[nic], getattr(nics, f"{name}_room")[nic], f"{name} of NIC {nic}")
             for nic in range(len(nics)) for name in ("fetch", "up", "in") if getattr(nics, f"{name}_room")[nic]]
    rings += [(g.reps_begin[row], max(shot.nicpar.reps_room[g.param[row]], t.NIC_RING), f"group {row}")
              for row in groups if g.reps_begin[row] >= 0]
    check_rings(shot, t.P_RING, t.P_NIC_RINGS, t.NIC_RING, "rings", shot.rings.a, rings)


def payload_bytes(shot: Snapshot, pdc: int, psn: int) -> int:
    """Payload of a PSN."""
    last = psn == shot.tx.packets[pdc] - 1
    mss = shot.nicpar.mss_bytes[shot.parameters(shot.tx.nic[pdc])]
    return int(shot.tx.last_bytes[pdc] if last else mss)


def headers_bytes(payload: int) -> int:
    """What a payload's transfers add on PCIe."""
    return OVERHEAD_BYTES * -(-payload // TRANSFER_BYTES)


def prefetched_bytes(shot: Snapshot, senders: list[int]) -> list[int]:
    """Wire bytes that each NIC's prefetch buffer is reserved for: fetched, not committed."""
    tx = shot.tx
    found = [0] * len(shot.nics)
    for row in senders:
        if shot.nicpar.prefetch[shot.parameters(tx.nic[row])]:
            psns = range(tx.commit_psn[row], tx.next_psn[row])
            found[tx.nic[row]] += sum(payload_bytes(shot, row, psn) + DATA_HEADER_BYTES for psn in psns)
    return found


def check_times(what: str, times: list[int]) -> None:
    """Entries of a first-in first-out server are in order."""
    if times != sorted(times):
        fail(f"{what}: times {times} are not in order")


def check_first(what: str, name: str, noted_ps: int, times: list[int]) -> None:
    """A NIC notes when its first entry is due, INF_PS: it has none."""
    first = times[0] if times else t.INF_PS
    if noted_ps != first:
        fail(f"{what}: {name} is {noted_ps}, its first entry says {first}")


def check_fetches(shot: Snapshot, nic: int) -> None:
    """The fetch ring: order, what it is noted to begin with, and the host's transmit buffer."""
    nics, fetches, what = shot.nics, shot.fetches[nic], f"fetch ring of NIC {nic}"
    par, nicpar = shot.parameters(nic), shot.nicpar
    times = [entry.time_ps for entry in fetches]
    check_times(what, times)
    check_first(what, "data_ps", nics.data_ps[nic], [] if nicpar.prefetch[par] else times)
    check_first(what, "handoff_ps", nics.handoff_ps[nic], [entry.time_ps for entry in fetches if not entry.handed])
    coming = [payload_bytes(shot, entry.pdc, entry.psn) for entry in fetches if not entry.credited]
    check_buffer(f"host's transmit buffer of NIC {nic}", sum(size > 0 for size in coming),
                 (nics.down_data_bytes[nic], sum(coming), nicpar.down_data_bytes[par]),
                 (nics.down_header_bytes[nic], sum(map(headers_bytes, coming)), nicpar.down_header_bytes[par]))


def check_buffer(what: str, segments: int, *parts: tuple[int, int, int]) -> None:
    """A PCIe transmit buffer holds what its segments add up to; beyond its size only when it holds one alone.

    parts : (bytes noted, bytes of the segments, size) of data and of headers.
    """
    for name, (noted, counted, room) in zip(("data", "headers"), parts, strict=True):
        if noted != counted:
            fail(f"{what}: {noted} B of {name}, its segments are {counted} B")
        if noted > room and segments > 1:
            fail(f"{what}: {noted} B of {name}, more than its {room} B")


def check_egress(shot: Snapshot, nic: int, prefetched: int) -> None:
    """Both classes' transmit pools and the prefetch buffer hold what is reserved in them, and no more than fits."""
    nics, nicpar, sizes = shot.nics, shot.nicpar, shot.packets.size_bytes
    port, par = nics.port[nic], shot.parameters(nic)
    service = {shot.ports.service_tc[port]: shot.ports.service_bytes[port]} if nics.serving[nic] else {}
    if nics.monitored[nic] and not service:
        fail(f"NIC {nic}: a frame in service is to be logged, but there is none")
    data = sum(sizes[i] for i in shot.queue(port, t.Q_RTX)) + service.get(t.TC_DATA, 0)
    if not nicpar.prefetch[par]:
        data += sum(payload_bytes(shot, entry.pdc, entry.psn) + DATA_HEADER_BYTES for entry in shot.fetches[nic])
    control = sum(sizes[i] for i in shot.queue(port, t.Q_CONTROL)) + service.get(t.TC_CONTROL, 0)
    for name, counted, room in (("egress_bytes", data, nicpar.egress_bytes[par]), ("control_bytes", control, None),
                                ("prefetch_bytes", prefetched, nicpar.prefetch_bytes[par])):
        noted = getattr(nics, name)[nic]
        if noted != counted:
            fail(f"NIC {nic}: {name} is {noted}, what is reserved and in service is {counted}")
        if room is not None and noted > room:
            fail(f"NIC {nic}: {name} is {noted}, more than its {room}")
    if nics.pool_wait[nic] == 1 and not 0 <= nics.wake_bytes[nic] <= nicpar.egress_bytes[par]:
        fail(f"NIC {nic}: it waits until its egress pool has drained to {nics.wake_bytes[nic]}")


def check_order(shot: Snapshot, nic: int) -> None:
    """Packets of each queue of the port are in order of when they are ready; the held ACKs are noted."""
    nics, port, packets = shot.nics, shot.nics.port[nic], shot.packets
    for number in range(t.QUEUES):
        check_times(f"queue {number} of NIC {nic}", [packets.time_ps[i] for i in shot.queue(port, number)])
        for i in shot.queue(port, number):
            if packets.src[i] != shot.nodes.id[nics.node[nic]]:
                fail(f"queue {number} of NIC {nic}: packet {i} is of node {packets.src[i]}")
    held = [packets.time_ps[i] for i in shot.queue(port, t.Q_HELD)]
    check_first(f"held ACKs of NIC {nic}", "held_ps", nics.held_ps[nic], held)
    if held and held[-1] != nics.hold_until_ps[nic]:
        fail(f"NIC {nic}: hold_until_ps is {nics.hold_until_ps[nic]}, the last ACK is held until {held[-1]}")


def check_receive_pool(shot: Snapshot, nic: int) -> None:
    """The data class's receive pool holds what waits for PCIe."""
    nics, what = shot.nics, f"receive pool of NIC {nic}"
    entries = shot.ring(nics.in_begin[nic], nics.in_room[nic], nics.in_head[nic], nics.in_tail[nic], what)
    times, total = [entry[0] for entry in entries], sum(entry[1] for entry in entries)
    check_times(what, times)
    check_first(what, "release_ps", nics.release_ps[nic], times)
    if nics.ingress_bytes[nic] != total:
        fail(f"{what}: ingress_bytes is {nics.ingress_bytes[nic]}, its entries are {total} B")
    room = shot.nicpar.ingress_bytes[shot.parameters(nic)]
    if total > room or any(entry[1] <= 0 for entry in entries):
        fail(f"{what}: {total} B in a pool of {room} B")


def check_transmit_buffer(shot: Snapshot, nic: int) -> None:
    """The NIC's PCIe transmit buffer: posted writes and read requests until they have gone."""
    nics, what, par = shot.nics, f"transmit buffer of NIC {nic}", shot.parameters(nic)
    entries = shot.ring(nics.up_begin[nic], nics.up_room[nic], nics.up_head[nic], nics.up_tail[nic], what)
    check_times(what, [entry[0] for entry in entries])
    check_buffer(what, len(entries),
                 (nics.up_data_bytes[nic], sum(entry[1] for entry in entries), shot.nicpar.up_data_bytes[par]),
                 (nics.up_header_bytes[nic], sum(entry[2] for entry in entries), shot.nicpar.up_header_bytes[par]))
    if entries and entries[-1][0] != nics.up_free_ps[nic]:
        fail(f"{what}: the lanes are taken until {nics.up_free_ps[nic]}, the last entry ends at {entries[-1][0]}")
    if entries and nics.up_read_ps[nic] >= 0:
        reads, rest = divmod(entries[-1][1], REQUEST_BYTES)
        if rest or not reads or entries[-1][2] != reads * OVERHEAD_BYTES:
            fail(f"{what}: an entry of {entries[-1][1]} B and {entries[-1][2]} B of headers holds no read requests")


def check_turn(shot: Snapshot, nic: int) -> None:
    """Whose turn at the port it is, and for how many packets more."""
    nics, nicpar, par = shot.nics, shot.nicpar, shot.parameters(nic)
    weights = (nicpar.weight_0[par], nicpar.weight_1[par])
    number = nics.turn_class[nic]
    most = weights[number & 1] if nicpar.scheduling[par] == t.S_WEIGHTED else 1
    if number not in (t.NIC_DATA, t.NIC_CONTROL) or not 1 <= nics.turn_left[nic] <= most:
        fail(f"NIC {nic}: class {number} may send {nics.turn_left[nic]} of {most} packets in its turn")


def check_statistics(shot: Snapshot, nic: int) -> None:
    """Rows of the buffer record say what the pools hold."""
    nics, buff = shot.nics, shot.buff
    shown = min(nics.control_bytes[nic], shot.nicpar.egress_control_bytes[shot.parameters(nic)])
    entries = nics.in_tail[nic] - nics.in_head[nic]
    expected = {t.RX_TC0: (nics.ingress_bytes[nic], nics.ingress_bytes[nic]), t.RX_TC1: (0, 0),
                t.TX_TC0: (nics.egress_bytes[nic], nics.egress_bytes[nic]),
                t.TX_TC1: (nics.control_bytes[nic], shown)}
    for number, (held, now) in expected.items():
        row = nic * t.NIC_BUFFERS + number
        charged = buff.enq_bytes[row] - buff.deq_bytes[row]
        if charged != held:
            fail(f"NIC {nic}: pool {number} was charged {charged} B more than released, it holds {held} B")
        if buff.now_bytes[row] != now or not now <= buff.ivl_most_bytes[row] <= buff.most_bytes[row]:
            fail(f"NIC {nic}: pool {number} holds {now} B, its record says {buff.now_bytes[row]}, at most "
                 f"{buff.ivl_most_bytes[row]} and {buff.most_bytes[row]}")
    row = nic * t.NIC_BUFFERS + t.RX_TC0
    if buff.enq[row] - buff.deq[row] != entries:
        fail(f"NIC {nic}: its receive pool was charged {buff.enq[row]} and released {buff.deq[row]} times, "
             f"{entries} charges are left")
