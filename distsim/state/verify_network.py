"""Invariants of packets, link FIFOs, ports, queues, wake-up times and conservation."""

from __future__ import annotations

from . import tables as t
from .verify_rows import Snapshot, fail, live_rows, walk

NIC = 0
SIZES = {t.ACK_CC: 78, t.NACK: 62, t.PROBE: 62, t.PROBE_ACK: 78}      # on the wire, uet-model 1.2
TRIMMED_BYTES, DATA_HEADER_BYTES = 62, 106
NEVER_PS = t.INF_PS


def charge(size_bytes: int) -> int:
    """What a frame is charged at a switch."""
    return max(46, size_bytes - 18)


def check_network(shot: Snapshot) -> None:
    """All of this file."""
    live = live_rows(shot, t.P_PACKET, "packets", shot.packets.next)
    place: dict[int, str] = {}
    lengths = check_links(shot, place)
    check_ports(shot, place)
    for row in live:
        if row not in place:
            fail(f"packet {row} is in no link, in no queue and not free")
    if len(place) != len(live):
        row = min(set(place) - set(live))
        fail(f"packet {row} is free and {place[row]}")
    for row in live:
        check_packet(shot, row, place[row])
    check_conservation(shot, live)
    check_flow_through_links(shot, lengths)
    check_wake_ups(shot)


def claim(place: dict[int, str], row: int, where: str) -> None:
    """A packet can be in one place only."""
    if row in place:
        fail(f"packet {row} is {place[row]} and {where}")
    place[row] = where


def check_links(shot: Snapshot, place: dict[int, str]) -> list[list[int]]:
    """Link FIFOs, and what waits to leave for other ranks. Returns the packets of each IN row."""
    packets, ins = shot.packets, shot.ins
    found = []
    for row in range(len(ins)):
        fifo = walk(ins.head[row], packets.next, f"link FIFO {row}")
        found.append(fifo)
        notices = shot.link_of_in[row] < 0
        for i in fifo:
            claim(place, i, f"in link FIFO {row}")
            if (packets.ptype[i] == t.NOTICE) != notices:
                fail(f"link FIFO {row}: packet {i} of type {packets.ptype[i]} belongs elsewhere")
        if not fifo:
            continue
        if ins.tail[row] != fifo[-1]:
            fail(f"link FIFO {row}: tail is {ins.tail[row]}, the last packet is {fifo[-1]}")
        times = [packets.time_ps[i] for i in fifo]
        if not notices and times != sorted(times):
            fail(f"link FIFO {row}: arrivals {times} are not in order")
        if shot.next_ps[ins.node[row]] > min(times):
            fail(f"link FIFO {row}: a packet arrives at {min(times)}, but next_ps of node row {ins.node[row]} is "
                 f"{shot.next_ps[ins.node[row]]}")
    return found


def check_packet(shot: Snapshot, row: int, where: str) -> None:
    """Size, class and role fit the packet's type."""
    packets = shot.packets
    kind, role, size, tc = packets.ptype[row], packets.role[row], packets.size_bytes[row], packets.tc[row]
    if kind == t.NOTICE:
        return
    if kind == t.RUD_REQUEST:
        trimmed = role in (t.TRIMMED, t.TRIMMED_LAST_HOP)
        good = size == TRIMMED_BYTES if trimmed else size >= DATA_HEADER_BYTES and role != t.CONTROL
        good = good and tc == (t.TC_TRIMMED if trimmed else t.TC_DATA)
    else:
        good = kind in SIZES and size == SIZES[kind] and role == t.CONTROL and tc == t.TC_CONTROL
    if not good:
        fail(f"packet {row} ({where}): type {kind} with {size} B, role {role} and class {tc}")


def check_ports(shot: Snapshot, place: dict[int, str]) -> None:
    """Queues, the packet in service and the counts of every port."""
    ports, queues = shot.ports, shot.queues
    for port in range(len(ports)):
        for tc in range(t.CLASSES):
            check_queue(shot, place, port, tc)
        first = ports.queue_begin[port]
        total = sum(queues.packets[first:first + t.CLASSES])
        if ports.queued[port] != total:
            fail(f"port {port}: queued is {ports.queued[port]}, its classes hold {total}")
    for total_name, column in (("trimmed", ports.trims), ("dropped", ports.tx_drops)):
        if shot.clock[total_name] != sum(column):
            fail(f"{total_name} is {shot.clock[total_name]}, the ports count {sum(column)}")


def check_queue(shot: Snapshot, place: dict[int, str], port: int, tc: int) -> None:
    """One class of a port: its list, count, charges and limit."""
    packets, queues = shot.packets, shot.queues
    row, what = shot.ports.queue_begin[port] + tc, f"port {port} class {tc}"
    listed: list[int] = []
    while len(listed) < queues.packets[row]:
        listed.append(packets.next[listed[-1]] if listed else queues.head[row])
        if not 0 <= listed[-1] < len(packets):
            fail(f"{what}: the list ends before its {queues.packets[row]} packets")
        claim(place, listed[-1], f"in class {tc} of port {port}")
    if listed and queues.tail[row] != listed[-1]:
        fail(f"{what}: tail is {queues.tail[row]}, the last packet is {listed[-1]}")
    for i in listed:
        if packets.tc[i] != tc:
            fail(f"{what}: packet {i} is of class {packets.tc[i]}")
    charges = sum(charge(packets.size_bytes[i]) for i in listed)
    if queues.waiting_bytes[row] != charges:
        fail(f"{what}: waiting_bytes is {queues.waiting_bytes[row]}, its packets are charged {charges}")
    node = shot.ports.node[port]
    if shot.nodes.kind[node] != NIC and charges > limit(shot, shot.nodes.param[node], tc):
        fail(f"{what}: {charges} B wait, more than the limit of {limit(shot, shot.nodes.param[node], tc)}")
    if shot.nodes.kind[node] == NIC and listed and tc != t.TC_CONTROL:
        fail(f"{what}: a NIC's port queues data")


def limit(shot: Snapshot, par: int, tc: int) -> int:
    """Most bytes that class `tc` of a switch's port can hold."""
    swpar = shot.swpar
    return (max(swpar.data_limit_bytes[par], swpar.rtx_limit_bytes[par]), swpar.trimmed_limit_bytes[par],
            swpar.control_limit_bytes[par])[tc]


def check_conservation(shot: Snapshot, live: list[int]) -> None:
    """Every packet made or taken over is delivered, dropped, handed over or alive."""
    clock, counters = shot.clock, shot.counters
    alive = sum(1 for row in live if shot.packets.ptype[row] != t.NOTICE)
    made = clock["created"] + clock["taken_over"]
    gone = clock["delivered"] + clock["dropped"] + clock["handed_over"]
    if made != gone + alive:
        fail(f"{clock['created']} packets created and {clock['taken_over']} taken over are not {clock['delivered']} "
             f"delivered, {clock['dropped']} dropped, {clock['handed_over']} handed over and {alive} alive")
    for total, what in (("created", "sent"), ("delivered", "rcvd")):
        names = [f"write_pkts_{what}", f"ack_pkts_{what}", f"nack_pkts_{what}", f"probe_{what}"]
        counted = sum(sum(getattr(counters, name)) for name in names)
        if clock[total] != counted:
            fail(f"{total} is {clock[total]}, but the NICs count {counted} data packets, ACKs, NACKs and probes {what}")


def check_flow_through_links(shot: Snapshot, lengths: list[list[int]]) -> None:
    """What a port sent has arrived or is under way, for links with both ends on this rank."""
    ports, ins, sizes = shot.ports, shot.ins, shot.packets.size_bytes
    local = len(shot.nodes)
    for port in range(len(ports)):
        row = ports.in_row[port]
        if ins.node[row] != ports.peer[port]:
            fail(f"port {port}: peer is {ports.peer[port]}, its link FIFO {row} belongs to {ins.node[row]}")
        if ports.peer[port] >= local:
            continue
        packets = ins.rx_packets[row] + len(lengths[row])
        if ports.tx_packets[port] != packets:
            fail(f"port {port} sent {ports.tx_packets[port]} packets, but {ins.rx_packets[row]} arrived and "
                 f"{len(lengths[row])} are under way")
        total = ins.rx_bytes[row] + sum(sizes[i] for i in lengths[row])
        if ports.tx_bytes[port] != total:
            fail(f"port {port} sent {ports.tx_bytes[port]} B, but {total} B arrived or are under way")
    arrived = sum(ins.rx_packets)
    if shot.clock["hops"] != arrived:
        fail(f"hops is {shot.clock['hops']}, the links count {arrived} arrivals")


def check_wake_ups(shot: Snapshot) -> None:
    """No node sleeps past what it has to do (arrivals: `check_links`), and the visiting order holds every node once."""
    ports, nodes, nics = shot.ports, shot.nodes, shot.nics
    for row in range(len(nodes)):
        wakes = shot.next_ps[row]
        for port in range(nodes.port_begin[row], nodes.port_begin[row] + nodes.port_count[row]):
            if ports.node[port] != row:
                fail(f"port {port} belongs to node row {ports.node[port]}, not {row}")
            if nodes.kind[row] != NIC and ports.queued[port] and wakes > ports.free_ps[port]:
                fail(f"node row {row} wakes at {wakes}, but port {port} can serve at {ports.free_ps[port]}")
    for nic in range(len(nics)):
        row, port = nics.node[nic], nics.port[nic]
        wakes, now = shot.next_ps[row], nics.now_ps[nic]
        if ports.queued[port] or nics.ready_head[nic] >= 0:
            due = max(ports.free_ps[port], now)
            if wakes > due:
                fail(f"NIC {nic} wakes at {wakes}, but its port can send at {due}")
        if wakes > nics.rto_ps[nic]:
            fail(f"NIC {nic} wakes at {wakes}, but a timer expires at {nics.rto_ps[nic]}")
        if nics.heap_size[nic] and wakes > shot.heap.time_ps[nics.heap_begin[nic]]:
            fail(f"NIC {nic} wakes at {wakes}, but an operation is due at {shot.heap.time_ps[nics.heap_begin[nic]]}")
        if wakes < now:
            fail(f"NIC {nic} would wake at {wakes}, before its latest event at {now}")
    for unit in range(len(shot.units)):
        if shot.units.level[unit] == 1:
            span = range(shot.units.first[unit], shot.units.first[unit] + shot.units.count[unit])
            if sorted(shot.order[k] for k in span) != list(span):
                fail(f"unit {unit}: the visiting order does not hold each of its nodes once")
