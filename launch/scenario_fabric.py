"""Scenarios of the fabric: a lossless incast, a failed spine link, flows that collide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenario_kit import (
    HEADERS_B,
    LINK_GBPS,
    PAYLOAD_B,
    Curve,
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
    """15:1 incasts with classes 0 and 1 lossless and a low Xoff: all complete, nothing is lost.

    15 messages of 300,000 B (74 packets, 307,844 B of the wire) take 92.35 us of NIC-0's link. It never idles between
    the first packet and the last one, so the incast ends within 3 us more (doorbell and fetch 0.1 us, the way of the
    first packet from the rack 0.4 us, of the last ACK 1.3 us). Two spines for racks of four, and Xoff at 40 KB (ten
    packets), let pauses travel from rack 0 over the spines to the other racks and their NICs. With an all-to-all of
    100,000 B at the same time pauses run in all directions, and packets to NIC-0 and to others wait for each other.
    Packets go up and then down, so no buffer waits for itself: no deadlock, every message completes, and when all is
    drained each pause has been ended by an XON. NIC-0 then is sent 15 * 102,650 B more, at least 123.15 us.
    """
    sources = incast(0, range(1, 16), "300KB")
    alone = _lossless(directory, "lossless-incast", sources)
    mixed = _lossless(directory, "lossless-mixed", {
        "kind": "several", "parts": [sources, {"kind": "all-to-all", "mode": "parallel", "size": "100KB"}]})
    once, twice = 15 * wire_us(300_000), 15 * (wire_us(300_000) + wire_us(100_000))
    numbers = (
        Number("incast: last message (us)", alone.summary()["max_us"], once, once + 3),
        *_nothing_lost("incast", alone, 15),
        Number("with all-to-all: last message into NIC-0 (us)", _last_into_0(mixed), twice, float("inf")),
        *_nothing_lost("with all-to-all", mixed, 15 + 16 * 15),
    )
    frames = alone.frame("ecn-pfc-stats")
    held = {name: _summed(of(frames, tier=tier), "interval_total_time_xoff_usec") for name, tier in TIERS.items()}
    rates = {name: curve(of(run.frame("nd-stats"), component_name="NIC-0"), "rx_rate_Gbps")
             for name, run in (("incast", alone), ("with all-to-all", mixed))}
    return Result(numbers, (
        Panel("Ports of a tier that PFC holds, incast", "mean number in 2 us",
              {name: curve(rows, "interval_total_time_xoff_usec", 0.5) for name, rows in held.items()}, {}),
        Panel("Link into NIC-0", "Gb/s", rates, {"link": LINK_GBPS})))


def _lossless(directory: Path, name: str, workload: dict[str, Any]) -> Run:
    shared = {"EnablePFC": [1, 1, 0, 0, 0, 0, 0, 0], "StaticPoolXoffThreshold": "40KB",
              "StaticPoolXonThreshold": "20KB"}
    return simulate(directory, name, fabric=leaf_spine(4, 4, 2), workload=workload,
                    SimulationParameters=times(0.01, 2e-6), switch={"SharedBufferManager": shared})


def _nothing_lost(name: str, run: Run, messages: int) -> tuple[Number, ...]:
    """All messages done without a loss, with pauses at every tier, each ended."""
    end = last_rows(run.frame("ecn-pfc-stats"))
    return (
        exactly(f"{name}: messages finished", run.summary()["flows"], messages),
        exactly(f"{name}: packets lost", run.info["counts"]["dropped"], 0),
        exactly(f"{name}: timeouts", total(last_rows(run.frame("uet-transport-stats")), "num_rto"), 0),
        *(Number(f"{name}: pauses that {tier} ports took", total(of(end, tier=number), "pfcxoff_rx"), 1, float("inf"))
          for tier, number in TIERS.items()),
        exactly(f"{name}: pauses - XON frames", total(end, "pfcxoff_tx") - total(end, "pfcxon_tx"), 0))


def _last_into_0(run: Run) -> float:
    rows = run.frame("perf")
    rows = rows.filter(rows["metric_path"].str.ends_with(">NIC-0"))
    return float(str(rows["sim_time_sec"].max())) * 1e6


def _summed(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """A column summed over the rows of each report."""
    return rows.select("sim_time_sec", column).group_by("sim_time_sec").sum().sort("sim_time_sec")


def failed_link(directory: Path) -> Result:
    """One of a rack's eight spine links loses everything: REPS recovers, Default spraying does not.

    Four NICs of rack 0 send 16 MB (3,907 packets) each to rack 1; seven good links (2.8 Tb/s) are enough for them, so
    without losses a message takes 16,414,142 B of the wire, 328.3 us. Packets that take the failed link time out after
    150, then 300, 600, ... us. Default Packet Spraying puts an eighth of all packets there whatever happens, of the
    retransmissions too: 15,628 / 8 / (1 - 1 / 8) = 2,233 of these, give or take three times 261 (each of four groups
    has 128 values, of which 16 +- 3.7 hash to the failed link), and of 15,628 packets some 15,628 / 8**3 = 31 are lost
    three times over, so that the last message takes 150 + 300 + 600 = 1,050 us or more. REPS loses an eighth of its
    first windows (4 * 107 / 8 = 54), sees 18 us later that they failed, and from then on repeats values that came back,
    in retransmissions too. Only exploring (9 of 71 packets, once after 100 us) may lose another one or two; their 150
    us at the end make it 328.3 + 150 us at most, and no more than 54 + 3 * 7 packets (three standard deviations) are
    sent again. So REPS is at least 1,050 / 478 = 2.2 times as fast. Without the failed link both take the same.
    """
    runs = {(kind, broken): _spread(directory, kind, broken) for kind in (DEFAULT, REPS) for broken in (False, True)}
    last = {key: run.summary()["max_us"] for key, run in runs.items()}
    again = {key: total(last_rows(run.frame("uet-transport-stats")), "num_rtx") for key, run in runs.items()}
    clean_us = wire_us(16_000_000)
    numbers = (
        *(within(f"{kind}, all links: last message (us)", last[kind, False], clean_us, 0.03)
          for kind in (DEFAULT, REPS)),
        Number(f"{REPS}, failed link: last message (us)", last[REPS, True], clean_us, clean_us + 150),
        Number(f"{DEFAULT}, failed link: last message (us)", last[DEFAULT, True], 1050, float("inf")),
        Number("Default over REPS", last[DEFAULT, True] / last[REPS, True], 1050 / (clean_us + 150), float("inf")),
        Number(f"{REPS}: packets sent again", again[REPS, True], 54 - 3 * 7, 54 + 3 * 7),
        Number(f"{DEFAULT}: packets sent again", again[DEFAULT, True], 2233 - 3 * 261, 2233 + 3 * 261),
    )
    return Result(numbers, (
        Panel("Rack 1 receives, with the failed link", "Gb/s, mean of 4 NICs",
              {kind: _received(runs[kind, True]) for kind in (DEFAULT, REPS)}, {"link": LINK_GBPS}),
        Panel("Timeouts so far, with the failed link", "packets",
              {kind: _timeouts(runs[kind, True]) for kind in (DEFAULT, REPS)}, {})))


def _spread(directory: Path, kind: str, broken: bool) -> Run:
    return simulate(directory, f"failed-link-{'reps' if kind == REPS else 'default'}-{'broken' if broken else 'whole'}",
                    fabric=leaf_spine(2, 4, 8),
                    workload={"kind": "flows", "flows": [{"from": n, "to": 4 + n, "size": "16MB"} for n in range(4)]},
                    SimulationParameters=times(0.05, 20e-6, FailedLinks=["RackSwitch-0--SpineSwitch-1"] * broken),
                    nic=transport(ScalaUETPdsManager={"PacketSprayingType": kind}))


def _received(run: Run) -> Curve:
    """Mean rate into the NICs of rack 1 over the first 1.2 ms."""
    rows = run.frame("nd-stats")
    rows = rows.filter((rows["tier"] == 3) & (rows["node_id"] >= 4) & (rows["sim_time_sec"] < 1.2e-3))
    return curve(_summed(rows, "rx_rate_Gbps"), "rx_rate_Gbps", 0.25)


def _timeouts(run: Run) -> Curve:
    return curve(_summed(run.frame("uet-transport-stats"), "num_rto"), "num_rto")


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


def _by_port(rows: pl.DataFrame) -> dict[str, Curve]:
    return {f"port {port}": curve(of(rows, ifid=port), "tx_rate_Gbps") for port in sorted(set(rows["ifid"]))}


def _pair(directory: Path, method: str) -> Run:
    return simulate(directory, f"flowlets-{method}", fabric=leaf_spine(2, 8, 2),
                    workload={"kind": "flows", "flows": [{"from": 0, "to": 8, "size": "2MB"},
                                                         {"from": 1, "to": 9, "size": "2MB"}]},
                    SimulationParameters=times(0.01, 2e-6),
                    nic=transport(ScalaUETPdsManager={"PacketSprayingType": "None"}),
                    switch={"LoadBalancingMethod": method})
