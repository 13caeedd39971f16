"""Rules of a switch: by itself, and with the number of its connected ports in the fabric.

Source: scala-computing/docs, models/scala-switch/configuration, "Configuration rules that stop a simulation".
"""

from __future__ import annotations

from fractions import Fraction

from distsim.quantities import spell_size, spell_time

from .nic_transport import IP_OVERHEAD_BYTES
from .parameters import SimulationParameters
from .problems import Rules
from .rules_nic import part_bytes
from .switch import Switch
from .yaml_reader import Place

BUFFER: Place = ("SharedBufferManager",)
MOST_LIMIT_BYTES = 2**30     # a queue's bytes are counted in 32 bits
USED_CLASSES = 3             # classes that this NIC's packets can have at a switch
DATA_CLASS = 0


def queue_limit_bytes(switch: Switch) -> int:
    """Egress limit of a queue under the UET policy: PlaneBDP with trimming, QueueDropThreshold times that without."""
    shared = switch.SharedBufferManager
    return shared.PlaneBDP * (1 if switch.PacketTrimmer.TrimmingEnabled else shared.QueueDropThreshold)


def switch_rules(switch: Switch, largest_mss_bytes: int) -> Rules:
    """Rules of a switch; the largest data packet of any NIC must fit an empty queue, or it could never be delivered."""
    yield from _vectors(switch)
    yield from _trimming(switch)
    if switch.LoadBalancingMethod == "flowlet" and switch.EcmpHashMethod in ("dpr", "dprWithFallback"):
        yield ("LoadBalancingMethod",), (
            f"flowlet cannot be combined with EcmpHashMethod {switch.EcmpHashMethod}; valid hashes: hash, "
            "hashWithSalt, crc32, crc32WithSalt")
    shared = switch.SharedBufferManager
    capped = shared.LossyAlpha == 0 and shared.QueueDropThresholdEnable
    if shared.UETPolicyEnabled or capped:
        yield from _limit(queue_limit_bytes(switch), largest_mss_bytes)
    if switch.EcnHandler.MinThreshold > switch.EcnHandler.MaxThreshold:
        yield ("EcnHandler", "MinThreshold"), (
            f"{switch.EcnHandler.MinThreshold} is above MaxThreshold {switch.EcnHandler.MaxThreshold}")


def _limit(limit: int, largest_mss_bytes: int) -> Rules:
    packet = largest_mss_bytes + IP_OVERHEAD_BYTES
    plane: Place = (*BUFFER, "PlaneBDP")
    if limit < packet:
        yield plane, (f"a queue of {spell_size(limit)} cannot hold one data packet ({packet} B with the largest "
                      "RdmaDataMSS)")
    if limit > MOST_LIMIT_BYTES:
        yield plane, f"a queue of {spell_size(limit)} is more than this version can count ({MOST_LIMIT_BYTES} B)"


def _vectors(switch: Switch) -> Rules:
    """EnablePFC of 0 and 1, TrafficClassPoolMapping of pool numbers, PoolAllocationMap of fractions."""
    shared = switch.SharedBufferManager
    for name, most in (("EnablePFC", 1), ("TrafficClassPoolMapping", 7)):
        wrong = [entry for entry in getattr(shared, name) if entry != int(entry) or entry > most]
        if wrong:
            yield (*BUFFER, name), f"{wrong[0]:g} is not valid; valid: whole numbers 0 to {most}"
    where: Place = (*BUFFER, "PoolAllocationMap")
    pools = shared.PoolAllocationMap
    if max(pools) > 1:
        yield where, f"{max(pools):g} is not a fraction; valid: 0 to 1"
        return
    used = [entry for entry in pools if entry]
    if not used:
        yield where, "every entry is 0; at least one pool is needed"
        return
    exact = [Fraction(repr(entry)) for entry in used]
    if sum(exact) - 1 > exact[-1]:
        yield where, (f"the entries sum to {float(sum(exact)):g}, more than 1 by more than the last of them "
                      f"({used[-1]:g})")
    if not shared.UETPolicyEnabled:
        for number in range(USED_CLASSES - 1):
            pool = shared.TrafficClassPoolMapping[number]
            if pool == int(pool) <= 7 and not pools[int(pool)]:
                yield (*BUFFER, "TrafficClassPoolMapping"), (
                    f"class {number} is mapped to pool {pool:g}, whose PoolAllocationMap entry is 0")


def _trimming(switch: Switch) -> Rules:
    if not switch.PacketTrimmer.TrimmingEnabled:
        return
    shared, place = switch.SharedBufferManager, ("PacketTrimmer", "TrimmingEnabled")
    if not shared.UETPolicyEnabled:
        yield place, "trimming needs SharedBufferManager.UETPolicyEnabled: true"
    if any(shared.EnablePFC):
        yield place, ("trimming cannot be combined with PFC; set SharedBufferManager.EnablePFC to "
                      "[0, 0, 0, 0, 0, 0, 0, 0]")


def switch_fabric_rules(switch: Switch, connected_ports: int, largest_mss_bytes: int = 0) -> Rules:
    """Rules of a switch with this many connected ports in the fabric: headroom, pools that hold one packet."""
    shared = switch.SharedBufferManager
    headroom = shared.HeadRoomPerPortLimit * connected_ports
    if headroom > shared.TotalSharedBufferSize:
        yield (*BUFFER, "HeadRoomPerPortLimit"), (
            f"{spell_size(shared.HeadRoomPerPortLimit)} x {connected_ports} connected ports is {spell_size(headroom)}, "
            f"more than TotalSharedBufferSize {spell_size(shared.TotalSharedBufferSize)}")
        return
    rest = shared.TotalSharedBufferSize - headroom
    pools = pool_sizes(switch, connected_ports)
    pool = pools[0 if shared.UETPolicyEnabled else int(shared.TrafficClassPoolMapping[DATA_CLASS])]
    packet = largest_mss_bytes + IP_OVERHEAD_BYTES
    room = pool
    if not shared.UETPolicyEnabled and not shared.EnablePFC[DATA_CLASS]:
        if shared.LossyAlpha:
            room = min(pool, int(shared.LossyAlpha * pool))
        elif not shared.QueueDropThresholdEnable:
            room = pool // connected_ports
    if room < packet:
        yield (*BUFFER, "TotalSharedBufferSize"), (
            f"{spell_size(rest)} without the headroom of {connected_ports} ports leaves a data queue {room} B, less "
            f"than one data packet of {packet} B")
    if not shared.UETPolicyEnabled and max(pools.values()) > MOST_LIMIT_BYTES:
        yield (*BUFFER, "TotalSharedBufferSize"), (
            f"a pool of {max(pools.values())} B is more than this version can count ({MOST_LIMIT_BYTES} B)")


def unadjusted_pools(switch: Switch, connected_ports: int) -> dict[int, int]:
    """Pool number -> bytes before the last one takes the rest: what limits and ECN thresholds are derived from."""
    shared = switch.SharedBufferManager
    total = shared.TotalSharedBufferSize - shared.HeadRoomPerPortLimit * connected_ports
    if shared.UETPolicyEnabled:
        first, second = total * 3 // 7, total * 2 // 7
        return {0: first, 1: second, 2: total - first - second}
    return {number: part_bytes(entry, total) for number, entry in enumerate(shared.PoolAllocationMap) if entry}


def pool_sizes(switch: Switch, connected_ports: int) -> dict[int, int]:
    """Pool number -> bytes: 1.5 : 1 : 1 under the UET policy, else by PoolAllocationMap, the last takes the rest."""
    shared = switch.SharedBufferManager
    total = shared.TotalSharedBufferSize - shared.HeadRoomPerPortLimit * connected_ports
    pools = unadjusted_pools(switch, connected_ports)
    pools[max(pools)] += total - sum(pools.values())
    return pools


def switch_alike_rules(base: Switch, other: Switch, parameters: SimulationParameters) -> Rules:
    """What an override must not change: `other` is the switch section `base` with the override on top."""
    one = base.SharedBufferManager.BufferStatsReportInterval
    two = other.SharedBufferManager.BufferStatsReportInterval
    if parameters.EnableSwitchBufferStats and one != two:
        yield (*BUFFER, "BufferStatsReportInterval"), (
            f"{spell_time(two)} differs from the switch section's {spell_time(one)}; with EnableSwitchBufferStats "
            "every switch needs the same interval")
