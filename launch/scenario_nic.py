"""Scenarios of the receiving NIC and of the senders' windows: slow PCIe, pauses by a NIC, Quick Adapt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenario_kit import (
    LANE_GBPS,
    LANES_B,
    LINK_GBPS,
    NOMINAL_B,
    PACKET_NS,
    PAYLOAD_B,
    WIRE_B,
    Number,
    Panel,
    Result,
    curve,
    exactly,
    first_us,
    incast,
    last_rows,
    leaf_spine,
    of,
    receiver,
    simulate,
    times,
    total,
    transport,
    within,
)

if TYPE_CHECKING:
    import polars as pl

    from distsim.api import Run

POOL_B = 3_600_000
TRIMMED_B = 62
BUFFERED = 16_000 // (8 * 34)          # segments whose headers the NIC's PCIe transmit buffer takes
FIRST_PENALTY_B = 900_000 + 1_800_000 / 127
BUFFERS = {"EnableNetworkBufferStatsReporting": True}


def write_ns(lanes: int) -> float:
    """Time on the lanes of a full payload's write."""
    return LANES_B * 8 / (lanes * LANE_GBPS)


def payload_gbps(lanes: int) -> float:
    """Payload that the lanes carry."""
    return lanes * LANE_GBPS * PAYLOAD_B / LANES_B


def lanes(directory: Path) -> Result:
    """13 against 14 PCIe lanes at the receiver of an incast that fills its 400 Gb/s link.

    A full packet comes every 4,202 * 8 / 400 = 84.04 ns. Its write takes 4,368 * 8 / (14 * 31.52) = 79.19 ns on 14
    lanes: never more than the packet just arriving is in the receive pool (4,184 B), penalty 0, goodput that of the
    link, 389.9 Gb/s. On 13 lanes it takes 85.28 ns, so of every packet 1 - 84.04 / 85.28 = 1.453 % stays behind. First
    58 segments fill the transmit buffer towards the host (16,000 B of headers, 272 B each), then x bytes stand in the
    pool after (x / 4,184 + 58) / 0.01453 * 84.04 ns:

        one packet    4,184 B     0.34 ms    ACKs report service time (8,368 B * 8 / 409.76 = 163 ns, one tick)
        penalty 1     914,173 B   1.60 ms    900,000 + 1,800,000 / 127; its ACK is held 914,173 B / lane rate = 17.8 us
        penalty 127   2,700,000 B 4.07 ms    ACK held 52.7 us
        Xoff          2,880,000 B 4.32 ms    80 %; with PFC on a pause, and no drop
        full          3,600,000 B 5.31 ms    with PFC off a drop for every 84.04 / 0.01453 = 5.78 us

    That is with PassThrough, so that nothing but the lanes, and pauses of the switch, hold two senders back. With NSCC
    12 senders in the rack have windows enough to reach the penalty (2 have not: their windows, 1.5 BDP of the RTT that
    they measure, hold 0.2 MB); each ACK that carries one cuts the window to what is in flight, so the pool turns round
    within the hold (17.8 us, some 3 packets) and the RTT: below 950,000 B. Either way the host gets 13 * 31.52 * 4,096
    / 4,368 = 384.25 Gb/s.
    """
    on, off = [1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]
    runs = {"14 lanes": _slow_host(directory, "lanes-14", 14, off, 2, "50MB", False),
            "13 lanes, NSCC": _slow_host(directory, "lanes-13", 13, off, 12, "11MB", False),
            "13 lanes, no windows, PFC": _slow_host(directory, "lanes-13-pfc", 13, on, 2, "130MB", True),
            "13 lanes, no windows": _slow_host(directory, "lanes-13-drops", 13, off, 2, "140MB", True)}
    pools = {name: _data_pool(run) for name, run in runs.items()}
    senders = {name: _worst_penalty(run) for name, run in runs.items()}
    kept, nscc, paused, dropping = runs
    most = {name: float(last_rows(pool)["max_occupancy_B"][0]) for name, pool in pools.items()}
    pauses = of(runs[paused].frame("ecn-pfc-stats"), component_name="NIC-0")
    lost = pools[dropping].filter(pools[dropping]["overflow"] > 0)
    lost = lost.filter(lost["occupancy_B"] > 3_500_000)
    falling = of(pools[dropping]).filter((pools[dropping]["occupancy_B"] > 900_000))
    numbers = (
        exactly("14 lanes: most in the receive pool (B)", most[kept], NOMINAL_B),
        exactly("14 lanes: greatest penalty", float(str(senders[kept]["penalty"].max())), 0),
        within("14 lanes: goodput (Gb/s)", runs[kept].summary()["receiver_goodput_gbps"],
               LINK_GBPS * PAYLOAD_B / WIRE_B, 0.001),
        within("13 lanes: service time from (us)", first_us(pools[paused], "occupancy_B", NOMINAL_B),
               _reached_us(NOMINAL_B), 0.01, 20),
        within("13 lanes: penalty from (us)", first_us(senders[paused], "penalty", 1),
               _reached_us(FIRST_PENALTY_B) + _hold_us(FIRST_PENALTY_B), 0.01, 20),
        within("13 lanes: full penalty from (us)", first_us(senders[paused], "penalty", 127),
               _reached_us(2_700_000) + _hold_us(2_700_000), 0.01, 20),
        within("13 lanes, PFC: pause at (us)", first_us(pauses, "pfcxoff_tx", 1), _reached_us(2_880_000), 0.01, 20),
        exactly("13 lanes, PFC: packets lost", runs[paused].info["counts"]["dropped"], 0),
        within("13 lanes, no PFC: drops from (us)", first_us(pools[dropping], "overflow", 1), _reached_us(POOL_B),
               0.01, 20),
        within("13 lanes, no PFC: us a drop", _per_drop_us(lost), PACKET_NS / 1000 / _behind(), 0.02),
        within("13 lanes, no PFC: payload to the host (Gb/s)",
               float(str(falling["deq_Gbps"].mean())) * PAYLOAD_B / NOMINAL_B, payload_gbps(13), 0.001),
        Number("13 lanes, NSCC: most in the receive pool (B)", most[nscc], FIRST_PENALTY_B, 950_000),
        exactly("13 lanes, NSCC: packets lost", runs[nscc].info["counts"]["dropped"], 0),
        within("13 lanes, NSCC: goodput (Gb/s)", runs[nscc].summary()["receiver_goodput_gbps"], payload_gbps(13),
               0.003),
    )
    levels = {"penalty from 25 %": 0.9, "full from 75 %": 2.7, "Xoff 80 %": 2.88, "full": 3.6}
    return Result(numbers, (
        Panel("Receive pool of the data class", "MB",
              {name: curve(pool, "occupancy_B", 1e-6) for name, pool in pools.items()}, levels),
        Panel("Greatest receiver penalty in ACKs", "0 to 127",
              {name: curve(rows, "penalty") for name, rows in senders.items()}, {})))


def _slow_host(directory: Path, name: str, count: int, pfc: list[int], senders: int, size: str,
               pass_through: bool) -> Run:
    return simulate(directory, name, fabric=leaf_spine(1, senders + 1, 0),
                    workload=incast(0, range(1, senders + 1), size), SimulationParameters=times(0.01, 20e-6, **BUFFERS),
                    nic={"EnableBufferStats": True,
                         **transport(ScalaUETCongestionControl={"PassThrough": pass_through})},
                    nic_overrides=receiver(count, {"PFCEnableVector": pfc}))


def _behind() -> float:
    """Share of the packets that 13 lanes leave behind."""
    return 1 - PACKET_NS / write_ns(13)


def _reached_us(pool_bytes: float) -> float:
    """When 13 lanes have left so much in the pool."""
    return (pool_bytes / NOMINAL_B + BUFFERED) / _behind() * PACKET_NS / 1000


def _hold_us(pool_bytes: float) -> float:
    """How long an ACK is held for the pool."""
    return pool_bytes * 8 / (13 * LANE_GBPS) / 1000


def _data_pool(run: Run) -> pl.DataFrame:
    """The receiver's rows of its data pool."""
    return of(run.frame("net-buff-stats"), component_name="NIC-0", buffer_id="RX_TC0_BUFFER")


def _worst_penalty(run: Run) -> pl.DataFrame:
    """The greatest penalty that any sender saw in each interval, as column `penalty`."""
    rows = run.frame("uet-transport-stats").filter(run.frame("uet-transport-stats")["component_name"] != "NIC-0")
    return rows.group_by("sim_time_sec").max().rename({"ivl_calc_max_rcvr_cwnd_pen": "penalty"}).sort("sim_time_sec")


def _per_drop_us(rows: pl.DataFrame) -> float:
    """Time from one drop to the next, while the pool is full."""
    if len(rows) < 2:
        return float("inf")
    return float((rows["sim_time_sec"][-1] - rows["sim_time_sec"][0]) * 1e6 / (rows["overflow"][-1]
                                                                               - rows["overflow"][0]))


def nic_pause(directory: Path) -> Result:
    """A NIC with 8 lanes pauses its rack switch, and nothing is lost.

    8 lanes take a write in 4,368 * 8 / 252.16 = 138.58 ns, a packet comes in 84.04 ns, so the port to the NIC must
    stand still for 1 - 84.04 / 138.58 = 39.35 % of the time. The data pool is 0.9 * 200,000 = 180,000 B, Xoff 144,000 B:
    the 35th packet reaches it (35 * 4,184 = 146,440). A pause is at the switch 103 ns later (behind an ACK 1.6 ns, 64 B
    1.3 ns, wire 100 ns); the packets that began until then, 3, still come, while 1 or 2 leave: the pool's peak lies
    between 35 and 38 packets, below the 43 that fit. Xon comes at 72,000 B, 17 packets; 1.6 + 1.3 + 100 + 84 + 100 =
    287 ns pass until the next packet is in, 2 leave: 15. From there to the 35th it takes 20 / (1 / 84.04 - 1 / 138.58)
    = 4.27 us, until the last packet after the pause 0.3 us more; a cycle is 4.5 us / 0.6065 = 7.5 us, give or take one
    packet at each end (0.7 us). The windows (two senders, 0.1 MB each) hold enough to keep the switch busy.
    """
    run = simulate(directory, "nic-pause", fabric=leaf_spine(1, 3, 0), workload=incast(0, (1, 2), "10MB"),
                   SimulationParameters=times(0.01, 1e-6, **BUFFERS), nic={"EnableBufferStats": True},
                   nic_overrides=receiver(8, {"TotalBufferSize": "200KB", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0]},
                                          ScalaUETCongestionControl={"ReceiverCongestionLowThreshold": 99.0,
                                                                     "ReceiverCongestionHighThreshold": 100.0}))
    pool = _data_pool(run)
    frames = run.frame("ecn-pfc-stats")
    sent = of(frames, component_name="NIC-0", priority=0)
    held = of(frames, component_name="RackSwitch-0", priority=0, ifid=0)
    window = held.filter((held["sim_time_sec"] > 40e-6) & (held["sim_time_sec"] < 650e-6))
    steady = pool.filter((pool["sim_time_sec"] > 40e-6) & (pool["sim_time_sec"] < 650e-6))
    length_us = float(window["sim_time_sec"][-1] - window["sim_time_sec"][0]) * 1e6
    pauses = float(window["pfcxoff_rx"][-1] - window["pfcxoff_rx"][0])
    share = float(window["pfc_time_paused_usec"][-1] - window["pfc_time_paused_usec"][0]) / length_us
    numbers = (
        exactly("packets lost", run.info["counts"]["dropped"], 0),
        exactly("messages finished", run.summary()["flows"], 2),
        Number("peak of the pool (packets)", float(str(pool["max_occupancy_B"].max())) / NOMINAL_B, 35, 38),
        within("time that the rack switch is paused (%)", 100 * share, 100 * (1 - PACKET_NS / write_ns(8)), 0.03),
        within("us from pause to pause", length_us / pauses, 7.5, 0.0, 0.7),
        within("payload to the host (Gb/s)", float(str(steady["deq_Gbps"].mean())) * PAYLOAD_B / NOMINAL_B,
               payload_gbps(8), 0.005),
        exactly("pauses received - sent", float(held["pfcxoff_rx"][-1] - sent["pfcxoff_tx"][-1]), 0),
    )
    shown = pool.filter(pool["sim_time_sec"] < 100e-6)
    halts = held.filter(held["sim_time_sec"] < 100e-6)
    return Result(numbers, (
        Panel("Receive pool of NIC-0 (8 lanes)", "KB", {"data class": curve(shown, "occupancy_B", 1e-3)},
              {"Xoff": 144.0, "Xon": 72.0, "full": 180.0}),
        Panel("Rack switch, port to NIC-0", "us paused of each us",
              {"paused": curve(halts, "interval_total_time_xoff_usec")}, {})))


def quick_adapt(directory: Path) -> Result:
    """Quick Adapt after trims: it cuts 16 senders to what they delivered, and leaves 4 alone.

    Cables of 1.2 us make the RTT 5.5 us, so that the base RTT stays 6 us (it would only fall to a sample more than 1.024
    us below). Target 0.75 * 6 = 4.5 us; an observation window lasts 6 + 4.5 = 10.5 us and passes if it delivered
    450,000 / 2**3 = 56,250 B. The receiver's link delivers 10.5 us * 50,000 B/us = 525,000 B of the wire in it, 522,751 B
    as windows count. Of 4 senders each gets 130,688 B: no cut, ever. Of 16 each gets 32,672 B: every sender is cut, to
    exactly 4,184 B for each ACK between the first signal and the first one 10.5 us later, and the 16 windows add up to
    what the link delivered, 522,751 B less the room that trimmed headers took (at most a tenth: 62 B for each of at
    most 107 packets of 16 windows, 0.1 MB, arriving over 20 us).
    """
    few, many = (_trimmed(directory, senders) for senders in (4, 16))
    cuts = [_first_cut(many, sender) for sender in range(1, 17)]
    delivered = sum(acks * WIRE_B + nacks * TRIMMED_B for _, acks, nacks in cuts)
    numbers = (
        exactly("4 senders: Quick Adapt cuts", total(last_rows(few.frame("uet-transport-stats")), "num_quick_adapt"),
                0),
        Number("4 senders: packets trimmed", few.info["counts"]["trimmed"], 1, float("inf")),
        Number("16 senders: Quick Adapt cuts", total(last_rows(many.frame("uet-transport-stats")), "num_quick_adapt"),
               16, float("inf")),
        exactly("16 senders: windows that were cut to what was delivered",
                sum(window == acks * NOMINAL_B for window, acks, _ in cuts), 16),
        within("16 senders: bytes of the wire that the ACKs and NACKs of those 10.5 us stand for", delivered,
               10.5e3 * LINK_GBPS / 8, 0.03),
        exactly("16 senders: packets lost", many.info["counts"]["dropped"], 0),
        exactly("16 senders: timeouts", total(last_rows(many.frame("uet-transport-stats")), "num_rto"), 0),
    )
    return Result(numbers, tuple(
        Panel(f"Congestion windows, {name}", "KB", {f"NIC-{sender}": _window_curve(run, sender) for sender in shown},
              {"gate 56,250 B": 56.25})
        for name, run, shown in (("4 senders", few, range(1, 5)), ("16 senders", many, range(1, 17, 4)))))


def _trimmed(directory: Path, senders: int) -> Run:
    lossy: dict[str, Any] = {"UETPolicyEnabled": True, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}
    return simulate(directory, f"quick-adapt-{senders}", fabric=leaf_spine(senders + 1, 1, 4),
                    workload=incast(0, range(1, senders + 1), "1MB"), SimulationParameters=times(0.01, 20e-6),
                    nic=transport(ScalaUETPdsManager={"TrimmingEnabled": True},
                                  ScalaUETMonitor={"EnableUETMonitor": True}),
                    switch={"NetworkInterface": {"TransmissionMedium": {"Delay": "1200ns"}},
                            "PacketTrimmer": {"TrimmingEnabled": True}, "SharedBufferManager": lossy})


def _answers(run: Run, sender: int) -> pl.DataFrame:
    """What a sender received: data ACKs, the answer to its probe (without an RTT), NACKs."""
    rows = run.frame("uet-monitor")
    return rows.filter((rows["FEP_ID"] == sender) & (rows["direction"] == "Rx")).sort("sim_time_ns")


def _first_cut(run: Run, sender: int) -> tuple[float, int, int]:
    """The window after the end of the first observation window, the ACKs of data and the NACKs that came in it."""
    rows = _answers(run, sender)
    acks = rows.filter(rows["packet_type"] == "ACK_CC")
    opened = rows["sim_time_ns"][0]
    signals = rows.filter((rows["packet_type"] == "NACK") | rows["RTT_ns"].is_not_null())["sim_time_ns"]
    ended = signals.filter(signals >= opened + 10_500)[0]
    during = rows.filter((rows["sim_time_ns"] > opened) & (rows["sim_time_ns"] <= ended))
    after = acks.filter(acks["sim_time_ns"] >= ended)["congestion_window"][0]
    return float(after), len(during.filter(during["RTT_ns"].is_not_null())), int((during["packet_type"] == "NACK").sum())


def _window_curve(run: Run, sender: int) -> tuple[list[float], list[float]]:
    rows = _answers(run, sender)
    rows = rows.filter(rows["congestion_window"].is_not_null())
    return [time / 1e3 for time in rows["sim_time_ns"]], [window / 1e3 for window in rows["congestion_window"]]
