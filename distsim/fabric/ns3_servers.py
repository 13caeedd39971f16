"""Servers of a SimAI topology: the GPUs at an NVSwitch, and how fast they reach each other.

The links to NVSwitches are the servers' scale-up domain. A transfer inside one runs at the rate of all links of a GPU
to NVSwitches together, and takes the delay of two of them (GPU to NVSwitch to GPU).
"""

from __future__ import annotations

import numpy as np

from distsim.fabric.ns3_text import HOST, NVSWITCH, Ns3Text
from distsim.fabric.types import ServerLinks


def server_links(topo: Ns3Text) -> ServerLinks | None:
    """GPUs of a server, rate of one and latency between two of them; None for a file of HPCC.

    Raises InputError when servers are not runs of `gpus_per_server` GPUs in the order of their ids, when an NVSwitch is
    linked to something else, and when GPUs differ in their rate to NVSwitches.
    """
    if not topo.is_simai:
        return None
    size, hosts = topo.header["gpus_per_server"], topo.hosts()
    if len(hosts) % size:
        topo.fail(None, f"{len(hosts)} GPUs are not a multiple of gpus_per_server {size}")
    rows = np.flatnonzero((topo.kinds[topo.src] == NVSWITCH) | (topo.kinds[topo.dst] == NVSWITCH))
    if not len(rows):
        return ServerLinks(size)
    place = _gpus(topo, rows, hosts, size)
    total_bps = np.bincount(place, weights=topo.rate_bps[rows], minlength=len(hosts)).astype("i8")
    odd = np.flatnonzero(total_bps != total_bps[0])
    if len(odd):
        topo.fail(None, f"GPU {hosts[odd[0]]} has {total_bps[odd[0]] / 1e9:g} Gbps to NVSwitches, GPU {hosts[0]} has "
                        f"{total_bps[0] / 1e9:g} Gbps; all must have the same")
    delays = np.unique(topo.delay_ps[rows])
    if len(delays) > 1:
        topo.warnings.append(f"{topo.file}: links to NVSwitches have delays of {delays[0]} to {delays[-1]} ps; the "
                             "greatest is used for all")
    if not delays[-1]:
        topo.fail(int(topo.lines[rows[0]]), "the links to NVSwitches have no delay; they must take at least 1 ps, e.g. "
                                            "25ns")
    return ServerLinks(size, int(total_bps[0]), 2 * int(delays[-1]))


def _gpus(topo: Ns3Text, rows: np.ndarray, hosts: np.ndarray, size: int) -> np.ndarray:
    """Host number of the GPU of each of the links `rows` to NVSwitches, i8[rows], checked."""
    swap = topo.kinds[topo.src[rows]] == NVSWITCH
    gpu = np.where(swap, topo.dst[rows], topo.src[rows])
    switch = np.where(swap, topo.src[rows], topo.dst[rows])
    wrong = np.flatnonzero(topo.kinds[gpu] != HOST)
    if len(wrong):
        topo.fail(int(topo.lines[rows[wrong[0]]]), f"NVSwitch {switch[wrong[0]]} is linked to node {gpu[wrong[0]]}, "
                                                   "which is no GPU")
    place = np.searchsorted(hosts, gpu)
    server = np.zeros(len(topo.kinds), "i8")
    server[switch[::-1]] = place[::-1] // size      # of the first link of each NVSwitch
    wrong = np.flatnonzero(server[switch] != place // size)
    if len(wrong):
        topo.fail(int(topo.lines[rows[wrong[0]]]), f"NVSwitch {switch[wrong[0]]} joins GPUs of two servers; a server "
                                                   f"is a run of {size} GPUs in the order of their ids")
    return place
