"""Invariants of shared switch buffers and of priority flow control."""

from __future__ import annotations

from collections import Counter

from . import tables as t
from .verify_rows import Snapshot, fail

NIC = 0


def check_shared(shot: Snapshot, lengths: list[list[int]]) -> None:
    """All of this file. lengths : packets under way on each IN row."""
    for row in range(len(shot.nodes)):
        if shot.nodes.kind[row] != NIC and shot.nodes.shared[row]:
            check_buffers(shot, row)
    if not shot.pauses:
        return
    for port in range(len(shot.ports)):
        check_frames(shot, port, lengths)
        for number in range(t.QUEUES):
            check_pause(shot, port, number)
    for nic in range(len(shot.nics)):
        check_nic_pauses(shot, nic)


# ---- shared buffers --------------------------------------------------------------------------------------------------
def charge(size_bytes: int) -> int:
    """What a frame is charged at a switch."""
    return max(46, size_bytes - 18)


def check_buffers(shot: Snapshot, row: int) -> None:
    """Charges of a switch's ports and pools are those of the packets that it holds."""
    nodes, ports, shares, buffers = shot.nodes, shot.ports, shot.shares, shot.buffers
    par, begin = nodes.param[row], nodes.buffer_begin[row]
    came, leave = charges(shot, row)
    pools_in, pools_out = [0] * t.CLASSES, [0] * t.CLASSES
    for port in range(nodes.port_begin[row], nodes.port_begin[row] + nodes.port_count[row]):
        for slot in range(t.CLASSES):
            at, what = ports.queue_begin[port] + slot, f"port {port} pool {slot}"
            held, headroom, out = shares.in_bytes[at], shares.headroom_bytes[at], shares.out_bytes[at]
            charged_in, charged_out = came.get((port, slot), 0), leave.get((port, slot), 0)
            if out != charged_out:
                fail(f"{what}: out_bytes is {out}, what waits and is in service is charged {charged_out}")
            if held + headroom != charged_in or held < 0 or headroom < 0:
                fail(f"{what}: in_bytes is {held}, headroom_bytes {headroom}, what came by it is charged {charged_in}")
            if headroom > shot.swpar.headroom_bytes[par] or (headroom and shares.refresh_ps[at] >= t.INF_PS):
                fail(f"{what}: {headroom} B of headroom, {shot.swpar.headroom_bytes[par]} B are the limit, the pause "
                     f"is sent again at {shares.refresh_ps[at]}")
            # a packet that is dropped may have drawn a pause before, which ends at its first refresh
            if shares.refresh_ps[at] < t.INF_PS and not held + headroom and not shot.clock["dropped"]:
                fail(f"{what}: a pause is outstanding, but nothing that came by it is held")
            pools_in[slot] += held
            pools_out[slot] += out
    for slot in range(t.CLASSES):
        at, what = begin + slot, f"pool {slot} of node row {row}"
        if buffers.in_bytes[at] != pools_in[slot] or buffers.out_bytes[at] != pools_out[slot]:
            fail(f"{what}: {buffers.in_bytes[at]} B in and {buffers.out_bytes[at]} B out, its ports hold "
                 f"{pools_in[slot]} and {pools_out[slot]}")
        if buffers.in_bytes[at] > buffers.size_bytes[at]:
            fail(f"{what}: {buffers.in_bytes[at]} B in a pool of {buffers.size_bytes[at]} B")
        if shot.swpar.buffer_stats[par]:
            check_samples(shot, at, what)


def charges(shot: Snapshot, row: int) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Bytes by (port, pool slot): of the packets that came by the port, and of those that leave by it."""
    nodes, ports, packets = shot.nodes, shot.ports, shot.packets
    slots = [getattr(shot.swpar, f"slot_{tc}")[nodes.param[row]] for tc in range(t.CLASSES)]
    came: dict[tuple[int, int], int] = {}
    leave: dict[tuple[int, int], int] = {}
    for port in range(nodes.port_begin[row], nodes.port_begin[row] + nodes.port_count[row]):
        held = [(packets.in_port[i], slots[tc], packets.size_bytes[i])
                for tc in range(t.CLASSES) for i in shot.queue(port, tc)]
        state, tc = ports.service_state[port], ports.service_tc[port]
        if state not in (0, 1) or (state and tc >= t.CLASSES):
            fail(f"port {port}: service_state is {state}, with a frame of class {tc} in service")
        if state:
            held.append((ports.service_in[port], slots[tc], ports.service_bytes[port]))
        for source, slot, size in held:
            if not 0 <= source < nodes.in_count[row]:
                fail(f"port {port}: a packet came by link {source} of {nodes.in_count[row]}")
            for found, key in ((came, (nodes.port_begin[row] + source, slot)), (leave, (port, slot))):
                found[key] = found.get(key, 0) + charge(size)
    return came, leave


def check_samples(shot: Snapshot, at: int, what: str) -> None:
    """The buffer record's figures of a pool add up to what it holds."""
    now = shot.buffer_stats.now_bytes[at * t.BUFFER_KINDS:(at + 1) * t.BUFFER_KINDS]
    held, out = shot.buffers.in_bytes[at], shot.buffers.out_bytes[at]
    if now[t.B_IN_UP] + now[t.B_IN_DOWN] != held or now[t.B_POOL] != held or now[t.B_OUT_UP] + now[t.B_OUT_DOWN] != out:
        fail(f"{what}: holds {held} B in and {out} B out, its record says {now}")


# ---- priority flow control -------------------------------------------------------------------------------------------
def check_frames(shot: Snapshot, port: int, lengths: list[list[int]]) -> None:
    """PFC frames that a port made wait, are under way or have arrived, class by class, where both ends are here."""
    ports, nodes, packets, pfc = shot.ports, shot.nodes, shot.packets, shot.pfc
    peer, link = ports.peer[port], ports.in_row[port]
    if peer >= len(nodes):
        return
    back = nodes.port_begin[peer] + link - nodes.in_begin[peer]
    frames = [*shot.queue(port, t.Q_PFC), *(i for i in lengths[link] if packets.ptype[i] == t.PFC_FRAME)]
    lost = sum(shot.losses.lost[k] for k in shot.loss_rows(port))
    alive = Counter((packets.code[i], packets.psn[i] > 0) for i in frames)
    for tc in range(t.QUEUES):
        made, taken = ports.queue_begin[port] + tc, ports.queue_begin[back] + tc
        for name, on in (("xoff", True), ("xon", False)):
            sent, arrived = getattr(pfc, f"{name}_tx")[made], getattr(pfc, f"{name}_rx")[taken]
            if not 0 <= sent - arrived - alive[tc, on] <= lost:
                fail(f"port {port} class {tc}: {name}_tx is {sent}, but {arrived} arrived and {alive[tc, on]} are left")


def check_pause(shot: Snapshot, port: int, number: int) -> None:
    """A pause in force at a port: its times, and the flag that makes the port look."""
    pfc, at = shot.pfc, shot.ports.queue_begin[port] + number
    since, occupied, end = pfc.xoff_since_ps[at], pfc.occupied_since_ps[at], pfc.pause_end_ps[at]
    if since < -1 or (since >= 0 and end < since) or (occupied != -1 and not 0 <= since <= occupied <= end):
        fail(f"port {port} class {number}: a pause from {since} to {end}, with packets waiting from {occupied}")
    if not 0 <= pfc.occupied_ps[at] <= pfc.xoff_ps[at]:
        fail(f"port {port} class {number}: paused for {pfc.xoff_ps[at]} ps, {pfc.occupied_ps[at]} with packets waiting")
    node = shot.ports.node[port]
    at_nic = shot.nodes.kind[node] == NIC
    flag = (shot.nics.paused[shot.nodes.nic[node]] >> number) & 1 if at_nic else shot.ports.paused[port]
    if since >= 0 and not flag and not (at_nic and number >= t.NIC_CLASSES):
        fail(f"port {port} class {number}: paused since {since}, but its flag is not set")
    if pfc.refresh_ps[at] < t.INF_PS and (not at_nic or number >= t.NIC_CLASSES):
        fail(f"port {port} class {number}: refresh_ps is {pfc.refresh_ps[at]}, but only a NIC's two classes have one")


def check_nic_pauses(shot: Snapshot, nic: int) -> None:
    """The pauses that a NIC has outstanding are looked at in time, and end once its pool is low."""
    nics, nicpar, par = shot.nics, shot.nicpar, shot.parameters(nic)
    first = shot.ports.queue_begin[nics.port[nic]]
    data, control = shot.pfc.refresh_ps[first + t.NIC_DATA], shot.pfc.refresh_ps[first + t.NIC_CONTROL]
    police, wakes = nics.police_ps[nic], shot.next_ps[nics.node[nic]]
    for number, refresh, on in ((t.NIC_DATA, data, nicpar.pfc_0[par]), (t.NIC_CONTROL, control, nicpar.pfc_1[par])):
        if refresh < t.INF_PS and (not on or not shot.pfc.xoff_tx[first + number]):
            fail(f"NIC {nic}: a pause of class {number} is to be sent again at {refresh}, but none was sent")
    due = min(data, control, nics.release_ps[nic] if data < t.INF_PS else t.INF_PS)
    if police > due or (due == t.INF_PS and police != due):
        fail(f"NIC {nic}: police_ps is {police}, but its pauses are to be looked at at {due}")
    low = min(nicpar.xon_0[par], nicpar.xoff_0[par] - 1)
    if data < t.INF_PS and nics.ingress_bytes[nic] <= low and police > wakes:
        fail(f"NIC {nic}: a pause is outstanding with {nics.ingress_bytes[nic]} B in its receive pool, at most the "
             f"{low} B of Xon")
