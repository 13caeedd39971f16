"""What NSCC derives from its attributes (models/scala-uet-nic/congestion-control, Worked example), by hand."""

from __future__ import annotations

import pytest
from engine_cases import GBPS, US, nic, switch
from nscc_cases import M, Window

from distsim.config.switch import Switch
from distsim.parameters import nic_row, switch_row

pytestmark = pytest.mark.core


def row(link_bps: int = 400 * GBPS, pds: dict | None = None, **cc: object) -> dict:
    found = nic_row(nic(pds, cc), link_bps)[0]
    return {name: found[name].item() for name in found.dtype.names}


def test_the_defaults():
    par = row()
    assert par["mtu_bytes"] == 4096 + 44 + 16 + 8 + 20 == M
    assert par["max_window_bytes"] == 1.5 * 300_000 == 450_000       # BDP 400 Gb/s * 6 us / 8
    assert par["target_ps"] == 6 * US and par["margin_ps"] == 1 * US and par["qa_threshold_ps"] == 24 * US
    # BDP and reference BDP are equal: the gains are the multipliers times a packet.
    assert par["alpha"] == pytest.approx(4 * M / 6e6, rel=1e-15)     # a packet times 4, per reference RTT of headroom
    assert par["fair_bytes"] == 5 * M == 20_920
    assert par["eta_bytes"] == pytest.approx(627.6, rel=1e-15)
    assert (par["fast"], par["gamma"], par["max_md_jump"], par["delay_alpha"]) == (1.0, 0.8, 0.5, 0.25)
    assert (par["qa_gate"], par["qa_disable"], par["pass_through"], par["nscc_enable"]) == (3, 0, 0, 1)
    assert par["rto_ps"] == 150 * US and par["rto_max_backoff"] == 5


def test_the_observation_window_and_its_byte_threshold():
    for trimming, length_us in ((False, 12.0), (True, 10.5)):
        window = Window(trimming=trimming)
        window.ack(1)
        assert window.qa_end_ps == round((1 + length_us) * US)
    assert Window().max_window_bytes / (1 << 3) == 56_250            # 13.4 packets


@pytest.mark.parametrize("pds, cc, target_us", [
    ({}, {}, 6), ({"TrimmingEnabled": True}, {}, 4.5),
    ({}, {"OverrideSpecTargetQueueDelay": True}, 4.5),
    ({"TrimmingEnabled": True}, {"OverrideSpecTargetQueueDelay": True, "TargetQueueDelay": "7us"}, 7),
    ({}, {"InitialBaseRTT": "12us"}, 12), ({"TrimmingEnabled": True}, {"InitialBaseRTT": "12us"}, 9),
])
def test_the_target(pds, cc, target_us):
    assert row(pds=pds, **cc)["target_ps"] == target_us * US


def test_the_maximum_window_in_packets():
    assert row(OverrideUetSpecMaxCWind=True)["max_window_bytes"] == 107 * M == 447_688
    assert row(OverrideUetSpecMaxCWind=True, MaxCongestionWindow=10)["max_window_bytes"] == 41_840
    assert row(MaxCongestionWindow=10)["max_window_bytes"] == 450_000


@pytest.mark.parametrize("link_gbps, cc, scale, max_window", [
    (100, {}, 0.25, 112_500),                                        # BDP 75,000
    (400, {"InitialBaseRTT": "12us"}, 2.0, 900_000),                 # BDP 600,000
    (400, {"ReferenceNetworkRTT": "12us"}, 0.5, 450_000),
    (400, {"ReferenceNetworkLinkSpeed": "100Gbps"}, 4.0, 450_000),
    (800, {"ReferenceNetworkRTT": "12us", "ReferenceNetworkLinkSpeed": "100Gbps"}, 4.0, 900_000),
])
def test_the_gains_follow_the_ratio_of_the_bandwidth_delay_products(link_gbps, cc, scale, max_window):
    par = row(link_gbps * GBPS, **cc)
    reference_ps = 12e6 if "ReferenceNetworkRTT" in cc else 6e6
    assert par["max_window_bytes"] == max_window
    assert par["alpha"] == pytest.approx(4 * scale * M / reference_ps, rel=1e-14)
    assert par["fair_bytes"] == pytest.approx(5 * scale * M, rel=1e-14)
    assert par["eta_bytes"] == pytest.approx(0.15 * scale * M, rel=1e-14)
    assert par["fast"] == 1.0                                        # fast increase is not scaled


def test_the_link_rate_counts_in_whole_gigabits():
    assert row(399_999_999_999)["rate_gbps"] == 399
    assert row(399_999_999_999)["max_window_bytes"] == 1.5 * 399 * 6e6 / 8000 == 448_875


def test_multipliers():
    par = row(AlphaMultiplier=8, FairIncreaseMultiplier=1, EtaMultiplier=0, FastIncreaseMultiplier=0.25)
    assert par["alpha"] == pytest.approx(8 * M / 6e6) and par["fair_bytes"] == M
    assert par["eta_bytes"] == 0 and par["fast"] == 0.25


def test_fixed_timeouts_replace_the_initial_one():
    pds = {"InitialRetransmitTimeout": "70us", "FixedRexmitTimeout": "90us"}
    assert row(pds=pds)["rto_ps"] == 70 * US
    assert row(pds={**pds, "FixedRexmitTimeEnable": True})["rto_ps"] == 90 * US


def test_limits_and_thresholds_of_a_switch():
    # Trimming off: 5 * 300,000 B, marked from 0.2 to 0.8 of that; on: 300,000 B. A trimmable copy: half as much again.
    off = switch_row(Switch())[0]
    on = switch_row(Switch.model_validate({"PacketTrimmer": {"TrimmingEnabled": True}}))[0]
    for found, limit in ((off, 1_500_000), (on, 300_000)):
        assert [found[f"{name}_limit_bytes"] for name in ("data", "trimmed", "control")] == [limit] * 3
        assert found["rtx_limit_bytes"] == limit * 3 // 2
        assert found["ecn_min_bytes"] == pytest.approx(0.2 * limit)
        assert found["ecn_max_bytes"] == pytest.approx(0.8 * limit)
    assert (off["trimming"], on["trimming"]) == (0, 1) and off["ecn_weight"] == 0.1
    assert switch_row(switch(2789, trimming=True))[0]["rtx_limit_bytes"] == 4183
