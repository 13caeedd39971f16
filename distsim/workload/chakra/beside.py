"""What a workload of ranks is beside its traces: where ranks run, scale-up groups, and settings of the replay."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from distsim.workload.collectives import ALGORITHMS_OF
from distsim.workload.collectives.schedule import Options
from distsim.workload.graph import COLL, COLLECTIVES
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import Workload

_BY_SERVER = {"hierarchical", "nccl"}                # algorithms for which Options.server counts
PACKET = (24, 4096)               # ScaleUpHeaderSize and ScaleUpMaxPayloadSize unless said otherwise


def mapping_text(workload: Workload) -> str:
    """A mapping file for the traces of a workload made from a graph, "" when it needs none: rank i on server i, no
    scale-up groups. Format: scala-computing/docs, chakra-mapping-files.md."""
    if workload.graph is None or workload.placement is None:
        return ""
    scale_up: ScaleUp | None = workload.settings.scale_up
    servers = workload.placement.tolist()
    if scale_up is None:
        return "" if servers == list(range(len(servers))) else _lines(servers, np.full(len(servers), -1), servers, ())
    rows = zip(scale_up.ids, scale_up.rate_bps, scale_up.switch_ps, scale_up.cable_ps)
    groups = tuple(f"{number}, {_decimal(rate_bps, 9)}, {_decimal(switch_ps, 3)}, {_decimal(cable_ps, 3)}"
                   for number, rate_bps, switch_ps, cable_ps in rows)
    ids = np.array([*scale_up.ids, -1], "i8")[scale_up.group]
    return _lines(servers, ids, scale_up.subgroup.tolist(), groups)


def settings_to_give(workload: Workload) -> list[str]:
    """What a replay of the traces has to be told to do as the workload did, as ``field: value``."""
    if workload.graph is None:
        return []
    settings, nodes = workload.settings, workload.graph.nodes
    found = []
    for number, chosen in _chosen(workload).items():
        if chosen != ALGORITHMS_OF[number][0]:
            name = "".join(word.capitalize() for word in COLLECTIVES[number].split("_"))
            found.append(f"{name}Algorithm: {chosen}")
    if (nodes["kind"] == COLL).any() and not settings.synchronization:
        found.append("CommCollectiveSynchronization: false")
    scale_up = settings.scale_up
    if scale_up is not None and (scale_up.header_bytes, scale_up.max_payload_bytes) != PACKET:
        found.append(f"ScaleUpHeaderSize: {scale_up.header_bytes}B")
        found.append(f"ScaleUpMaxPayloadSize: {scale_up.max_payload_bytes}B")
    return found


def left_out(workload: Workload) -> list[str]:
    """Lines for the user about what a replay of the traces cannot be told."""
    if workload.graph is None or not (workload.graph.nodes["kind"] == COLL).any():
        return []
    settings = workload.settings
    lines = []
    if replace(settings.options, server=1) != Options():
        lines.append("channels, chunks, slices and protocol of collectives are not in the traces; their replay sends "
                     "everything at once")
    if _servers_are_lost(workload):
        lines += [f"the servers of {name} are not in the traces; its replay takes the scale-up groups for them, or "
                  "servers of one" for name in sorted(_BY_SERVER & set(_chosen(workload).values()))]
    if settings.launch_ps:
        lines.append("the launch delay of collectives is not in the traces; their replay has none")
    return lines


def _servers_are_lost(workload: Workload) -> bool:
    """Whether the servers of the collectives are others than the scale-up groups in the mapping file give."""
    server, scale_up = workload.settings.options.server, workload.settings.scale_up
    return server > 1 and (scale_up is None or any(scale_up.server_of(group.ranks) != server
                                                   for group in workload.graph.groups))


def _chosen(workload: Workload) -> dict[int, str]:
    """Algorithm of each collective that the workload has, by its number."""
    nodes, given = workload.graph.nodes, workload.settings.algorithms
    return {number: given.get(number, ALGORITHMS_OF[number][0])
            for number in np.unique(nodes["collective"][nodes["kind"] == COLL]).tolist()}


def _lines(servers: list[int], group: np.ndarray, subgroup: list[int], groups: tuple[str, ...]) -> str:
    lines = ["# ChakraLogicalId, serverId [, ScaleUpGroupId, ScaleUpSubgroupId]"]
    for rank, (server, number) in enumerate(zip(servers, group.tolist())):
        lines.append(f"{rank}, {server}" + (f", {number}, {subgroup[rank]}" if number >= 0 else ""))
    if groups:
        lines += ["@", "# ScaleUpGroupId, ScaleUpBandwidthGbps, ScaleUpPerHopSwitchLatencyNs, ScaleUpNpuCableLatencyNs",
                  *groups]
    return "\n".join(lines) + "\n"


def _decimal(value: int, digits: int) -> str:
    """value / 10**digits, exactly."""
    return f"{Decimal(value).scaleb(-digits).normalize():f}"
