"""Small random models for `simkit`: fabrics, workloads, attributes, plain and with every feature."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
from simworks import add_works

from distsim.config.nic import Nic
from distsim.config.parameters import SimulationParameters
from distsim.config.switch import Switch
from distsim.fabric.routing import build_routes
from distsim.fabric.types import LINKS, NODES, SWITCH, Fabric
from distsim.parameters import buffer_rows, needs_shared, nic_row, switch_row
from distsim.state import tables as t
from distsim.state.faults import INTERVALS, FaultPlan, merged, survival_of
from distsim.state.model import Model, number_messages
from distsim.workload.types import (
    EDGES,
    JOIN,
    LOCAL,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SEND_DONE,
    OPS,
    SEND,
    TRIGGER_DELAY,
    Workload,
)

DELAYS_PS = (0, 1_000, 100_000, 100_000, 1_000_000, 50_000_000)
RATES_BPS = (400_000_000_000, 400_000_000_000, 100_000_000_000, 330_000_000_000)


# ---- models ----------------------------------------------------------------------------------------------------------
def make_fabric(rng: random.Random, racks: int, per_rack: int, spines: int, delays: list[int] | None = None,
                rates: list[int] | None = None) -> Fabric:
    """Leaf-spine with a delay and a rate of its own for every cable."""
    hosts = racks * per_rack
    nodes = np.zeros(hosts + racks + spines, NODES)
    nodes["kind"][hosts:] = SWITCH
    nodes["tier"] = [3] * hosts + [2] * racks + [0] * spines
    nodes["rack"] = [h // per_rack for h in range(hosts)] + list(range(racks)) + [-1] * spines
    cables = [(h, hosts + h // per_rack) for h in range(hosts)]
    cables += [(hosts + r, hosts + racks + s) for r in range(racks) for s in range(spines)]
    ports = [0] * len(nodes)
    rows = []
    for low, high in cables:
        rate = rng.choice(rates or RATES_BPS)
        delay = rng.choice(delays or DELAYS_PS)
        a, b = ports[low], ports[high]
        ports[low] += 1
        ports[high] += 1
        rows += [(low, high, a, b, len(rows) + 1, 1, rate, delay), (high, low, b, a, len(rows), 0, rate, delay)]
    names = [f"N{i}" for i in range(len(nodes))]
    return Fabric(nodes, names, np.array(rows, LINKS))


def make_workload(rng: random.Random, hosts: int, flows: int) -> Workload:
    """Random messages; some wait for others, directly, through a barrier or for the k-th of several."""
    ops: list[tuple] = []
    edges: list[tuple] = []
    for i in range(flows):
        src = rng.randrange(hosts)
        dst = rng.choice([h for h in range(hosts) if h != src])
        size = rng.choice([0, 1, 100, 4096, 5000, 40_000, 40_000, 200_000])
        ops.append([i + 1, SEND, 0, src, dst, size, rng.choice([0, 0, 0, 1, 5_000, 1_000_000]), 0])
        if i and rng.random() < 0.5:
            for before in rng.sample(range(i), min(i, rng.choice([1, 1, 2, 3]))):
                edges.append((before, i, rng.choice([ON_SEND_DONE, ON_RECV_DONE])))
                ops[i][7] += 1
            if ops[i][7] > 1 and rng.random() < 0.5:
                ops[i][2] = rng.randint(1, ops[i][7])
    if flows > 4 and rng.random() < 0.6:
        join = len(ops)
        told = rng.sample(range(flows), 3)
        ops.append([join + 1, JOIN, 0, min(ops[o][3] for o in told), -1, 0, 0, 3])
        edges += [(o, join, ON_SEND_DONE) for o in told]
        src = rng.randrange(hosts)
        ops.append([join + 2, SEND, 0, src, (src + 1) % hosts, 9000, 0, 1])
        edges.append((join, join + 1, ON_FIRE))
    if rng.random() < 0.7:
        add_works(rng, hosts, ops, edges, rng.randint(1, flows))
    rows = op_rows(ops)
    rows["flags"] |= np.array([rng.choice([0, LOG_OP]) for _ in ops], "u1")
    return Workload(rows, edge_rows(edges))


def op_rows(ops: list) -> np.ndarray:
    """OPS rows from (user_id, kind, any_of, host, dst, size, start, deps[, delay, work]); every transfer is logged."""
    rows = np.zeros(len(ops), OPS)
    for name, column in zip(("user_id", "kind", "any_of", "host", "dst", "size_bytes", "start_ps", "deps", "delay_ps",
                             "work_ps"), zip(*[(*op, 0, 0)[:10] for op in ops], strict=True), strict=True):
        rows[name] = column
    rows["flags"] = np.where(np.isin(rows["kind"], (SEND, LOCAL)), LOG_MESSAGE, 0)
    return rows


def edge_rows(edges: list) -> np.ndarray:
    """EDGES rows from (src, dst, when[, delay])."""
    return np.array([(*edge, TRIGGER_DELAY)[:4] for edge in edges], EDGES)


def make_model(rng: random.Random, fabric: Fabric, workload: Workload, **more: Any) -> Model:
    """Random attributes, two kinds of NIC and two kinds of switch."""
    rates = fabric.links["rate_bps"]
    routes = build_routes(fabric)
    nic_rows, chosen, seen = [], [], {}
    kinds = [random_nic(rng), random_nic(rng)]
    for host in range(fabric.hosts):
        key = (rng.randrange(2), int(rates[routes.up_link[host]]))
        if key not in seen:
            seen[key] = len(nic_rows)
            nic_rows.append(nic_row(kinds[key[0]], key[1]))
        chosen.append(seen[key])
    trimming = rng.random() < 0.6
    switches = [switch_row(random_switch(rng, trimming)) for _ in range(2)]
    count = len(fabric.nodes) - fabric.hosts
    return Model(fabric, routes, number_messages(workload), np.concatenate(nic_rows), np.array(chosen, "i4"),
                 np.concatenate(switches), np.array([rng.randrange(2) for _ in range(count)], "i4"),
                 seed=rng.randrange(1000), start_ps=rng.choice([0, 1_000_000]),
                 trigger_delay_ps=rng.choice([1, 1_000, 100_000]), **more)


def random_nic(rng: random.Random) -> Nic:
    return Nic.model_validate({"TransportProcessingLayers": {
        "ScalaUETPdsManager": {
            "TrimmingEnabled": rng.random() < 0.7, "UseDistinctDSCPForRetransmits": rng.random() < 0.5,
            "PDCGroupsEnabled": rng.random() < 0.7, "AckRequestEveryNthPacket": rng.choice([1, 1, 2, 8]),
            "AckRequestFirstPacket": rng.random() < 0.5, "AckRequestLastPacket": True,
            "InitialRetransmitTimeout": rng.choice(["5us", "20us", "150us"]),
            "MaxExponentialRTOBackoffCount": rng.choice([0, 2, 5]),
            "FixedRexmitTimeEnable": rng.random() < 0.3, "FixedRexmitTimeout": "30us"},
        "PacketSpraying": {"DefaultPacketSpraying": {"EntropyMaskBits": rng.choice([0, 3, 7])}},
        "SemanticLayer": {"RdmaDataMSS": rng.choice([1000, 4096, 4096])},
        "ScalaUETCongestionControl": {
            "PassThrough": rng.random() < 0.1, "NSCCEnable": rng.random() < 0.9,
            "DelayAlpha": rng.choice([0.25, 0.0125]),
            "InitialBaseRTT": rng.choice(["6us", "2us", "30us"]), "QuickAdaptThreshold": rng.choice(["1us", "24us"])}}})


def random_switch(rng: random.Random, trimming: bool) -> Switch:
    return Switch.model_validate({
        "PacketTrimmer": {"TrimmingEnabled": trimming},
        "SharedBufferManager": {"UETPolicyEnabled": True, "EnablePFC": [0] * 8,
                                "PlaneBDP": rng.choice(["9KB", "20KB", "300KB"]),
                                "QueueDropThreshold": rng.choice([1, 2])},
        "EcnHandler": {"EwmaWeight": rng.choice([0.1, 1.0]), "MinThreshold": rng.choice([0.1, 0.2]),
                       "MaxMarkProbability": rng.choice([0.3, 1.0])}})


def random_model(seed: int, flows: int = 14) -> Model:
    """A small random simulation; the same for the same seed."""
    rng = random.Random(seed)
    fabric = make_fabric(rng, rng.choice([1, 2, 3]), rng.choice([2, 3, 4]), rng.choice([1, 2, 3]))
    return make_model(rng, fabric, make_workload(rng, fabric.hosts, rng.choice([3, flows, flows])))


# ---- models with every feature --------------------------------------------------------------------------------------
RECORDED = SimulationParameters(EnableNetworkBufferStatsReporting=True, EnablePCIeStatsLogging=True)
HASHES = ("crc32WithSalt", "crc32WithSalt", "crc32", "hash", "hashWithSalt", "dpr", "dprWithFallback")
SPRAYING = ("Default Packet Spraying", "None", "Recycled Entropy Packet Spraying", "Recycled Entropy Packet Spraying")


def feature_nic(rng: random.Random) -> Nic:
    """A NIC with slow PCIe, small pools, PFC, prefetch, any spraying, any scheduling."""
    base = random_nic(rng).model_dump(mode="json", by_alias=True)
    transport = base["TransportProcessingLayers"]
    mss = transport["SemanticLayer"]["RdmaDataMSS"]
    transport["ScalaUETPdsManager"] |= {
        "PacketSprayingType": rng.choice(SPRAYING), "PrefetchBufferEnable": rng.random() < 0.3,
        "PrefetchBufferSize": rng.choice([4202, 20_000, 262_144]),
        "FailureDetectionRTTMultiplier": rng.choice([0, 1, 3])}
    transport["PacketSpraying"]["RecycledEntropyPacketSpraying"] = {
        "REPSBufferSizeMaskBits": rng.choice([0, 1, 3]), "EntropyValueSetSize": rng.choice([2, 64, 65536]),
        "FreezingTimeout": rng.choice(["1us", "20us", "100us"])}
    transport["ScalaUETCongestionControl"] |= {
        "RestoreCWindEnable": rng.random() < 0.5, "ReceiverCongestionLowThreshold": rng.choice([1.0, 25.0]),
        "ReceiverCongestionHighThreshold": rng.choice([25.0, 75.0])}
    ingress, egress = rng.choice([24_000, 100_000, 4_000_000]), rng.choice([10_000, 30_000, 256_000])
    pfc = rng.choice([[0, 0], [1, 0], [1, 1]])
    base["EnableEventLogging"] = base["EnableBufferStats"] = True
    transport["ScalaUETMonitor"]["EnableUETMonitor"] = True
    network = base["NetworkInterface"]
    network["IngressBufferManager"] |= {
        "TotalBufferSize": f"{ingress}B", "PFCEnableVector": [*pfc, 0, 0, 0, 0, 0, 0],
        "PfcStaticXoffThreshold": [rng.choice([0.3, 0.6, 0.8]), 0.8, 0, 0, 0, 0, 0, 0],
        "PfcXonResumeThreshold": [rng.choice([0.1, 0.4]), 0.4, 0, 0, 0, 0, 0, 0],
        "QuantaValue": [rng.choice([100, 2000, 65535]), 300, 0, 0, 0, 0, 0, 0]}
    network["EgressBufferManager"] |= {
        "TotalBufferSize": f"{max(egress, 2 * mss)}B", "WRRQueueWeights": [rng.choice([1, 2]), 3, 0, 0, 0, 0, 0, 0],
        "QueueSchedulingType": rng.choice(["StrictPriority", "RoundRobin", "WeightedRoundRobin"])}
    for side, layer, interface in (("NICSide", "NicDeviceLayer", "NicPCIeInterface"),
                                   ("HostSide", "ScalaHostPCIeDeviceLayer", "HostPCIeInterface")):
        pcie = base["HostInterface"][side]["PCIeGen3.0"][layer][interface]
        pcie["PhysicalLayer"]["LaneCount"] = rng.choice([16, 13, 8, 2])
        pcie["TransactionLayer"] |= {"TXHeaderBufferSize": rng.choice(["272B", "1KB", "16KB"]),
                                     "TXDataBufferSize": rng.choice(["4096B", "16KB", "256KB"]),
                                     "RXDataBufferSize": rng.choice(["512B", "256KB"])}
    return Nic.model_validate(base)


def feature_switch(rng: random.Random, policy: bool, trimming: bool) -> Switch:
    """A switch whose pools are small enough to bind, with or without PFC, any hash, sometimes flowlets."""
    lossless = [0, 0] if policy else rng.choice([[0, 0], [1, 0], [1, 1]])
    method = rng.choice(HASHES)
    flowlet = not method.startswith("dpr") and rng.random() < 0.25
    return Switch.model_validate({
        "EcmpHashMethod": method, "LoadBalancingMethod": "flowlet" if flowlet else "none",
        "LoadBalancingFlowlet": {"Gap": rng.choice(["0s", "200ns", "100us"]), "PFCAware": rng.random() < 0.7},
        "PacketTrimmer": {"TrimmingEnabled": policy and trimming},
        "SharedBufferManager": {
            "UETPolicyEnabled": policy, "EnablePFC": [*lossless, 0, 0, 0, 0, 0, 0],
            "TotalSharedBufferSize": rng.choice(["200KB", "400KB", "2MB"]), "HeadRoomPerPortLimit": "20KB",
            "StaticPoolXoffThreshold": rng.choice(["1KB", "9KB", "20KB"]),
            "StaticPoolXonThreshold": rng.choice(["0B", "5KB"]),
            "LossyAlpha": rng.choice([0.0, 0.1, 1.0]), "QueueDropThresholdEnable": rng.random() < 0.5,
            "PlaneBDP": rng.choice(["9KB", "20KB"]), "QueueDropThreshold": rng.choice([1, 2])},
        "EcnHandler": {"MinThreshold": rng.choice([0.0, 0.01, 0.2]), "MaxThreshold": 0.8, "MaxMarkProbability": 0.5}})


def random_feature_model(seed: int, flows: int = 16) -> Model:
    """A small random simulation with all that issue 3 of the model adds; the same for the same seed."""
    rng = random.Random(seed + 7_000_000)
    fabric = make_fabric(rng, rng.choice([1, 2, 3]), rng.choice([2, 3]), rng.choice([1, 2, 3]),
                         delays=[1_000, 100_000, 100_000, 1_000_000])
    plain = make_model(rng, fabric, make_workload(rng, fabric.hosts, flows))
    kinds, rates = [feature_nic(rng), feature_nic(rng)], fabric.links["rate_bps"][plain.routes.up_link]
    nics = [nic_row(kind, int(rate), RECORDED) for kind in kinds for rate in rates]
    policy = rng.random() < 0.4
    recorded = rng.random() < 0.2
    trimming = rng.random() < 0.7
    switches = [feature_switch(rng, policy, trimming) for _ in range(2)]
    count = len(fabric.nodes) - fabric.hosts
    chosen = np.array([rng.randrange(2) for _ in range(count)], "i4")
    ports = np.bincount(fabric.links["src"], minlength=len(fabric.nodes))[fabric.hosts:]
    rows = [buffer_rows(switches[k], int(n)) for k, n in zip(chosen, ports, strict=True)]
    needed = [needs_shared(switches[k], int(n), recorded) or switches[k].LoadBalancingMethod == "flowlet"
              for k, n in zip(chosen, ports, strict=True)]
    watch = np.zeros(1, t.WATCH)
    watch["everything"] = 1
    hosts, links = fabric.hosts, fabric.links
    inner = np.flatnonzero((links["src"] >= hosts) & (links["dst"] >= hosts))
    failed = np.zeros(len(links), bool)
    if rng.random() < 0.2 and len(inner) > 4:
        failed[[inner[0], links["reverse"][inner[0]]]] = True
    nicpar, swpar = np.concatenate(nics), np.concatenate([switch_row(kind, recorded) for kind in switches])
    pauses = bool(nicpar["pfc_0"].any() or swpar["pfc_0"].any())      # then every switch must take PFC frames
    return Model(fabric, plain.routes, plain.messages, nicpar,
                 np.array([rng.randrange(2) * hosts + h for h in range(hosts)], "i4"),
                 swpar, chosen, seed=plain.seed,
                 start_ps=plain.start_ps, trigger_delay_ps=plain.trigger_delay_ps,
                 shared=np.array(needed, bool) | pauses | (rng.random() < 0.5), buffers=np.array(rows), failed=failed,
                 watch=watch)


def with_faults(model: Model, seed: int) -> Model:
    """The model with links that lose frames, and links, switches and NICs that are down for a while."""
    rng = random.Random(seed + 9_000_000)
    links, kind = model.fabric.links, model.fabric.nodes["kind"]
    keep = np.ones(len(links))
    bits = np.full(len(links), -1, "i4")
    for link in range(len(links)):
        if rng.random() < 0.5:
            keep[link] = 1 - rng.choice([0.0, 0.001, 0.02])
            bits[link] = rng.choice([-1, 0, 1])
    down, routed = [], []
    for _ in range(rng.randint(0, 4)):
        node = rng.randrange(len(kind))
        of_node = np.flatnonzero((links["src"] == node) | (links["dst"] == node))
        if rng.random() < 0.6:
            link = rng.choice(of_node.tolist())
            of_node = np.array([link, links["reverse"][link]])
        begin = model.start_ps + rng.choice([0, 1, 5_000_000, rng.randrange(100_000_000)])
        end = begin + rng.choice([1, 100_000, 20_000_000, 150_000_000])
        detection = rng.choice([0, 1_000, 5_000_000, 30_000_000])
        down += [(link, begin, end) for link in of_node.tolist()]
        routed += [(link, begin + detection, end + detection) for link in of_node.tolist()]
    plan = FaultPlan(keep, bits, np.array([survival_of(1e-7), survival_of(2e-6)]), merged(np.array(down, INTERVALS)),
                     merged(np.array(routed, INTERVALS)))
    return replace(model, faults=plan)
