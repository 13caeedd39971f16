"""Attributes of ScalaUETCongestionControl: changing each changes what it should."""

from __future__ import annotations

import pytest
from attribute_cases import CC, Case, check

WINDOW, MEAN_WINDOW = "uet-monitor rows congestion_window", "uet-transport-stats total ivl_calc_mean_cwnd_bytes"
TEN_PACKETS = {CC + "OverrideUetSpecMaxCWind": True, CC + "MaxCongestionWindow": 10}
OTHER_TARGET = {CC + "OverrideSpecTargetQueueDelay": True, CC + "TargetQueueDelay": "2us"}

TABLE = {
    CC + "PassThrough": Case("one", True, "perf total perf_metric_usec", "<", TEN_PACKETS),
    CC + "NSCCEnable": Case("marked", False, "uet-transport-stats most max_calc_avg_q_delay_usec", "<"),
    CC + "InitialBaseRTT": Case("one", "3us", "uet-transport-stats most ivl_calc_max_cwnd_bytes", "<"),
    CC + "ReferenceNetworkRTT": Case("marked", "12us", MEAN_WINDOW, "<"),
    CC + "ReferenceNetworkLinkSpeed": Case("marked", "1Tbps", MEAN_WINDOW, "<"),
    CC + "OverrideSpecTargetQueueDelay": Case("marked", True, MEAN_WINDOW, "<", {CC + "TargetQueueDelay": "1us"}),
    CC + "TargetQueueDelay": Case("marked", "1us", MEAN_WINDOW, "<", OTHER_TARGET),
    CC + "TargetQueueDelayMargin": Case("marked", "0s", WINDOW, "!="),
    CC + "DisableQuickAdapt": Case("trimmed", True, "uet-transport-stats total ivl_num_quick_adapt", "<"),
    CC + "QuickAdaptGate": Case("trimmed", 0, "uet-transport-stats total ivl_num_quick_adapt", ">"),
    CC + "QuickAdaptThreshold": Case("dropped", "1us", "uet-transport-stats total ivl_num_quick_adapt", ">",
                                     {CC + "QuickAdaptGate": 0}),
    CC + "OverrideUetSpecMaxCWind": Case("one", True, "uet-transport-stats most ivl_calc_max_cwnd_bytes", "<",
                                         {CC + "MaxCongestionWindow": 10}),
    CC + "MaxCongestionWindow": Case("one", 20, "uet-monitor least congestion_window", ">", TEN_PACKETS),
    CC + "ReceiverCongestionLowThreshold": Case(
        "slow host", 70.0, "uet-transport-stats total ivl_calc_mean_rcvr_cwnd_pen", "<"),
    CC + "ReceiverCongestionHighThreshold": Case(
        "slow host", 30.0, "uet-transport-stats total ivl_calc_mean_rcvr_cwnd_pen", ">"),
    CC + "RestoreCWindEnable": Case("slow host", True, "uet-monitor mean congestion_window", ">"),
    CC + "MaxMultiplicativeDecreaseJump": Case("marked", 1.0, MEAN_WINDOW, ">"),
    CC + "AlphaMultiplier": Case("marked", 40.0, MEAN_WINDOW, ">"),
    CC + "FairIncreaseMultiplier": Case("marked", 50.0, WINDOW, "!="),
    CC + "FastIncreaseMultiplier": Case("marked", 0.01, WINDOW, "!="),
    CC + "EtaMultiplier": Case("marked", 1.0, MEAN_WINDOW, ">"),
    CC + "Gamma": Case("marked", 0.1, MEAN_WINDOW, ">"),
    CC + "DelayAlpha": Case("marked", 0.01, WINDOW, "!="),
}


@pytest.mark.parametrize("path", TABLE)
def test_congestion_control(path: str) -> None:
    check(path, TABLE[path])
