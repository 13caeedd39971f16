"""NSCC: network-signal congestion control, one window a group (UEC 1.0 section 3.6.13).

Form and names: scala-computing/docs models/scala-uet-nic/congestion-control; where that page gives no formula, the
specification's, with the gains of `distsim/README.md`, section "Decisions". Windows and gains are bytes, times ps.

Hooks (each takes the state's GROUP row `g` and the NIC's NICPAR row `par`): `start`, `on_ack`, `on_nack`, `on_timeout`,
`offer_rtt`. They return True where Quick Adapt cut the window, for the counter.
"""

from __future__ import annotations

from ..jit import kernel, small

# "About 1 us": eight ticks of 128 ns. A sample must undercut the base RTT by more, and the new base lies that much
# above the sample.
BASE_RTT_GUARD_PS = 1_024_000
# The pending increase is applied once this many nominal packets were acknowledged (8 * MTU in the specification).
ADJUST_PACKETS = 8
NOT_HANDLED, HANDLED, CUT = 0, 1, 2


@kernel
def start(g, par, now_ps):
    """A new group: window at its maximum, base RTT at InitialBaseRTT, no observation window open."""
    g.cwnd_bytes = par.max_window_bytes
    g.max_window_bytes = par.max_window_bytes
    g.base_rtt_ps = par.base_rtt_ps
    g.measured_ps = par.base_rtt_ps
    g.average_ps = 0.0
    g.inc = 0.0
    g.received_bytes = 0
    g.achieved_bytes = 0
    g.ignored_bytes = 0
    g.to_ignore_bytes = 0
    g.fast_count_bytes = 0
    g.last_adjust_ps = now_ps
    g.last_decrease_ps = now_ps - 2 * par.base_rtt_ps
    g.qa_end_ps = 0
    g.saved_cwnd_bytes = 0.0
    g.qa_trigger = 0
    g.fast_mode = 0


@small
def clamp(g, par):
    """Between one nominal packet and the maximum window."""
    if g.cwnd_bytes > g.max_window_bytes:
        g.cwnd_bytes = g.max_window_bytes
    if g.cwnd_bytes < par.mtu_bytes:
        g.cwnd_bytes = par.mtu_bytes


@kernel
def offer_rtt(g, par, rtt_ps):
    """Base RTT: falls when a sample is more than about 1 us below it, to that sample plus about 1 us; never rises."""
    if rtt_ps + BASE_RTT_GUARD_PS < g.base_rtt_ps:
        g.base_rtt_ps = rtt_ps + BASE_RTT_GUARD_PS
        g.measured_ps = rtt_ps
        g.max_window_bytes = 1.5 * par.rate_gbps * g.base_rtt_ps / 8000.0
        clamp(g, par)


@small
def fold_delay(g, par, sample_ps):
    g.average_ps = par.delay_alpha * sample_ps + (1.0 - par.delay_alpha) * g.average_ps


@kernel
def quick_adapt(g, par, marked, loss, now_ps):
    """NOT_HANDLED, HANDLED (this signal belongs to what was sent before a cut) or CUT (the window was just cut)."""
    if par.qa_disable != 0:
        return NOT_HANDLED
    result = NOT_HANDLED
    if marked and g.ignored_bytes < g.to_ignore_bytes:
        result = HANDLED
    elif now_ps >= g.qa_end_ps:
        slow = par.trimming == 0 and g.average_ps > par.qa_threshold_ps
        few = g.achieved_bytes < g.max_window_bytes / (1 << par.qa_gate)
        if g.qa_end_ps != 0 and (g.qa_trigger != 0 or loss or slow) and few:
            g.cwnd_bytes = max(float(g.achieved_bytes), par.mtu_bytes)
            g.to_ignore_bytes = g.inflight_bytes
            g.ignored_bytes = 0
            g.qa_trigger = 0
            result = CUT
        g.achieved_bytes = 0
        g.qa_end_ps = now_ps + g.base_rtt_ps + par.target_ps
    if result != NOT_HANDLED:
        g.inc = 0.0
        g.received_bytes = 0
    return result


@small
def apply_penalty(g, par, newly_bytes, penalty, restore):
    """Receiver penalty 0..127 (Receiver penalty, At the sender). Returns True when the ACK is receiver-limited."""
    if penalty > 0:
        if g.saved_cwnd_bytes == 0.0:
            g.saved_cwnd_bytes = g.cwnd_bytes
        g.cwnd_bytes = min(g.cwnd_bytes, float(g.inflight_bytes))
        g.cwnd_bytes = max(par.mtu_bytes, g.cwnd_bytes - penalty * newly_bytes / 128.0)
        return True
    if restore and g.saved_cwnd_bytes > 0.0:
        g.cwnd_bytes = g.saved_cwnd_bytes
        g.saved_cwnd_bytes = 0.0
        clamp(g, par)
    return False


@small
def fast_increase(g, par, newly_bytes, delay_ps):
    """True while fast increase takes the place of proportional increase."""
    if delay_ps < par.margin_ps:
        g.fast_count_bytes += newly_bytes
        if g.fast_mode != 0 or g.fast_count_bytes > g.cwnd_bytes:
            g.cwnd_bytes = min(g.cwnd_bytes + newly_bytes * par.fast, g.max_window_bytes)
            g.fast_mode = 1
            return True
    else:
        g.fast_count_bytes = 0
    g.fast_mode = 0
    return False


@small
def multiplicative_decrease(g, par, now_ps):
    g.fast_mode = 0
    g.fast_count_bytes = 0
    if g.average_ps > par.target_ps and now_ps - g.last_decrease_ps > g.base_rtt_ps:
        keep = 1.0 - par.gamma * (g.average_ps - par.target_ps) / g.average_ps
        g.cwnd_bytes = max(g.cwnd_bytes * max(keep, par.max_md_jump), par.mtu_bytes)
        g.last_decrease_ps = now_ps


@small
def fulfil(g, par, now_ps):
    """Apply the pending increase, and the additive term at most once per InitialBaseRTT."""
    due = now_ps - g.last_adjust_ps >= par.base_rtt_ps
    if due or g.received_bytes > ADJUST_PACKETS * par.mtu_bytes:
        g.cwnd_bytes += g.inc / g.cwnd_bytes
        if due:
            g.cwnd_bytes += par.eta_bytes
            g.last_adjust_ps = now_ps
        g.inc = 0.0
        g.received_bytes = 0


@kernel
def on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps):
    """An ACK of data that newly acknowledges `newly_bytes`; `rtt_ps` < 0: it gives no RTT sample."""
    if par.nscc_enable == 0:
        if rtt_ps >= 0:
            offer_rtt(g, par, rtt_ps)
        return False
    g.ignored_bytes += newly_bytes
    g.received_bytes += newly_bytes
    g.achieved_bytes += newly_bytes
    limited = apply_penalty(g, par, newly_bytes, penalty, restore)
    if rtt_ps < 0:
        return False
    offer_rtt(g, par, rtt_ps)
    delay = max(rtt_ps - g.measured_ps, 0)
    fold_delay(g, par, delay)
    outcome = quick_adapt(g, par, marked, False, now_ps)
    if outcome != NOT_HANDLED:
        return outcome == CUT
    if marked:
        if delay >= par.target_ps:
            multiplicative_decrease(g, par, now_ps)
    elif not limited:
        if delay >= par.target_ps:
            g.inc += par.fair_bytes * newly_bytes
        elif not fast_increase(g, par, newly_bytes, delay):
            g.inc += par.alpha * newly_bytes * (par.target_ps - delay)
    clamp(g, par)
    fulfil(g, par, now_ps)
    clamp(g, par)
    return False


@kernel
def on_nack(g, par, nominal_bytes, rtt_ps, now_ps):
    """A NACK for a trimmed packet that was outstanding (Loss reactions, Trim NACK)."""
    if rtt_ps >= 0:
        offer_rtt(g, par, rtt_ps)
    if par.nscc_enable == 0:
        return False
    fold_delay(g, par, par.base_rtt_ps)
    g.ignored_bytes += nominal_bytes
    g.qa_trigger = 1
    outcome = quick_adapt(g, par, True, True, now_ps)
    if outcome == NOT_HANDLED:
        g.cwnd_bytes = max(g.cwnd_bytes - nominal_bytes, par.mtu_bytes)
    return outcome == CUT


@kernel
def on_timeout(g, par, nominal_bytes):
    """A retransmission timer expired; Quick Adapt does not run (Loss reactions, Timer expiry)."""
    if par.nscc_enable != 0:
        g.cwnd_bytes = max(g.cwnd_bytes - nominal_bytes, par.mtu_bytes)
