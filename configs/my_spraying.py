"""Example of a plug-in: an AIMD window and random spraying (plugin.yaml uses both).

The functions are compiled like the simulator's own: plain arithmetic on the arguments, no imports, no objects.

- `g` is the state of one group of connections to one peer: `cwnd_bytes`, the window; `inflight_bytes`, kept by the
  simulator; `dst`, the peer; `state_a` and `state_b` (floats), `state_c` and `state_d` (whole numbers), all 0 at first.
  Congestion control and spraying share them: here the window takes `state_c`, the spraying `state_b` and `state_d`.
- `par` are the NIC's attributes: `mtu_bytes`, a nominal packet; `max_window_bytes`, 1.5 bandwidth-delay products;
  `base_rtt_ps`; `plug_a` to `plug_d`, the YAML's Parameters.
- Times are picoseconds; `rtt_ps` is -1 when there is no sample. Whole numbers have 64 bits; mask what may grow.
- Use nothing that depends on how the simulation is divided among processes: of `g`, the rows `nic` and `param` do.
"""


def start(g, par, now_ps):
    """A group begins."""
    g.cwnd_bytes = par.max_window_bytes
    g.state_c = now_ps  # time of the last decrease


def on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps):
    """Data was acknowledged: one decrease a round trip on marks, else plug_a packets more a round trip.

    True would count as a Quick Adapt cut in the records.
    """
    if marked or penalty > 0:
        if now_ps - g.state_c > par.base_rtt_ps:
            g.cwnd_bytes = max(g.cwnd_bytes * par.plug_b, par.mtu_bytes)
            g.state_c = now_ps
    else:
        grown = g.cwnd_bytes + par.plug_a * par.mtu_bytes * newly_bytes / g.cwnd_bytes
        g.cwnd_bytes = min(grown, par.max_window_bytes)
    return False


def on_nack(g, par, nominal_bytes, rtt_ps, now_ps):
    """A packet was trimmed: the window shrinks by it. True would count as a Quick Adapt cut."""
    g.cwnd_bytes = max(g.cwnd_bytes - nominal_bytes, par.mtu_bytes)
    return False


def on_timeout(g, par, nominal_bytes):
    """A packet's retransmission timer expired: back to one packet."""
    g.cwnd_bytes = par.mtu_bytes


def offer_rtt(g, par, rtt_ps):
    """A probe's round trip: not needed."""


def spray_start(g, par):
    """A group begins: seed its random numbers."""
    g.state_d = (g.dst * 40503 + g.incarnation * 2654435 + 1) & 0x7FFFFFFF
    g.state_b = -1.0  # the entropy value to avoid


def spray_pick(g, par):
    """Entropy value (0 to 65535) of the next data packet: a random one, but not the last bad one."""
    g.state_d = (g.state_d * 1103515245 + 12345) & 0x7FFFFFFF
    value = (g.state_d >> 11) & 0xFFFF
    if value == g.state_b:
        value = (value + 1) & 0xFFFF
    return value


def spray_feedback(g, par, entropy, good):
    """What became of an entropy value: good, or marked, trimmed or lost."""
    if not good:
        g.state_b = float(entropy)
