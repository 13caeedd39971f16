"""The packets of a Perfetto trace: track descriptors and TrackEvents, with interned strings.

Messages and numbers of fields: Perfetto's protos/perfetto/trace (trace_packet, track_event/track_event,
track_descriptor, counter_descriptor, debug_annotation, interned_data). All packets are of one sequence. Times are
nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable

from distsim.results.timeline import wire

SEQUENCE = 1
CLEARED, NEEDS_STATE = 1, 2  # sequence_flags
SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
EXPLICIT = 3  # order of child tracks
NO_TRACK = 0
# Kinds of interned strings: their field in InternedData.
CATEGORIES, NAMES, ARGUMENTS, VALUES = 1, 2, 3, 29
ENTRIES_A_PACKET = 4096

_OWN = wire.uint(10, SEQUENCE)
_WITH_STATE = _OWN + wire.uint(13, NEEDS_STATE)


def packet(content: bytes) -> bytes:
    """A TracePacket of its encoded fields, as a Trace has it."""
    return wire.message(1, content)


class Interned:
    """The strings of a trace, each written once and called by a number from then on."""

    def __init__(self) -> None:
        self._numbers: dict[int, dict[str, int]] = {kind: {} for kind in (CATEGORIES, NAMES, ARGUMENTS, VALUES)}

    def number(self, kind: int, value: str) -> int:
        """The number of a string of a kind, from 1."""
        known = self._numbers[kind]
        return known.setdefault(value, len(known) + 1)

    def packets(self) -> Iterable[bytes]:
        """Packets that define them; the first says that nothing before holds. They come before all events."""
        entries = [_entry(kind, number, value) for kind, known in self._numbers.items()
                   for value, number in known.items()]
        yield packet(_OWN + wire.uint(13, CLEARED) + wire.uint(87, 1))
        for begin in range(0, len(entries), ENTRIES_A_PACKET):
            yield packet(_WITH_STATE + wire.message(12, b"".join(entries[begin:begin + ENTRIES_A_PACKET])))


def _entry(kind: int, number: int, value: str) -> bytes:
    """EventCategory, EventName and DebugAnnotationName have iid = 1, name = 2; InternedString iid = 1, str = 2."""
    return wire.message(kind, wire.uint(1, number) + wire.text(2, value))


def track(uuid: int, name: str, parent: int = NO_TRACK, rank: int = 0, ordered: bool = False) -> bytes:
    """A track; siblings of one name are drawn as rows of one. rank : place among its siblings, if the parent is
    `ordered`."""
    content = _described(uuid, name, parent, rank)
    return packet(_OWN + wire.message(60, content + (wire.uint(11, EXPLICIT) if ordered else b"")))


def counter_track(uuid: int, name: str, parent: int, rank: int, unit: str, shared: str) -> bytes:
    """A track of a counter. unit : of its values. shared : counters of one such key share their axis."""
    counter = wire.text(6, unit) + wire.text(7, shared)
    return packet(_OWN + wire.message(60, _described(uuid, name, parent, rank) + wire.message(8, counter)))


def _described(uuid: int, name: str, parent: int, rank: int) -> bytes:
    above = wire.uint(5, parent) if parent != NO_TRACK else b""
    return wire.uint(1, uuid) + wire.text(2, name) + above + wire.sint(12, rank)


def event_body(kind: int, uuid: int, category: int = 0) -> bytes:
    """Fields of a TrackEvent but its name, arguments and value. category : number of an interned string, 0: none."""
    return wire.uint(9, kind) + wire.uint(11, uuid) + (wire.uint(3, category) if category else b"")


def event_name(number: int) -> bytes:
    """The name of a TrackEvent, an interned string."""
    return wire.uint(10, number)


def argument(name: int, value: int, is_text: bool) -> bytes:
    """A DebugAnnotation of a TrackEvent. name : of an interned string; value : an integer, or an interned string's."""
    return wire.message(4, wire.uint(1, name) + (wire.uint(17, value) if is_text else wire.sint(4, value)))


def counter_value(value: float) -> bytes:
    """The value of a COUNTER event."""
    return wire.double(44, value)


def event(time_ns: int, body: bytes) -> bytes:
    """A TrackEvent at a time. body : its fields."""
    return packet(_WITH_STATE + b"\x40" + wire.varint(time_ns) + wire.message(11, body))
