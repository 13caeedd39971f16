"""Invariants of packets, link FIFOs, ports, queues and conservation."""

from __future__ import annotations

from . import tables as t
from .verify_rows import Snapshot, fail, live_rows, walk
from .verify_wakes import check_wake_ups

NIC = 0
SIZES = {t.ACK_CC: 78, t.NACK: 62, t.PROBE: 62, t.PROBE_ACK: 78, t.PFC_FRAME: 64}      # on the wire
TRIMMED_BYTES, DATA_HEADER_BYTES = 62, 106
SWITCH_KINDS = ((t.RUD_REQUEST, t.ACK_CC, t.NACK, t.PROBE, t.PROBE_ACK), (t.PFC_FRAME,))
# What the queues of a NIC's port may hold: class and types.
NIC_QUEUES = {
    t.Q_RTX: (t.TC_DATA, (t.RUD_REQUEST,)), t.Q_CONTROL: (t.TC_CONTROL, (t.ACK_CC, t.NACK, t.PROBE, t.PROBE_ACK)),
    t.Q_HELD: (t.TC_CONTROL, (t.ACK_CC,)), t.Q_PFC: (t.Q_PFC, (t.PFC_FRAME,)),
}


def charge(size_bytes: int) -> int:
    """What a frame is charged at a switch."""
    return max(46, size_bytes - 18)


def check_network(shot: Snapshot) -> list[list[int]]:
    """All of this file and of `verify_wakes`. Returns the packets under way on each IN row."""
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
    check_packets(shot, live, place, lengths)
    check_conservation(shot, live)
    check_flow_through_links(shot, lengths)
    check_wake_ups(shot)
    return lengths


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


def check_packets(shot: Snapshot, live: list[int], place: dict[int, str], lengths: list[list[int]]) -> None:
    """`check_packet` for all: on links with their sender's class, elsewhere `check_queue` has looked at the class."""
    senders = control_classes(shot)
    control: dict[int, tuple[int, ...]] = {}
    for link, fifo in enumerate(lengths):
        if link in senders:
            control |= dict.fromkeys(fifo, (senders[link],))
    for row in live:
        check_packet(shot, row, place[row], control.get(row, (t.TC_TRIMMED, t.TC_CONTROL)))


def control_classes(shot: Snapshot) -> dict[int, int]:
    """Class of control packets in the FIFOs of links that begin on this rank, by IN row: as their sender sees it."""
    ports, nodes = shot.ports, shot.nodes
    found = {}
    for port in range(len(ports)):
        node = ports.node[port]
        own = nodes.kind[node] != NIC
        found[ports.in_row[port]] = shot.swpar.control_tc[nodes.param[node]] if own else t.TC_CONTROL
    return found


def check_packet(shot: Snapshot, row: int, where: str, control: tuple[int, ...]) -> None:
    """Size, class and role fit the packet's type; `control`: classes that a control packet can be of there."""
    packets = shot.packets
    kind, role, size, tc = packets.ptype[row], packets.role[row], packets.size_bytes[row], packets.tc[row]
    if kind == t.NOTICE:
        return
    if kind == t.RUD_REQUEST:
        trimmed = role in (t.TRIMMED, t.TRIMMED_LAST_HOP)
        good = size == TRIMMED_BYTES if trimmed else size >= DATA_HEADER_BYTES and role != t.CONTROL
        good = good and tc == (t.TC_TRIMMED if trimmed else t.TC_DATA)
    else:
        good = kind in SIZES and size == SIZES[kind] and role == t.CONTROL
        good = good and (tc == t.Q_PFC if kind == t.PFC_FRAME else tc in control)
    if not good:
        fail(f"packet {row} ({where}): type {kind} with {size} B, role {role} and class {tc}")


def check_ports(shot: Snapshot, place: dict[int, str]) -> None:
    """Queues, the packet in service and the counts of every port."""
    ports, queues = shot.ports, shot.queues
    for port in range(len(ports)):
        for number in range(t.QUEUES):
            check_queue(shot, place, port, number)
        first = ports.queue_begin[port]
        total = sum(queues.packets[first:first + t.QUEUES])
        if shot.nodes.kind[ports.node[port]] == NIC:
            total -= queues.packets[first + t.Q_HELD]
        if ports.queued[port] != total:
            fail(f"port {port}: queued is {ports.queued[port]}, its queues hold {total}")
    clock, drops = shot.clock, shot.ins.rx_drops
    if clock["trimmed"] != sum(ports.trims):
        fail(f"trimmed is {clock['trimmed']}, the ports count {sum(ports.trims)}")
    lost = sum(shot.losses.lost)
    if clock["dropped"] != sum(ports.tx_drops) + sum(drops) + lost:
        fail(f"dropped is {clock['dropped']}, the ports count {sum(ports.tx_drops)}, the links {sum(drops)}, and "
             f"{lost} were lost on wires")
    at_nics = [sum(drops[row] for row in range(len(drops)) if shot.link_of_in[row] >= 0
                   and shot.ins.node[row] < len(shot.nodes) and shot.nodes.kind[shot.ins.node[row]] == NIC),
               sum(shot.counters.rx_drops)]
    if [clock["rx_dropped"]] * 2 != at_nics:
        fail(f"rx_dropped is {clock['rx_dropped']}, the links of NICs count {at_nics[0]}, the NICs {at_nics[1]}")


def check_queue(shot: Snapshot, place: dict[int, str], port: int, number: int) -> None:
    """One queue of a port: its list, count, charges, limit and what it holds."""
    packets, queues = shot.packets, shot.queues
    row, what = shot.ports.queue_begin[port] + number, f"port {port} class {number}"
    listed: list[int] = []
    while len(listed) < queues.packets[row]:
        listed.append(packets.next[listed[-1]] if listed else queues.head[row])
        if not 0 <= listed[-1] < len(packets):
            fail(f"{what}: the list ends before its {queues.packets[row]} packets")
        claim(place, listed[-1], f"in class {number} of port {port}")
    shot.listed[row] = listed
    if listed and queues.tail[row] != listed[-1]:
        fail(f"{what}: tail is {queues.tail[row]}, the last packet is {listed[-1]}")
    node = shot.ports.node[port]
    at_nic = shot.nodes.kind[node] == NIC
    tc, kinds = NIC_QUEUES[number] if at_nic else (number, SWITCH_KINDS[number == t.Q_PFC])
    for i in listed:
        if packets.tc[i] != tc or packets.ptype[i] not in kinds:
            fail(f"{what}: packet {i} of type {packets.ptype[i]} is of class {packets.tc[i]}")
    charges = 0 if at_nic or number == t.Q_PFC else sum(charge(packets.size_bytes[i]) for i in listed)
    if queues.waiting_bytes[row] != charges:
        fail(f"{what}: waiting_bytes is {queues.waiting_bytes[row]}, its packets are charged {charges}")
    if not at_nic and not shot.nodes.shared[node] and number < t.CLASSES:
        most = limit(shot, shot.nodes.param[node], number)
        if charges > most:
            fail(f"{what}: {charges} B wait, more than the limit of {most}")


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
    pfc = shot.pfc
    sent = ["write_pkts_sent", "ack_pkts_sent", "nack_pkts_sent", "probe_sent"]
    received = ["write_pkts_rcvd", "ack_pkts_rcvd", "nack_pkts_rcvd", "probe_rcvd"]
    # An ACK is made when it is held and counted when it is released; a first transmission the other way round.
    held = sum(len(shot.queue(port, t.Q_HELD)) for port in shot.nics.port)
    handed = sum(entry.handed for fetches in shot.fetches for entry in fetches)
    counted = sum(sum(getattr(counters, name)) for name in sent) + held - handed
    frames = sum(pfc.xoff_tx) + sum(pfc.xon_tx)
    if clock["created"] != counted + frames:
        fail(f"created is {clock['created']}, but the NICs count {counted} data packets, ACKs, NACKs and probes sent, "
             f"and the ports {frames} PFC frames")
    counted = sum(sum(getattr(counters, name)) for name in received)
    frames = sum(pfc.xoff_rx) + sum(pfc.xon_rx)
    if clock["delivered"] != counted + frames:
        fail(f"delivered is {clock['delivered']}, but the NICs count {counted} data packets, ACKs, NACKs and probes "
             f"received, and the ports {frames} PFC frames")


def check_flow_through_links(shot: Snapshot, lengths: list[list[int]]) -> None:
    """What a port sent has arrived or is under way, for links with both ends on this rank."""
    ports, ins, sizes = shot.ports, shot.ins, shot.packets.size_bytes
    local, losses = len(shot.nodes), shot.losses
    for port in range(len(ports)):
        row = ports.in_row[port]
        at = shot.loss_rows(port)
        if ins.node[row] != ports.peer[port]:
            fail(f"port {port}: peer is {ports.peer[port]}, its link FIFO {row} belongs to {ins.node[row]}")
        if ports.peer[port] >= local:
            continue
        packets = ins.rx_packets[row] + len(lengths[row]) + sum(losses.lost[k] for k in at)
        if ports.tx_packets[port] != packets:
            fail(f"port {port} sent {ports.tx_packets[port]} packets, but {ins.rx_packets[row]} arrived, "
                 f"{len(lengths[row])} are under way and the others were not lost")
        total = ins.rx_bytes[row] + sum(sizes[i] for i in lengths[row]) + sum(losses.lost_bytes[k] for k in at)
        if ports.tx_bytes[port] != total:
            fail(f"port {port} sent {ports.tx_bytes[port]} B, but {total} B arrived, were lost or are under way")
    arrived = sum(ins.rx_packets)
    if shot.clock["hops"] != arrived:
        fail(f"hops is {shot.clock['hops']}, the links count {arrived} arrivals")
