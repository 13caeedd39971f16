"""Rules of a NIC's buffers, PCIe link and monitor.

Source: scala-computing/docs, models/scala-uet-nic/configuration, "Configuration rules that stop a simulation", and what
buffers-and-pfc says each buffer must hold; a buffer that cannot hold one packet would stop the NIC without a word.
"""

from __future__ import annotations

import ipaddress
from decimal import Decimal

from distsim.quantities import spell_rate, spell_size

from .nic import HOST_END, NIC_END, EgressBuffer, IngressBuffer, Nic, pcie_ends
from .nic_transport import IP_OVERHEAD_BYTES, WIRE_OVERHEAD_BYTES, Monitor
from .problems import Rules
from .yaml_reader import Place

INGRESS: Place = ("NetworkInterface", "IngressBufferManager")
EGRESS: Place = ("NetworkInterface", "EgressBufferManager")
PDS: Place = ("TransportProcessingLayers", "ScalaUETPdsManager")
CONTROL: Place = ("TransportProcessingLayers", "ScalaUETCongestionControl")
MONITOR: Place = ("TransportProcessingLayers", "ScalaUETMonitor")
ACK_WIRE_BYTES, ACK_IP_BYTES = 78, 60
DATA, CONTROL_CLASS = 0, 1
NAMES = ("data", "control")
TRANSFER_BYTES, TRANSFER_HEADER_BYTES = 512, 34
MOST_QUANTA = 65535
MOST_WEIGHT = 10**6
MOST_PDC_ID = 65535
LANE_STEP_BPS = 10**6
ALL = "All"


def part_bytes(fraction: float, total_bytes: int) -> int:
    """Bytes of a fraction as it was written (0.29 of 100 is 29), rounded down."""
    return int(Decimal(repr(float(fraction))) * total_bytes)


def segment_transfers(mss_bytes: int) -> int:
    """PCIe transfers of one full segment."""
    return -(-mss_bytes // TRANSFER_BYTES)


def nic_buffer_rules(nic: Nic) -> Rules:
    """Pools, scheduling, PFC vectors, prefetch buffer."""
    port, layers = nic.NetworkInterface, nic.TransportProcessingLayers
    mss = layers.SemanticLayer.RdmaDataMSS
    yield from _pools(INGRESS, port.IngressBufferManager, "receive", (mss + IP_OVERHEAD_BYTES, ACK_IP_BYTES))
    yield from _pools(EGRESS, port.EgressBufferManager, "transmit", (mss + WIRE_OVERHEAD_BYTES, ACK_WIRE_BYTES))
    yield from _weights(port.EgressBufferManager)
    yield from _pauses(port.IngressBufferManager)
    pds = layers.ScalaUETPdsManager
    if pds.PrefetchBufferEnable and pds.PrefetchBufferSize < mss + WIRE_OVERHEAD_BYTES:
        yield (*PDS, "PrefetchBufferSize"), (
            f"{pds.PrefetchBufferSize} B cannot hold one data packet of {mss + WIRE_OVERHEAD_BYTES} B (RdmaDataMSS + "
            f"{WIRE_OVERHEAD_BYTES})")
    control = layers.ScalaUETCongestionControl
    if control.ReceiverCongestionLowThreshold > control.ReceiverCongestionHighThreshold:
        yield (*CONTROL, "ReceiverCongestionLowThreshold"), (
            f"{control.ReceiverCongestionLowThreshold:g} is above ReceiverCongestionHighThreshold "
            f"{control.ReceiverCongestionHighThreshold:g}")


def _pools(place: Place, buffer: IngressBuffer | EgressBuffer, name: str, least: tuple[int, int]) -> Rules:
    """Non-zero entries first, two at least, none above 1; the data and the control pool hold one packet each."""
    where = (*place, "PoolAllocationVector")
    vector = buffer.PoolAllocationVector
    used = [entry > 0 for entry in vector]
    if max(vector) > 1:
        yield where, f"{max(vector):g} is not a fraction; valid: 0 to 1"
    if sum(used) < 2:
        yield where, "fewer than two entries are not 0; classes 0 (data) and 1 (control) need a pool each"
    elif not all(used[:sum(used)]):
        yield where, "a 0 stands before an entry that is not 0; the entries that are not 0 come first, from class 0 on"
    else:
        for number in (DATA, CONTROL_CLASS):
            pool = part_bytes(vector[number], buffer.TotalBufferSize)
            if pool < least[number]:
                what = "data packet" if number == DATA else "ACK"
                yield (*place, "TotalBufferSize"), (
                    f"the {NAMES[number]} class's {name} pool, {vector[number]:g} x "
                    f"{spell_size(buffer.TotalBufferSize)} = {pool} B, cannot hold one {what} of {least[number]} B")


def _weights(buffer: EgressBuffer) -> Rules:
    if buffer.QueueSchedulingType != "WeightedRoundRobin":
        return
    for number in (DATA, CONTROL_CLASS):
        weight = buffer.WRRQueueWeights[number]
        if weight != int(weight) or not 1 <= weight <= MOST_WEIGHT:
            yield (*EGRESS, "WRRQueueWeights"), (
                f"the weight of class {number} is {weight:g}; WeightedRoundRobin needs a whole number of 1 to "
                f"{MOST_WEIGHT} for classes 0 and 1")


def _pauses(buffer: IngressBuffer) -> Rules:
    """Thresholds are fractions, quanta fit their field."""
    for number in (DATA, CONTROL_CLASS):
        for name in ("PfcStaticXoffThreshold", "PfcXonResumeThreshold"):
            fraction = getattr(buffer, name)[number]
            if fraction > 1:
                yield (*INGRESS, name), f"the entry of class {number} is {fraction:g}, not a fraction; valid: 0 to 1"
        quanta, on = buffer.QuantaValue[number], buffer.PFCEnableVector[number] == 1
        least = 1 if on else 0               # a pause of 0 quanta would be a resume
        if quanta != int(quanta) or not least <= quanta <= MOST_QUANTA:
            yield (*INGRESS, "QuantaValue"), (
                f"the entry of class {number} is {quanta:g}; valid: whole numbers {least} to {MOST_QUANTA}"
                + (" for a class with PFC" if on else ""))


def pcie_rules(nic: Nic) -> Rules:
    """Each end's transmit buffers hold one segment, its receive buffer one header; rates in whole Mbps."""
    mss = nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS
    headers = TRANSFER_HEADER_BYTES * segment_transfers(mss)
    for place, end in zip((NIC_END, HOST_END), pcie_ends(nic), strict=True):
        buffers, layer = end.TransactionLayer, (*place, "TransactionLayer")
        if buffers.TXHeaderBufferSize < headers:
            yield (*layer, "TXHeaderBufferSize"), (
                f"{buffers.TXHeaderBufferSize} B cannot hold the headers of one segment: {segment_transfers(mss)} "
                f"transfers x {TRANSFER_HEADER_BYTES} B = {headers} B (RdmaDataMSS {mss})")
        if buffers.RXHeaderBufferSize < TRANSFER_HEADER_BYTES:
            yield (*layer, "RXHeaderBufferSize"), (
                f"{buffers.RXHeaderBufferSize} B cannot hold the header of one transfer, {TRANSFER_HEADER_BYTES} B")
        data = buffers.RXDataBufferSize + buffers.TXDataBufferSize
        if data < mss:
            yield (*layer, "TXDataBufferSize"), (
                f"RXDataBufferSize + TXDataBufferSize = {data} B cannot hold one segment of {mss} B (RdmaDataMSS)")
        if end.PhysicalLayer.LaneBps % LANE_STEP_BPS:
            yield (*place, "PhysicalLayer", "LaneBps"), (
                f"{spell_rate(end.PhysicalLayer.LaneBps)} is not a whole number of Mbps")


def monitor_rules(monitor: Monitor) -> Rules:
    """Forms of the filters."""
    fep = monitor.FilterOnFepId
    if fep != ALL and not (fep.isascii() and fep.isdigit() and len(fep) <= 9):
        yield (*MONITOR, "FilterOnFepId"), f"{fep!r} is not a FEP id; valid: {ALL}, or a decimal number such as 3"
    for name in ("FilterOnLocalIp", "FilterOnRemoteIp"):
        text = getattr(monitor, name)
        if text != ALL and not is_ipv4(text):
            yield (*MONITOR, name), f"{text!r} is not an address; valid: {ALL}, or dotted IPv4 such as 32.0.0.2"
    address, sign, number = monitor.FilterOnPdc.partition(":")
    sound = is_ipv4(address) and bool(sign) and number.isascii() and number.isdigit()
    if monitor.FilterOnPdc != ALL and not (sound and int(number) <= MOST_PDC_ID):
        yield (*MONITOR, "FilterOnPdc"), (
            f"{monitor.FilterOnPdc!r} is not a PDC; valid: {ALL}, or <IPv4>:<PDC id 0 to {MOST_PDC_ID}> such as "
            "32.0.0.2:4500")


def is_ipv4(text: str) -> bool:
    """Whether it is an IPv4 address in dotted form."""
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def nic_alike_rules(base: Nic, other: Nic) -> Rules:
    """What an override must not change: `other` is the nic section `base` with the override on top."""
    if other.TransportProcessingLayers.ScalaUETMonitor != base.TransportProcessingLayers.ScalaUETMonitor:
        yield MONITOR, ("differs from the nic section's; a run has one monitor, so every NIC needs the same settings: "
                        "set them under nic")
