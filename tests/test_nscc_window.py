"""Every routine of NSCC driven by a scripted sequence of ACKs, with windows worked out by hand.

Defaults unless said: packets of 4184 B, base RTT 6 us, target 6 us, margin 1 us, a maximum of 450,000 B. The pending
increase is applied after more than 8 packets (33,472 B) or when 6 us have passed; then eta (627.6 B) comes on top.
"""

from __future__ import annotations

import pytest
from engine_cases import US
from nscc_cases import BASE, M, Window, window_of

pytestmark = pytest.mark.core


def test_a_window_starts_at_its_maximum():
    window = Window()
    assert window.cwnd_bytes == window.max_window_bytes == 450_000
    assert window.base_rtt_ps == window.measured_ps == BASE and window.average_ps == 0


# ---- proportional and fair increase ----------------------------------------------------------------------------------
def test_proportional_increase():
    # Delay 2 us, 4 us below the target: inc = 4 * 4184 / 6 us * 4184 * 4 us an ACK = 4 * 4184**2 * 2 / 3. The ninth ACK
    # passes 8 packets: cwnd = 100,000 + 9 * inc / 100,000.
    window = window_of(100_000)
    for number in range(8):
        window.ack(0.1 * number, 2)
        assert window.cwnd_bytes == 100_000
    window.ack(0.8, 2)
    assert window.cwnd_bytes == pytest.approx(100_000 + 9 * 4 * M * M * 2 / 3 / 100_000, rel=1e-13)
    assert window.cwnd_bytes == pytest.approx(104_201.40544, rel=1e-9)
    assert window.inc == 0 and window.received_bytes == 0


def test_proportional_increase_of_one_round_trip_at_no_delay_is_four_packets():
    # A window's worth of ACKs (50,000 B of newly acknowledged bytes at once) at zero delay: inc / cwnd = 4 * 4184.
    window = window_of(50_000)
    window.ack(1, 0, newly=50_000)
    assert window.cwnd_bytes == pytest.approx(50_000 + 4 * M, rel=1e-13)


def test_fair_increase_does_not_depend_on_the_delay():
    # inc = 5 * 4184 * 4184 an ACK at or above the target; nine of them at 100,000 B: + 7877.6352.
    for delay in (6, 20):
        window = window_of(100_000)
        for number in range(9):
            window.ack(0.1 * number, delay)
        assert window.cwnd_bytes == pytest.approx(107_877.6352, rel=1e-12)


def test_a_delay_just_below_the_target_is_proportional():
    window = window_of(100_000)
    window.ack(1, 6 - 1e-6)
    assert window.inc == pytest.approx(4 * M * M * 1e-6 / 6, rel=1e-9)


def test_eta_once_in_an_initial_base_rtt():
    # At 5.9 us nothing is due; at 6 us inc / cwnd and 627.6; then not before 12 us.
    window = window_of(100_000)
    window.ack(5.9, 2)
    assert window.cwnd_bytes == 100_000
    window.ack(6, 2)
    after = 100_000 + 2 * 4 * M * M * 2 / 3 / 100_000 + 627.6
    assert window.cwnd_bytes == pytest.approx(after, rel=1e-13) and window.last_adjust_ps == 6 * US
    window.ack(11.9, 2)
    assert window.cwnd_bytes == pytest.approx(after, rel=1e-13)
    window.ack(12, 2)
    assert window.cwnd_bytes == pytest.approx(after + 2 * 4 * M * M * 2 / 3 / after + 627.6, rel=1e-13)


def test_eta_comes_with_a_marked_ack_too():
    window = window_of(100_000)
    window.ack(6, 2, marked=True)
    assert window.cwnd_bytes == pytest.approx(100_627.6, rel=1e-13)


def test_the_window_stays_within_its_bounds():
    window = window_of(449_900)
    window.ack(6, 20, newly=100_000)
    assert window.cwnd_bytes == 450_000
    window = window_of(5000)
    window.timeout()
    assert window.cwnd_bytes == M


# ---- fast increase ---------------------------------------------------------------------------------------------------
def test_fast_increase_after_a_window_of_low_delay():
    # 10,000 B: after 4184 and 8368 B still proportional; with 12,552 B acknowledged fast: a packet more with each ACK.
    window = window_of(10_000)
    window.ack(0.1, 0.5)
    window.ack(0.2, 0.5)
    assert window.fast_mode == 0 and window.cwnd_bytes == 10_000 and window.inc > 0
    pending = window.inc
    for number in range(1, 4):
        window.ack(0.2 + 0.1 * number, 0.5)
        assert window.fast_mode == 1 and window.cwnd_bytes == 10_000 + number * M
    assert window.inc == pending                               # proportional increase is not added meanwhile


def test_fast_increase_needs_a_run_without_a_delay_between_margin_and_target():
    window = window_of(10_000)
    for delay in (0.5, 0.5, 1.0, 0.5, 0.5):                    # the margin itself is too much
        window.ack(0.1, delay)
    assert window.fast_mode == 0 and window.fast_count_bytes == 2 * M
    window.ack(0.2, 0.9)
    assert window.fast_mode == 1


def test_a_delay_at_the_target_leaves_fast_increase_alone():
    window = window_of(10_000)
    for _ in range(3):
        window.ack(0.1, 0)
    window.ack(0.2, 9)                                         # fair increase
    assert window.fast_mode == 1 and window.cwnd_bytes == 10_000 + M
    window.ack(0.3, 0)
    assert window.cwnd_bytes == 10_000 + 2 * M


@pytest.mark.parametrize("delay, marked, stays", [
    (1, False, 0), (5, False, 0), (6, True, 0), (3, True, 1), (0, True, 1)])
def test_what_ends_fast_increase(delay, marked, stays):
    window = window_of(10_000, DelayAlpha=0)
    for _ in range(3):
        window.ack(0.1, 0)
    window.ack(0.2, delay, marked=marked)
    assert window.fast_mode == stays
    assert (window.fast_count_bytes == 0) == (not stays)


def test_fast_increase_stops_at_the_maximum():
    window = window_of(449_000)
    window.ack(0.1, 0, newly=449_001)
    assert window.fast_mode == 1 and window.cwnd_bytes == 450_000


def test_the_multiplier_of_fast_increase():
    window = window_of(10_000, FastIncreaseMultiplier=0.25)
    window.ack(0.1, 0, newly=12_000)
    assert window.cwnd_bytes == 13_000


# ---- multiplicative decrease -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("delay, kept", [
    (8, 0.8),            # 1 - 0.8 * 2 / 8
    (12, 0.6),           # 1 - 0.8 * 6 / 12
    (16, 0.5),           # 1 - 0.8 * 10 / 16
    (24, 0.5),           # 0.4, but half is kept at least
    (6, 1.0),            # the average has to be above the target
])
def test_multiplicative_decrease(delay, kept):
    window = window_of(100_000, DelayAlpha=1.0)
    window.ack(1, delay, marked=True)
    assert window.cwnd_bytes == pytest.approx(100_000 * kept, rel=1e-13)


def test_the_average_delay_decides_and_the_sample_opens_the_way():
    # Average 0.25 * 20 = 5 us: not above the target. Second: 0.25 * 20 + 0.75 * 5 = 8.75: 1 - 0.8 * 2.75 / 8.75.
    window = window_of(100_000)
    window.ack(1, 20, marked=True)
    assert window.cwnd_bytes == 100_000
    window.ack(2, 20, marked=True)
    kept = 1 - 0.8 * 2.75 / 8.75
    assert window.average_ps == 8.75 * US and window.cwnd_bytes == pytest.approx(100_000 * kept, rel=1e-13)
    # 14 us after it, with a sample below the target: 0.25 * 5 + 0.75 * 8.75 = 7.8125, still above, but nothing happens.
    window.last_adjust_ps = 16 * US
    before = window.cwnd_bytes
    window.ack(16, 5, marked=True)
    assert window.cwnd_bytes == before


def test_one_decrease_a_base_rtt():
    window = window_of(100_000, DelayAlpha=1.0)
    for at, expected in ((1, 80_000), (2, 80_000), (7, 80_000), (7.000001, 64_000), (13, 64_000), (13.000002, 51_200)):
        window.last_adjust_ps = round(at * US)                 # no eta
        window.qa_end_ps = 100 * US
        window.ack(at, 8, marked=True)
        assert window.cwnd_bytes == pytest.approx(expected, rel=1e-13), at


def test_a_decrease_keeps_one_packet():
    window = window_of(5000, DelayAlpha=1.0)
    window.ack(1, 24, marked=True)
    assert window.cwnd_bytes == M


@pytest.mark.parametrize("attributes, expected", [
    ({"Gamma": 0.4}, 90_000), ({"MaxMultiplicativeDecreaseJump": 0.95}, 95_000)])
def test_gamma_and_the_greatest_jump(attributes, expected):
    window = window_of(100_000, DelayAlpha=1.0, **attributes)
    window.ack(1, 8, marked=True)
    assert window.cwnd_bytes == pytest.approx(expected, rel=1e-13)


def test_a_mark_below_the_target_does_nothing():
    window = window_of(100_000)
    for number in range(12):
        window.ack(0.1 * number, 3, marked=True)
    assert window.cwnd_bytes == 100_000 and window.inc == 0


def test_an_ack_without_a_sample_moves_nothing():
    window = window_of(100_000)
    for number in range(20):
        window.ack(number, None, marked=number % 2 == 0)
    assert window.cwnd_bytes == 100_000 and window.average_ps == 0 and window.qa_end_ps == 0
    assert window.achieved_bytes == 20 * M


# ---- off and aside ---------------------------------------------------------------------------------------------------
def test_with_nscc_off_only_the_base_rtt_moves_the_window():
    window = Window(NSCCEnable=False)
    for at in range(1, 60):
        assert window.ack(at, 30, marked=True, penalty=100) is False
        assert window.nack(at) is False
        window.timeout()
    assert window.cwnd_bytes == 450_000 and window.average_ps == 0
    window.ack(60, -3.024)                                     # RTT 2.976 us
    assert window.cwnd_bytes == window.max_window_bytes == 300_000
    window = Window(NSCCEnable=False)
    window.nack(1, 2.976)
    assert window.cwnd_bytes == 300_000


def test_pass_through_still_computes_the_window():
    window = window_of(100_000, PassThrough=True, DelayAlpha=1.0)
    window.ack(1, 8, marked=True)
    assert window.cwnd_bytes == pytest.approx(80_000)
