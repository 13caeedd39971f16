"""How NSCC's base RTT falls, and what follows it; by hand.

Defaults: 6 us at first, a maximum window of 1.5 * 400 Gb/s of it, a target of 6 us that stays.
"""

from __future__ import annotations

import pytest
from engine_cases import US
from nscc_cases import BASE, M, Window, window_of

pytestmark = pytest.mark.core


def test_the_base_rtt_falls_by_more_than_a_microsecond_or_not_at_all():
    # 8 ticks of 128 ns = 1.024 us. 4.976 us is just not below 6 us by more than that.
    window = Window()
    window.probe(4.976)
    assert window.base_rtt_ps == BASE and window.measured_ps == BASE
    window.probe(4.975999)
    assert window.base_rtt_ps == 5_999_999 and window.measured_ps == 4_975_999
    window.probe(6.5)
    assert window.base_rtt_ps == 5_999_999                     # it never rises


def test_what_follows_a_lower_base_rtt_and_what_does_not():
    # 2.976 us + 1.024 = 4 us: max window 1.5 * 400 Gb/s * 4 us / 8 = 300,000 B, to which the window is lowered; the
    # observation window becomes 4 + 6 us; delays count from 2.976 us; target, gains and the period of eta stay.
    window = Window()
    window.probe(2.976)
    assert window.base_rtt_ps == 4 * US and window.cwnd_bytes == window.max_window_bytes == 300_000
    window.ack(1, 2)                                           # RTT 4.976 us
    assert window.average_ps == 0.25 * 2 * US and window.qa_end_ps == 11 * US
    assert window.inc == pytest.approx(4 * M * M * 4 / 6, rel=1e-13)
    window.cwnd_bytes = 100_000
    window.inc = window.received_bytes = 0
    window.ack(5.9, 6)
    assert window.cwnd_bytes == 100_000 and window.inc == 5 * M * M
    window.ack(6, 6)
    assert window.cwnd_bytes == pytest.approx(100_000 + 2 * 5 * M * M / 100_000 + 627.6, rel=1e-13)


def test_a_sample_a_little_below_the_base_is_no_delay():
    window = Window()
    window.ack(1, -1)                                          # RTT 5 us: not more than 1.024 us below
    assert window.average_ps == 0 and window.measured_ps == BASE


def test_once_lowered_the_base_follows_every_lower_sample():
    # It lies 1.024 us above what was measured, so any sample below that is more than 1.024 us below the base.
    window = Window()
    window.probe(3)
    window.probe(3)
    assert window.base_rtt_ps == 4_024_000
    window.probe(2.999999)
    assert window.base_rtt_ps == 4_023_999


def test_a_lower_base_rtt_ends_the_override_of_the_maximum():
    window = Window(OverrideUetSpecMaxCWind=True, MaxCongestionWindow=20)
    assert window.cwnd_bytes == 83_680
    window.probe(2.976)
    assert window.max_window_bytes == 300_000 and window.cwnd_bytes == 83_680


def test_decreases_may_come_closer_with_a_lower_base_rtt():
    window = window_of(100_000, DelayAlpha=1.0)
    window.probe(2.976)
    window.ack(1, 8, marked=True)
    window.last_adjust_ps = 5 * US
    window.ack(5, 8, marked=True)
    assert window.cwnd_bytes == pytest.approx(80_000, rel=1e-13)
    window.ack(5.000001, 8, marked=True)
    assert window.cwnd_bytes == pytest.approx(64_000, rel=1e-13)


def test_the_first_sample_below_gives_no_delay():
    # An ACK whose own RTT lowers the base: its delay is 0, measured from itself.
    window = Window()
    window.ack(1, -3)
    assert window.measured_ps == 3 * US and window.base_rtt_ps == 4_024_000 and window.average_ps == 0
