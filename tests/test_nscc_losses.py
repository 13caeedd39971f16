"""Quick Adapt, loss reactions and the receiver penalty, driven by scripted signals with windows worked out by hand.

Defaults: an observation window of 12 us (10.5 with trimming), a gate of 450,000 / 8 = 56,250 B, a trigger of 24 us.
"""

from __future__ import annotations

import pytest
from engine_cases import US
from nscc_cases import M, Window

pytestmark = pytest.mark.core


# ---- Quick Adapt -----------------------------------------------------------------------------------------------------
def slow(last_newly: int, at_us: float = 13, **attributes: object) -> tuple[Window, bool]:
    """First ACK at 1 us, 41,840 B at 5 us, then `last_newly` B, all 25 us late."""
    window = Window(DelayAlpha=1.0, **attributes)                  # type: ignore[arg-type]
    window.inflight_bytes = 20_000
    assert window.ack(1, 25) is False                               # opens the first observation window: 1 to 13 us
    assert window.ack(5, 25, newly=41_840) is False
    return window, window.ack(at_us, 25, newly=last_newly)


def test_quick_adapt_by_delay():
    # Delivered in the window: 41,840 + 4184 B, fewer than 56,250: that is the new window. The next one ends at 25 us.
    window, cut = slow(M)
    assert cut and window.cwnd_bytes == 46_024
    assert window.to_ignore_bytes == 20_000 and window.ignored_bytes == 0
    assert window.qa_end_ps == 25 * US and window.achieved_bytes == 0
    assert window.inc == 0 and window.received_bytes == 0


@pytest.mark.parametrize("last_newly, cut", [(56_250 - 41_840 - 1, True), (56_250 - 41_840, False)])
def test_quick_adapt_only_below_its_gate(last_newly, cut):
    assert slow(last_newly)[1] == cut


def test_a_new_observation_window_starts_either_way():
    window, cut = slow(50_000)
    assert not cut and window.qa_end_ps == 25 * US and window.achieved_bytes == 0


def test_quick_adapt_not_before_the_observation_window_has_ended():
    window, cut = slow(M, 12.999999)
    assert not cut and window.qa_end_ps == 13 * US


def test_the_delay_trigger_is_the_average():
    # DelayAlpha 0.25: 25 us each time: 6.25, 10.9, 14.5 us: not above 24 us.
    window = Window()
    for at in (1, 5, 13):
        assert window.ack(at, 25) is False
    assert window.cwnd_bytes > 400_000


def test_a_delay_of_exactly_the_threshold_is_no_trigger():
    window = Window(DelayAlpha=1.0)
    window.ack(1, 24)
    assert window.ack(13, 24) is False
    assert window.ack(25, 24.000001) is True


@pytest.mark.parametrize("attributes", [{"DisableQuickAdapt": True}, {"trimming": True}, {"QuickAdaptGate": 31},
                                        {"QuickAdaptThreshold": "25us"}])
def test_what_keeps_a_delay_from_cutting(attributes):
    window, cut = slow(M, **attributes)
    assert not cut and window.cwnd_bytes > 400_000


def test_the_gate():
    assert slow(450_000 - 41_840 - 1, QuickAdaptGate=0)[1] is True
    assert slow(450_000 - 41_840, QuickAdaptGate=0)[1] is False


def test_quick_adapt_keeps_one_packet():
    window = Window(DelayAlpha=1.0)
    window.ack(1, 25)
    assert window.ack(13, 25, newly=100) is True
    assert window.cwnd_bytes == M


def test_bytes_acknowledged_without_a_sample_count_as_delivered():
    window = Window(DelayAlpha=1.0)
    window.ack(1, 25)
    window.ack(5, None, newly=56_250)
    assert window.ack(13, 25) is False


def test_marks_of_what_was_in_flight_at_the_cut_are_ignored():
    # 20,000 B were in flight. Marked ACKs of four packets (16,736 B) are of those; the fifth makes 20,920: the window
    # shrinks again (the average is 25 us: 1 - 0.8 * 19 / 25 = 0.392, so half is kept).
    window, _ = slow(M)
    for number in range(4):
        assert window.ack(14 + 0.1 * number, 25, marked=True) is False
        assert window.cwnd_bytes == 46_024 and window.inc == 0
    window.last_adjust_ps = 15 * US
    window.ack(15, 25, marked=True)
    assert window.cwnd_bytes == 23_012


def test_unmarked_acks_are_not_ignored():
    window, _ = slow(M)
    window.last_adjust_ps = 13 * US
    window.ack(14, 25)
    assert window.inc == 5 * M * M and window.ignored_bytes == M


def test_ignored_acks_do_not_move_the_average_out_of_date():
    window, _ = slow(M)
    window.ack(14, 30, marked=True)
    assert window.average_ps == 30 * US


# ---- trim NACKs ------------------------------------------------------------------------------------------------------
def test_a_nack_takes_a_packet_off_the_window():
    window = Window(trimming=True)
    assert window.nack(1) is False                                  # opens the observation window: 1 to 11.5 us
    assert window.cwnd_bytes == 450_000 - M and window.qa_end_ps == 11_500_000
    assert window.average_ps == 0.25 * 6 * US                       # InitialBaseRTT is one sample
    window.nack(2)
    assert window.cwnd_bytes == 450_000 - 2 * M and window.average_ps == (0.25 + 0.75 * 0.25) * 6 * US
    window.cwnd_bytes = 5000
    window.nack(3)
    assert window.cwnd_bytes == M


def test_the_nack_after_the_observation_window_cuts_to_what_was_delivered():
    window = Window(trimming=True)
    window.inflight_bytes = 30_000
    window.ack(1)
    window.ack(2, newly=40_000)
    assert window.nack(11.5) is True
    assert window.cwnd_bytes == 40_000 and window.to_ignore_bytes == 30_000 and window.qa_trigger == 0
    # Until 30,000 B have been acknowledged or trimmed, trims leave the window alone: seven packets are 29,288 B.
    for number in range(7):
        assert window.nack(12 + 0.1 * number) is False
        assert window.cwnd_bytes == 40_000
    window.nack(13)
    assert window.cwnd_bytes == 40_000 - M


def test_a_nack_within_the_observation_window_triggers_the_ack_after_it():
    window = Window(trimming=True)
    window.ack(1)
    window.nack(3)
    window.ack(5, newly=40_000)
    assert window.qa_trigger == 1
    assert window.ack(11.5) is True
    assert window.cwnd_bytes == 40_000 + M and window.qa_trigger == 0
    assert window.ack(22) is False                                  # the trigger is used up


def test_a_trigger_waits_for_a_window_with_too_little_delivered():
    window = Window(trimming=True)
    window.ack(1)
    window.nack(3)
    window.ack(5, newly=60_000)
    assert window.ack(11.5) is False and window.qa_trigger == 1     # enough was delivered
    assert window.ack(22) is True
    assert window.cwnd_bytes == M                                   # one packet in the second window


def test_trims_trigger_quick_adapt_with_trimming_off_at_the_nic_too():
    # Retransmissions are trimmable by default.
    window = Window()
    window.ack(1)
    assert window.nack(13) is True


def test_a_nack_without_quick_adapt():
    window = Window(trimming=True, DisableQuickAdapt=True)
    window.ack(1)
    for number in range(1, 5):
        assert window.nack(20 * number) is False
        assert window.cwnd_bytes == 450_000 - number * M


def test_a_nacks_sample_is_offered_to_the_base_rtt():
    window = Window(trimming=True)
    window.nack(1, 2.976)
    assert window.base_rtt_ps == 4 * US and window.cwnd_bytes == 300_000 - M
    assert window.qa_end_ps == round((1 + 4 + 4.5) * US)
    assert window.average_ps == 0.25 * 6 * US                       # still InitialBaseRTT


# ---- timeouts --------------------------------------------------------------------------------------------------------
def test_a_timeout_takes_a_packet_off_and_runs_no_quick_adapt():
    window = Window(trimming=True)
    window.ack(1)
    window.nack(2)
    for number in range(1, 4):
        window.timeout()
        assert window.cwnd_bytes == 450_000 - (1 + number) * M
    assert window.qa_trigger == 1 and window.qa_end_ps == 11_500_000
    window.cwnd_bytes = 6000
    window.timeout()
    assert window.cwnd_bytes == M


# ---- receiver penalty ------------------------------------------------------------------------------------------------
def test_the_receiver_penalty_and_its_restoration():
    # 64: capped at the 50,000 B in flight, less 64 / 128 of 4184. 127: capped at 45,000, less 127 / 128 of 4184.
    window = Window()
    window.cwnd_bytes, window.inflight_bytes = 100_000, 50_000
    window.ack(1, 2, penalty=64)
    assert window.cwnd_bytes == 50_000 - 2092 and window.saved_cwnd_bytes == 100_000
    window.inflight_bytes = 45_000
    window.ack(2, 2, penalty=127)
    assert window.cwnd_bytes == 45_000 - 4151.3125 and window.saved_cwnd_bytes == 100_000      # saved once
    window.ack(3, 2)
    assert window.cwnd_bytes == 40_848.6875                         # no restore flag: it grows back by itself
    window.ack(4, 2, restore=True)
    assert window.cwnd_bytes == 100_000 and window.saved_cwnd_bytes == 0


def test_a_penalty_blocks_increases_only():
    window = Window(DelayAlpha=1.0)
    window.cwnd_bytes, window.inflight_bytes = 100_000, 200_000
    for delay in (0, 2, 8):
        window.ack(1, delay, penalty=1)
    assert window.inc == 0 and window.fast_count_bytes == 0
    before = window.cwnd_bytes
    assert before == 100_000 - 3 * M / 128
    window.ack(2, 8, marked=True, penalty=1)                        # decrease still runs: 1 - 0.8 * 2 / 8
    assert window.cwnd_bytes == pytest.approx((before - M / 128) * 0.8, rel=1e-13)


def test_a_penalty_counts_without_a_sample_and_keeps_one_packet():
    window = Window()
    window.inflight_bytes = 5000
    window.ack(1, None, penalty=127)
    assert window.cwnd_bytes == M and window.saved_cwnd_bytes == 450_000


def test_a_restored_window_keeps_to_a_maximum_that_fell_meanwhile():
    window = Window()
    window.inflight_bytes = 50_000
    window.ack(1, 2, penalty=10)
    window.probe(2.976)
    window.ack(2, 2, restore=True)
    assert window.cwnd_bytes == 300_000
