"""`verify`: every invariant of the whole state of one rank. For tests, which call it after each window.

In plain Python and quick enough for small simulations (a few milliseconds a call for a dozen NICs). Works on compiled
tables and on the twin's rows alike. What it knows of the model it says once more in its own words, so that a slip in a
kernel does not hide itself: sizes, charges, timeouts (scala-computing/docs models/scala-uet-nic, models/scala-switch).
"""

from __future__ import annotations

from . import tables as t
from .verify_groups import check_senders
from .verify_messages import check_messages
from .verify_network import check_network
from .verify_nics import check_nics
from .verify_rows import Snapshot, live_rows
from .verify_shared import check_shared
from .view import State


def verify(state: State) -> None:
    """Check the tables of one rank; holds whenever a kernel has returned, between ranks after an exchange.

    Packets: every row is in exactly one place; created + taken over = delivered + dropped + handed over + alive; FIFOs
    are in order; queues, charges, counts and limits agree; what a port sent has arrived or is under way; no node sleeps
    past its next event. NICs: groups, hash chains, ready queues, turns, PDC lists and flags agree; bytes in flight are
    those of the packets that are out; windows keep their bounds; rings tile their arenas; receive bits, operations,
    heaps and counters agree; nothing is acknowledged that has not arrived; fetches, held ACKs, egress and receive
    pools, prefetch and PCIe buffers hold what is reserved in them. Shared switches: ports and pools are charged what is
    held; pauses, headroom and PFC frames agree.

    Raises AssertionError with one sentence that says which row of which table is wrong and how.
    """
    shot = Snapshot(state)
    lengths = check_network(shot)
    receivers = live_rows(shot, t.P_RX, "receiving PDCs", shot.rx.next_free)
    groups, senders = check_senders(shot, receivers)
    check_messages(shot, senders, receivers)
    check_nics(shot, groups, senders)
    check_shared(shot, lengths)
