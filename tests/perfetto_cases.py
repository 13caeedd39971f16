"""A small reader of Perfetto traces, written from the protocol buffers' encoding and not from our writer."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def fields(data: bytes) -> dict[int, list]:
    """Number of a field -> its values: whole numbers, 8 bytes of a fixed64, bytes of what has a length."""
    found, place = defaultdict(list), 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while place < len(data):
        key = number()
        kind = key & 7
        if kind == 0:
            found[key >> 3].append(number())
        elif kind == 1:
            found[key >> 3].append(data[place:place + 8])
            place += 8
        else:
            assert kind == 2, f"wire type {kind}"
            size = number()
            assert place + size <= len(data)
            found[key >> 3].append(data[place:place + size])
            place += size
    return found


@dataclass
class Event:
    """One TrackEvent; `track` is the number of its track."""

    time: int
    kind: int
    track: int
    name: str = ""
    category: str = ""
    arguments: dict = field(default_factory=dict)
    value: float | None = None


@dataclass
class Decoded:
    """A trace. tracks : number -> (name, number of the parent). units : of counters."""

    size: int
    tracks: dict[int, tuple[str, int]]
    units: dict[int, str]
    events: list[Event]

    def group(self, track: int) -> str:
        """Name of the track above a track."""
        return self.tracks[self.tracks[track][1]][0]

    def slices(self, group: str) -> list[tuple[str, str, int, int, dict]]:
        """(track, name, begin, end, arguments) of the slices of a group; every begin has its end."""
        open_, done = {}, []
        for event in self.events:
            if self.group(event.track) != group:
                continue
            if event.kind == BEGIN:
                assert event.track not in open_, "slices of a track overlap"
                open_[event.track] = event
            elif event.kind == END:
                begun = open_.pop(event.track)
                done.append((self.tracks[event.track][0], begun.name, begun.time, event.time, begun.arguments))
        assert not open_
        return done

    def instants(self, group: str) -> list[tuple[str, str, int, dict]]:
        """(track, name, time, arguments)."""
        return [(self.tracks[event.track][0], event.name, event.time, event.arguments) for event in self.events
                if event.kind == INSTANT and self.group(event.track) == group]

    def counters(self) -> dict[str, list[tuple[int, float]]]:
        """Track -> its values by time."""
        found = defaultdict(list)
        for event in self.events:
            if event.kind == COUNTER:
                found[self.tracks[event.track][0]].append((event.time, event.value))
        return found


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def read_trace(path: Path) -> Decoded:
    """A trace of one sequence whose strings are interned, read packet by packet as Perfetto does."""
    data = path.read_bytes()
    strings: dict[int, dict[int, str]] = {}
    found = Decoded(len(data), {}, {}, [])
    whole = fields(data)
    assert set(whole) == {1}
    for content in whole[1]:
        packet = fields(content)
        assert packet[10] == [1]
        flags = packet[13][0] if 13 in packet else 0
        if flags & 1:
            strings = {kind: {} for kind in (1, 2, 3, 29)}
        elif flags & 2:
            assert strings, "needs strings that no packet began"
        for interned in packet.get(12, ()):
            for kind, entries in fields(interned).items():
                for entry in map(fields, entries):
                    assert entry[1][0] > 0 and entry[1][0] not in strings[kind]
                    strings[kind][entry[1][0]] = entry[2][0].decode()
        for described in map(fields, packet.get(60, ())):
            number, parent = described[1][0], described[5][0] if 5 in described else 0
            assert number > 0 and number not in found.tracks and (not parent or parent in found.tracks)
            found.tracks[number] = described[2][0].decode(), parent
            if 8 in described:
                found.units[number] = fields(described[8][0])[6][0].decode()
        for event in map(fields, packet.get(11, ())):
            assert flags & 2
            found.events.append(_event(packet[8][0], event, strings))
            assert found.events[-1].track in found.tracks
    return found


def _event(time: int, event: dict[int, list], strings: dict[int, dict[int, str]]) -> Event:
    said = {}
    for one in map(fields, event.get(4, ())):
        said[strings[3][one[1][0]]] = strings[29][one[17][0]] if 17 in one else signed(one[4][0])
    value = struct.unpack("<d", event[44][0])[0] if 44 in event else None
    return Event(time, event[9][0], event[11][0], strings[2][event[10][0]] if 10 in event else "",
                 strings[1][event[3][0]] if 3 in event else "", said, value)
