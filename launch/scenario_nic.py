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
    their windows fall to 1.5 BDP of the RTT that a probe measures in the rack, 0.40 to 0.49 us, plus 1.024 us: 107 to
    114 KB, at most 27 packets each. 54 packets, less those on the wires, are all that the pool ever holds, and there is
    no penalty. 12 senders have windows enough to reach it; each ACK that carries one cuts the window to what is in
    flight, so the pool turns round within the hold (17.8 us, some 3 packets) and the RTT: below 950,000 B. In all cases
    the host gets 13 * 31.52 * 4,096 / 4,368 = 384.25 Gb/s.
    """
    on, off = [1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]
    runs = {"14 lanes": _slow_host(directory, "lanes-14", 14, off, 2, "50MB", False),
            "13 lanes, NSCC, 2 senders": _slow_host(directory, "lanes-13-pair", 13, off, 2, "50MB", False),
            "13 lanes, NSCC, 12 senders": _slow_host(directory, "lanes-13", 13, off, 12, "11MB", False),
            "13 lanes, no windows, PFC": _slow_host(directory, "lanes-13-pfc", 13, on, 2, "130MB", True),
            "13 lanes, no windows": _slow_host(directory, "lanes-13-drops", 13, off, 2, "140MB", True)}
    pools = {name: _data_pool(run) for name, run in runs.items()}
    senders = {name: _worst_penalty(run) for name, run in runs.items()}
    kept, pair, nscc, paused, dropping = runs
    most = {name: float(last_rows(pool)["max_occupancy_B"][0]) for name, pool in pools.items()}
    pauses = of(runs[paused].frame("ecn-pfc-stats"), component_name="NIC-0")
    lost = pools[dropping].filter(pools[dropping]["overflow"] > 0)
    lost = lost.filter(lost["occupancy_B"] > 3_500_000)
    falling = of(pools[dropping]).filter(pools[dropping]["occupancy_B"] > 900_000)
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
        Number("13 lanes, NSCC, 2 senders: most in the receive pool (B)", most[pair], 44 * NOMINAL_B, 54 * NOMINAL_B),
        exactly("13 lanes, NSCC, 2 senders: greatest penalty", float(str(senders[pair]["penalty"].max())), 0),
        Number("13 lanes, NSCC, 12 senders: most in the receive pool (B)", most[nscc], FIRST_PENALTY_B, 950_000),
        exactly("13 lanes, NSCC, 12 senders: packets lost", runs[nscc].info["counts"]["dropped"], 0),
        within("13 lanes, NSCC, 12 senders: goodput (Gb/s)", runs[nscc].summary()["receiver_goodput_gbps"],
               payload_gbps(13), 0.003),
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

    8 lanes take a write in 4,368 * 8 / 252.16 = 138.58 ns; a packet comes in 84.04 ns. The data pool is 0.9 * 200,000 =
    180,000 B, 43 packets; Xoff is 144,000 B, reached with the 35th, Xon 72,000 B, reached with 17. A frame takes 101 ns
    to the switch (64 B and the wire), a packet 184 ns from there. A cycle, from XON on:

        0.285 us          the first packet is in the pool, 2 have left meanwhile: 16
        + 46 * 84.04 ns   4.151 us: 47 have come, 29 left: the 35th is in the pool, a pause goes out
        + 0.252 us        3 that the switch had begun until the frame came are in, 2 left: 36, the peak
        + 2.525 us        19 leave (the next after 31 ns, 18 more): 17, XON

    6.93 us and 50 packets, 50 * 138.58 ns. The switch is paused for all of it but 4.15 us, 40.1 %; the host gets 8 *
    31.52 * 4,096 / 4,368 = 236.46 Gb/s. The windows (two senders, 0.1 MB each) hold enough to keep the switch busy, and
    the thresholds of the receiver penalty are set above what the pool comes to.
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
    steady = pool.filter((pool["sim_time_sec"] > 40e-6) & (pool["sim_time_sec"] < 650e-6))
    cycles, length_us, paused_us = _whole_cycles(held.filter(held["sim_time_sec"] < 650e-6))
    numbers = (
        exactly("packets lost", run.info["counts"]["dropped"], 0),
        exactly("messages finished", run.summary()["flows"], 2),
        exactly("peak of the pool (packets)", float(str(pool["max_occupancy_B"].max())) / NOMINAL_B, 36),
        within("us from pause to pause", length_us / cycles, 50 * write_ns(8) / 1000, 0.01),
        within("time that the rack switch is paused (%)", 100 * paused_us / length_us, 40.1, 0.01),
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


def _whole_cycles(rows: pl.DataFrame) -> tuple[int, float, float]:
    """Pauses from the first to the last one of a port's rows: number, time between them, time paused (us)."""
    begun = rows.filter(rows["pfcxoff_rx"].diff() > 0)

    def grown(column: str) -> float:
        return float(begun[column][-1] - begun[column][0])

    return int(grown("pfcxoff_rx")), grown("sim_time_sec") * 1e6, grown("pfc_time_paused_usec")


def quick_adapt(directory: Path) -> Result:
    """Quick Adapt after trims: it cuts 16 senders to what they delivered, and leaves 4 alone.

    Cables of 1.2 us make the RTT 5.5 us, so that the base RTT stays 6 us (it only falls to a sample more than 1.024 us
    below). Target 0.75 * 6 = 4.5 us; an observation window lasts 6 + 4.5 = 10.5 us and passes if it delivered 450,000 /
    2**3 = 56,250 B. The receiver's link delivers 10.5 us * 50,000 B/us = 525,000 B of the wire in it, 522,751 B as
    windows count. Of 4 senders each gets 130,688 B: no cut, ever. Of 16 each gets at most 32,672 B: every sender is
    cut, to exactly 4,184 B for each ACK between the first signal and the first one 10.5 us later. The link delivered
    what the ACKs and NACKs of that time say: 4,202 B for each ACK of data and a trimmed header of 62 B for each NACK
    add up to 525,000 B over the 16 senders (3 % for their windows, which do not open at one instant).
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
              {})
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
    nacks = during.filter(during["packet_type"] == "NACK")
    return float(after), len(during.filter(during["RTT_ns"].is_not_null())), len(nacks)


def _window_curve(run: Run, sender: int) -> tuple[list[float], list[float]]:
    rows = _answers(run, sender)
    rows = rows.filter(rows["congestion_window"].is_not_null())
    return [time / 1e3 for time in rows["sim_time_ns"]], [window / 1e3 for window in rows["congestion_window"]]
