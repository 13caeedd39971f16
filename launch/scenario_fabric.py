"""Scenarios of the fabric: a lossless incast, a failed spine link, flows that collide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scenario_kit import (
    HEADERS_B,
    LINK_GBPS,
    PAYLOAD_B,
    Number,
    Panel,
    Result,
    curve,
    exactly,
    incast,
    last_rows,
    leaf_spine,
    of,
    simulate,
    times,
    total,
    transport,
    within,
)

if TYPE_CHECKING:
    import polars as pl

    from distsim.api import Run

TIERS = {"spine": 0, "rack": 2, "NIC": 3}
DEFAULT, REPS = "Default Packet Spraying", "Recycled Entropy Packet Spraying"


def wire_us(message_bytes: int) -> float:
    """Time of a message on a link: payload and 106 B a packet."""
    packets = -(-message_bytes // PAYLOAD_B)
    return (message_bytes + packets * HEADERS_B) * 8 / LINK_GBPS / 1000


def lossless_incast(directory: Path) -> Result:
    """15:1 incast over an all-to-all, classes 0 and 1 lossless, Xoff at ten packets: all complete, nothing is lost.

    NIC-0 is sent 15 messages of 300,000 B (74 packets, 307,844 B of the wire) and 15 of 100,000 B (25 packets, 102,650
    B), 6,157,410 B in all: 123.15 us at 400 Gb/s, and its link should hardly idle, so the last message ends at most a
    tenth later. Two spines for racks of four make the all-to-all wait as well. Xoff of 40 KB lets pauses travel from rack
    0 over the spines to the other racks and their NICs. Packets go up and then down, so no buffer waits for itself: no
    deadlock, and when all is drained every pause has been ended by an XON.
    """
    shared = {"EnablePFC": [1, 1, 0, 0, 0, 0, 0, 0], "StaticPoolXoffThreshold": "40KB",
              "StaticPoolXonThreshold": "20KB"}
    run = simulate(directory, "lossless-incast", fabric=leaf_spine(4, 4, 2),
                   workload={"kind": "several", "parts": [incast(0, range(1, 16), "300KB"),
                                                          {"kind": "all-to-all", "mode": "parallel", "size": "100KB"}]},
                   SimulationParameters=times(0.01, 2e-6), switch={"SharedBufferManager": shared})
    frames = run.frame("ecn-pfc-stats")
    end = last_rows(frames)
    arrived = 15 * (wire_us(300_000) + wire_us(100_000))
    into_0 = of(run.frame("perf"))
    into_0 = into_0.filter(into_0["metric_path"].str.ends_with(">NIC-0"))
    numbers = (
        exactly("messages finished", run.summary()["flows"], 15 + 16 * 15),
        exactly("packets lost", run.info["counts"]["dropped"], 0),
        exactly("timeouts", total(last_rows(run.frame("uet-transport-stats")), "num_rto"), 0),
        Number("last message into NIC-0 (us)", float(str(into_0["sim_time_sec"].max())) * 1e6, arrived, 1.1 * arrived),
        *(Number(f"pauses that {name} ports took", total(of(end, tier=tier), "pfcxoff_rx"), 1, float("inf"))
          for name, tier in TIERS.items()),
        exactly("pauses - XON frames", total(end, "pfcxoff_tx") - total(end, "pfcxon_tx"), 0),
    )
    link = of(run.frame("nd-stats"), component_name="NIC-0")
    held = {name: _summed(of(frames, tier=tier), "interval_total_time_xoff_usec") for name, tier in TIERS.items()}
    return Result(numbers, (
        Panel("Ports of a tier that PFC holds", "mean number in 2 us",
              {name: curve(rows, "interval_total_time_xoff_usec", 0.5) for name, rows in held.items()}, {}),
        Panel("Link into NIC-0", "Gb/s", {"received": curve(link, "rx_rate_Gbps")}, {"link": LINK_GBPS})))


def _summed(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """A column summed over the rows of each report."""
    return rows.select("sim_time_sec", column).group_by("sim_time_sec").sum().sort("sim_time_sec")


def failed_link(directory: Path) -> Result:
    """One of a rack's eight spine links loses everything: Recycled Entropy Packet Spraying recovers, Default does not.

    Four NICs of rack 0 send 16 MB (3,907 packets) each to rack 1; seven good links (2.8 Tb/s) are enough for them, so
    without losses a message takes 16,414,142 B of the wire, 328.3 us. Packets that take the failed link time out after
    150, then 300, 600, ... us. Default Packet Spraying puts an eighth of all packets there whatever happens, of the
    retransmissions too: 15,628 / 8 / (1 - 1 / 8) = 2,233 retransmissions at least, and of 15,628 packets some 15,628 /
    8**3 = 31 are lost three times over, so that the last message takes 150 + 300 + 600 = 1,050 us or more. REPS loses an
    eighth of its first windows (4 * 107 / 8 = 54), sees 18 us later that they failed, and from then on repeats values
    that came back, retransmissions included: after the 150 us timeout it is done in about 328.3 + 150 us, and no more
    than 54 + 3 * 7 packets (three standard deviations) are sent again. So REPS is at least 1,050 / 478 = 2.2 times
    as fast. Without the failed link both take the same.
    """
    runs = {(kind, broken): _spread(directory, kind, broken) for kind in (DEFAULT, REPS) for broken in (False, True)}
    last = {key: run.summary()["max_us"] for key, run in runs.items()}
    again = {key: total(last_rows(run.frame("uet-transport-stats")), "num_rtx") for key, run in runs.items()}
    clean_us = wire_us(16_000_000)
    numbers = (
        *(within(f"{kind}, all links: last message (us)", last[kind, False], clean_us, 0.03) for kind in (DEFAULT, REPS)),
        Number(f"{REPS}, failed link: last message (us)", last[REPS, True], clean_us, clean_us + 150),
        Number(f"{DEFAULT}, failed link: last message (us)", last[DEFAULT, True], 1050, float("inf")),
        Number("Default over REPS", last[DEFAULT, True] / last[REPS, True], 1050 / (clean_us + 150), float("inf")),
        Number(f"{REPS}: packets sent again", again[REPS, True], 54 - 3 * 7, 54 + 3 * 7),
        Number(f"{DEFAULT}: packets sent again", again[DEFAULT, True], 2233 - 3 * 261,
               2233 + 3 * 261),
    )
    return Result(numbers, (
        Panel("Rack 1 receives, with the failed link", "Gb/s, mean of 4 NICs",
              {kind: _received(runs[kind, True]) for kind in (DEFAULT, REPS)}, {"link": LINK_GBPS}),))


def _spread(directory: Path, kind: str, broken: bool) -> Run:
    return simulate(directory, f"failed-link-{'reps' if kind == REPS else 'default'}-{'broken' if broken else 'whole'}",
                    fabric=leaf_spine(2, 4, 8),
                    workload={"kind": "flows", "flows": [{"from": n, "to": 4 + n, "size": "16MB"} for n in range(4)]},
                    SimulationParameters=times(0.05, 20e-6, FailedLinks=["RackSwitch-0--SpineSwitch-1"] * broken),
                    nic=transport(ScalaUETPdsManager={"PacketSprayingType": kind}))


def _received(run: Run) -> tuple[list[float], list[float]]:
    """Mean rate into the NICs of rack 1 over the first 1.2 ms."""
    rows = run.frame("nd-stats")
    rows = rows.filter((rows["tier"] == 3) & (rows["node_id"] >= 4) & (rows["sim_time_sec"] < 1.2e-3))
    points = curve(_summed(rows, "rx_rate_Gbps"), "rx_rate_Gbps", 0.25)
    return list(points[0]), list(points[1])


def flowlets(directory: Path) -> Result:
    """Two flows whose hashes choose the same of two spines: load balancing by flowlet puts each on a spine of its own.

    Spraying None gives a group one entropy value, so `none` (hash modulo 2) sends all of a flow the same way; the pair
    of receivers is chosen so that the two collide. A message of 2,000,000 B is 489 packets and 2,051,834 B of the wire,
    41.04 us. Side by side both end after 41.04 us + c, where c is the way of the last packet and its ACK; on one link
    after 2 * 41.04 us + c. So the difference is 41.04 us (give or take a packet, 0.08 us) and, with c below 3 us (four
    links there and back 2.4 us, three serializations 0.25 us, fetch and doorbell 0.09 us), the ratio 1.93 or more.
    """
    runs = {method: _pair(directory, method) for method in ("none", "flowlet")}
    last = {method: run.summary()["max_us"] for method, run in runs.items()}
    ports = {method: of(run.frame("nd-stats"), component_name="RackSwitch-0", uldl="ul")
             for method, run in runs.items()}
    used = {method: [float(count) for count in last_rows(rows)["total_packets_tx"]] for method, rows in ports.items()}
    one = wire_us(2_000_000)
    numbers = (
        exactly("none: packets on the idle uplink", min(used["none"]), 0),
        exactly("flowlet: packets on one uplink - on the other", used["flowlet"][0] - used["flowlet"][1], 0),
        Number("flowlet: last message (us)", last["flowlet"], one, one + 3),
        within("none - flowlet (us)", last["none"] - last["flowlet"], one, 0, 0.1),
        Number("none over flowlet", last["none"] / last["flowlet"], (2 * one + 3) / (one + 3), 2),
    )
    return Result(numbers, tuple(
        Panel(f"Uplinks of rack 0, {method}", "Gb/s", _by_port(ports[method]), {"link": LINK_GBPS})
        for method in runs))


def _by_port(rows: pl.DataFrame) -> dict[str, tuple[list[float], list[float]]]:
    found = {}
    for port in sorted(set(rows["ifid"])):
        points = curve(of(rows, ifid=port), "tx_rate_Gbps")
        found[f"port {port}"] = (list(points[0]), list(points[1]))
    return found


def _pair(directory: Path, method: str) -> Run:
    return simulate(directory, f"flowlets-{method}", fabric=leaf_spine(2, 8, 2),
                    workload={"kind": "flows", "flows": [{"from": 0, "to": 8, "size": "2MB"},
                                                         {"from": 1, "to": 9, "size": "2MB"}]},
                    SimulationParameters=times(0.01, 2e-6),
                    nic=transport(ScalaUETPdsManager={"PacketSprayingType": "None"}),
                    switch={"LoadBalancingMethod": method})
