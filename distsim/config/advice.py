"""What a configuration may do but hardly wants to: warnings, never errors."""

from __future__ import annotations

from .config import Config
from .rules_switch import USED_CLASSES

REPS = "Recycled Entropy Packet Spraying"


def config_warnings(config: Config) -> list[str]:
    """One line each.

    Recycled Entropy Packet Spraying with flowlet switches (models/scala-uet-nic/configuration), and lossless classes
    outside the pool of their own number (models/scala-switch/configuration, PFC traffic classes and pools), and ACKs
    asked for so seldom that a window may hold no packet that asks for one.
    """
    nics, switches = config.nic_variants, config.switch_variants
    warnings: list[str] = []
    if (any(nic.TransportProcessingLayers.ScalaUETPdsManager.PacketSprayingType == REPS for nic in nics)
            and any(switch.LoadBalancingMethod == "flowlet" for switch in switches)):
        warnings.append(f"PacketSprayingType is {REPS} and LoadBalancingMethod flowlet: the switches move flows away "
                        "from the paths that the NICs' entropy values stand for")
    astray = sorted({number for switch in switches for number in range(USED_CLASSES)
                     if not switch.SharedBufferManager.UETPolicyEnabled and switch.SharedBufferManager.EnablePFC[number]
                     and switch.SharedBufferManager.TrafficClassPoolMapping[number] != number})
    warnings += [f"EnablePFC is 1 for class {number}, which TrafficClassPoolMapping does not map to pool {number}: "
                 "pauses of a pool then cover classes of other pools' numbers" for number in astray]
    every = max(nic.TransportProcessingLayers.ScalaUETPdsManager.AckRequestEveryNthPacket for nic in nics)
    if every > 1:
        warnings.append(f"AckRequestEveryNthPacket is {every}: when a window holds fewer packets than that, none may "
                        "ask for an ACK, and the message waits for its retransmission timer")
    return warnings
