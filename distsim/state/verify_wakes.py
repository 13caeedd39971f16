"""Invariants of wake-up times: no node sleeps past what it has to do, and nothing that waits is forgotten."""

from __future__ import annotations

from . import tables as t
from .verify_rows import Snapshot, fail

NIC = 0


def check_wake_ups(shot: Snapshot) -> None:
    """All of this file (arrivals: `verify_network.check_links`); the visiting order holds every node once."""
    ports, nodes = shot.ports, shot.nodes
    for row in range(len(nodes)):
        for port in range(nodes.port_begin[row], nodes.port_begin[row] + nodes.port_count[row]):
            if ports.node[port] != row:
                fail(f"port {port} belongs to node row {ports.node[port]}, not {row}")
            if nodes.kind[row] != NIC:
                check_switch_port(shot, row, port)
        if nodes.kind[row] != NIC and nodes.shared[row]:
            check_refreshes(shot, row)
    for nic in range(len(shot.nics)):
        check_nic(shot, nic)
        check_ready_groups_wake(shot, nic)
    for unit in range(len(shot.units)):
        if shot.units.level[unit] == 1:
            span = range(shot.units.first[unit], shot.units.first[unit] + shot.units.count[unit])
            if sorted(shot.order[k] for k in span) != list(span):
                fail(f"unit {unit}: the visiting order does not hold each of its nodes once")


def pause_end_ps(shot: Snapshot, port: int, number: int) -> int:
    """Until when a class of a port is held; 0 when it is not."""
    if not shot.pauses:
        return 0
    return int(shot.pfc.pause_end_ps[shot.ports.queue_begin[port] + number])


def check_switch_port(shot: Snapshot, row: int, port: int) -> None:
    """A switch wakes when a port of it can serve a packet; while releases are events, at its ends of service too."""
    ports, wakes = shot.ports, shot.next_ps[row]
    starts = [max(ports.free_ps[port], pause_end_ps(shot, port, tc))
              for tc in range(t.CLASSES) if shot.queue(port, tc)]
    if shot.queue(port, t.Q_PFC):
        starts.append(ports.free_ps[port])
    if starts and wakes > min(starts):
        fail(f"node row {row} wakes at {wakes}, but port {port} can serve at {min(starts)}")
    exact = shot.nodes.shared[row] and (shot.nodes.pauses[row] or shot.nodes.eager[row])
    if exact and ports.service_state[port] and wakes > ports.free_ps[port]:
        fail(f"node row {row} wakes at {wakes}, but a service of port {port} ends at {ports.free_ps[port]}")


def check_refreshes(shot: Snapshot, row: int) -> None:
    """The pauses that a shared switch has outstanding, and when it sends one again."""
    nodes, refresh = shot.nodes, shot.shares.refresh_ps
    due = []
    for port in range(nodes.port_begin[row], nodes.port_begin[row] + nodes.port_count[row]):
        first = shot.ports.queue_begin[port]
        due += [refresh[first + slot] for slot in range(t.CLASSES) if refresh[first + slot] < t.INF_PS]
    if nodes.pauses[row] != len(due):
        fail(f"node row {row}: pauses is {nodes.pauses[row]}, but {len(due)} are to be sent again")
    if not due:
        return
    if nodes.wake_ps[row] > min(due):
        fail(f"node row {row}: wake_ps is {nodes.wake_ps[row]}, but a pause is sent again at {min(due)}")
    if shot.next_ps[row] > nodes.wake_ps[row]:
        fail(f"node row {row} wakes at {shot.next_ps[row]}, but looks at its pauses at {nodes.wake_ps[row]}")


def start_ps(shot: Snapshot, nic: int) -> int:
    """When the port of a NIC can start its next frame, INF_PS: it has none."""
    port, times = shot.nics.port[nic], shot.packets.time_ps
    prefetch = shot.nicpar.prefetch[shot.parameters(nic)]
    heads = {number: times[queue[0]] for number in range(t.QUEUES) if (queue := shot.queue(port, number))}
    data = [entry.time_ps for entry in shot.fetches[nic][:1] if not prefetch]
    data += [heads[t.Q_RTX]] if t.Q_RTX in heads else []
    control = [heads[number] for number in (t.Q_CONTROL, t.Q_HELD) if number in heads]
    ready = [heads[t.Q_PFC]] if t.Q_PFC in heads else []
    for number, waiting in ((t.NIC_DATA, data), (t.NIC_CONTROL, control)):
        if waiting:
            ready.append(max(min(waiting), pause_end_ps(shot, port, number)))
    return max(shot.ports.free_ps[port], min(ready)) if ready else t.INF_PS


def check_nic(shot: Snapshot, nic: int) -> None:
    """A NIC wakes for everything that it has to do."""
    nics = shot.nics
    wakes, now, port = shot.next_ps[nics.node[nic]], nics.now_ps[nic], nics.port[nic]
    due = {"its port can send": start_ps(shot, nic), "a timer expires": nics.rto_ps[nic],
           "an early failure is due": nics.fail_ps[nic], "its transmit process starts": nics.pass_ps[nic],
           "its egress pool may have drained": nics.wake_ps[nic], "a pause is looked at": nics.police_ps[nic]}
    if nics.heap_size[nic]:
        due["an operation is due"] = shot.heap.time_ps[nics.heap_begin[nic]]
    if shot.nicpar.prefetch[shot.parameters(nic)]:
        due["a payload arrives"] = nics.handoff_ps[nic]
    if nics.monitored[nic]:
        due["a frame to be logged ends"] = shot.ports.free_ps[port]
    if nics.pool_wait[nic] == 2:
        due["a transmit pass goes on"] = now
    for what, at in due.items():
        if wakes > at:
            fail(f"NIC {nic} wakes at {wakes}, but {what} at {at}")
    if wakes < now:
        fail(f"NIC {nic} would wake at {wakes}, before its latest event at {now}")


def check_ready_groups_wake(shot: Snapshot, nic: int) -> None:
    """Something starts the transmit process of a NIC with groups in its ready queue."""
    nics = shot.nics
    state, waits = nics.pool_wait[nic], nics.wake_ps[nic] < t.INF_PS
    if (state == 1) != waits or state not in (0, 1, 2):
        fail(f"NIC {nic}: pool_wait is {state} with wake_ps {nics.wake_ps[nic]}")
    if nics.ready_head[nic] < 0 or state or nics.pass_ps[nic] < t.INF_PS:
        return
    if not shot.nicpar.prefetch[shot.parameters(nic)] or not nics.prefetch_bytes[nic]:
        fail(f"NIC {nic}: groups are ready, but nothing starts its transmit process")
