"""Which port a packet leaves a switch by: down to its NIC, or one of the equal-cost members.

scala-computing/docs models/scala-switch/packet-handling (ECMP path selection, Dynamic load balancing). The default
method, crc32WithSalt, is a hash of the 5-tuple that every packet carries, put through a non-linear finalizer with the
switch's salt; the others are worked out at the switch. Addresses are 32.0.0.0 + node id + 1, the protocol UDP, the
destination port UET's.
"""

from __future__ import annotations

from ..state.tables import (
    FLOW_SLOTS,
    HASH_CRC,
    HASH_CRC_SALT,
    HASH_DPR,
    HASH_DPR_FALLBACK,
    HASH_XOR_SALT,
    INF_PS,
)
from .jit import kernel, small
from .rng import FLOWLET_DRAW, MASK, mix32, uniform

UDP, UET_PORT = 17, 4793
FIRST_ADDRESS = 0x20000001
DPR_MASK = 511


@small
def crc_byte(s, crc, value):
    """CRC-32 (reflected 0xEDB88320) after one more byte."""
    return s.crc[(crc ^ value) & 0xFF] ^ (crc >> 8)


@small
def crc_half(s, crc, value):
    """CRC-32 after two more bytes, the most significant first."""
    return crc_byte(s, crc_byte(s, crc, value // 256), value % 256)


@kernel
def crc_of(s, p):
    """CRC-32 over protocol, source and destination port, source and destination address, in network byte order."""
    crc = crc_byte(s, MASK, UDP)
    crc = crc_half(s, crc_half(s, crc, int(p.entropy)), UET_PORT)
    source = FIRST_ADDRESS + p.src
    crc = crc_half(s, crc_half(s, crc, source // 65536), source % 65536)
    target = FIRST_ADDRESS + p.dst
    crc = crc_half(s, crc_half(s, crc, target // 65536), target % 65536)
    return crc ^ MASK


@kernel
def flow_hash(s, node, method, p, count):
    """The 16-bit flow hash, or the destination index, of the methods other than crc32WithSalt."""
    if method == HASH_DPR or method == HASH_DPR_FALLBACK:
        index = (FIRST_ADDRESS + p.dst - 1) & DPR_MASK
        if method == HASH_DPR or index < count:
            return index
    if method == HASH_CRC or method == HASH_DPR_FALLBACK:
        return crc_of(s, p) & 0xFFFF
    fold = (FIRST_ADDRESS + p.src) ^ (FIRST_ADDRESS + p.dst) ^ (p.entropy * 65536) ^ UET_PORT
    if method == HASH_XOR_SALT:
        fold = (fold + node.salt) & MASK
    return (fold ^ (fold >> 16)) & 0xFFFF


@small
def route(s, node, par, p):
    """PORT row that the packet leaves by, without a flow table."""
    column = s.host_leaf[p.dst]
    if column == node.leaf:
        return s.host_port[p.dst]
    number = s.route[node.route_begin + column]
    count = s.set_count[number]
    pick = s.set_begin[number]
    if count > 1:
        if par.hash_method == HASH_CRC_SALT:
            pick += (mix32(p.path_hash ^ node.salt) * count) >> 32
        else:
            pick += flow_hash(s, node, par.hash_method, p, count) % count
    return s.members[pick]


@small
def egress_bytes(s, port, now_ps):
    """Bytes that a port holds: in its queues and in service."""
    total = 0
    for number in range(3):
        total += s.queues[port.queue_begin + number].waiting_bytes
    if port.free_ps > now_ps:
        total += port.service_bytes - 18
    return total


@small
def is_paused(s, port, tc, now_ps):
    """Whether PFC holds the class at the port."""
    return port.paused != 0 and s.pfc[port.queue_begin + tc].pause_end_ps > now_ps


@kernel
def least_loaded(s, node, par, first, count, current, tc, now_ps):
    """Member with the least egress occupancy; PFC-held ones only when all are. A draw breaks ties; -1: stay."""
    free = 0
    if par.pfc_aware != 0:
        for k in range(first, first + count):
            if not is_paused(s, s.ports[s.members[k]], tc, now_ps):
                free += 1
    least = INF_PS
    ties = 0
    for k in range(first, first + count):
        port = s.ports[s.members[k]]
        if free > 0 and is_paused(s, port, tc, now_ps):
            continue
        held = egress_bytes(s, port, now_ps)
        if held < least:
            least = held
            ties = 0
        if held == least:
            ties += 1
    chosen = -1
    for k in range(first, first + count):
        port = s.ports[s.members[k]]
        if (free == 0 or not is_paused(s, port, tc, now_ps)) and egress_bytes(s, port, now_ps) == least:
            if k - first == current:
                return current
    place = 0
    if ties > 1:
        place = int(uniform(s.clock[0].seed, node.id, FLOWLET_DRAW, node.draws) * ties)
        node.draws += 1
    for k in range(first, first + count):
        port = s.ports[s.members[k]]
        if (free == 0 or not is_paused(s, port, tc, now_ps)) and egress_bytes(s, port, now_ps) == least:
            if place == 0:
                chosen = k - first
                break
            place -= 1
    return chosen


@kernel
def flow_slot(s, node, par, p):
    """FLOWLET row of the packet's flow, -1 where it has one path or its set has no slots."""
    column = s.host_leaf[p.dst]
    if par.flowlet == 0 or column == node.leaf:
        return -1
    number = s.route[node.route_begin + column]
    local = s.flow_set[node.route_begin + column]
    if local < 0 or s.set_count[number] < 2:
        return -1
    if par.hash_method == HASH_CRC_SALT:
        flow = mix32(p.path_hash ^ node.salt) >> 16
    else:
        flow = flow_hash(s, node, par.hash_method, p, s.set_count[number])
    return node.flow_begin + local * FLOW_SLOTS + flow % FLOW_SLOTS


@kernel
def member_of_flow(s, node, par, p, slot_row, now_ps):
    """Member that a flow with a slot takes: its own, or after a silence of Gap one chosen anew. Ports are as of now."""
    number = s.route[node.route_begin + s.host_leaf[p.dst]]
    slot = s.flowlets[slot_row]
    if slot.member >= 0 and now_ps - slot.time_ps < par.gap_ps:
        return slot.member
    return least_loaded(s, node, par, s.set_begin[number], s.set_count[number], slot.member, p.tc, now_ps)


@small
def port_of_member(s, node, p, member):
    """PORT row of a member of the packet's set."""
    return s.members[s.set_begin[s.route[node.route_begin + s.host_leaf[p.dst]]] + member]


@small
def keep_flow(s, slot_row, member, now_ps):
    """A packet of the flow was admitted to the member."""
    slot = s.flowlets[slot_row]
    slot.member = member
    slot.time_ps = now_ps
