"""Where the time of a job goes, from its submission to its end: parts that sum to the whole exactly (picoseconds).

Every stretch of time is booked once. Steps since the last checkpoint stand apart, for an interruption turns all of them
into lost work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PS_PER_MS = 10**9

QUEUEING = "queueing"          # submitted, and never run yet
USEFUL = "useful"              # steps that count, at the speed of the first placement on a sound fabric, alone
SLOWER = "slower"              # what these steps took beyond that: faults, other jobs, a worse placement
SHARING = "sharing"            # what they took longer since others compute on the same chips
STALLED = "stalled"            # no step could end: no way through the fabric, or a node that is down
CHECKPOINT = "checkpoint"      # pauses for checkpoints that were finished
LOST = "lost"                  # steps since the last checkpoint before an interruption, checkpoints cut short
WAITING = "waiting"            # interrupted, until all pods run again
STARTING = "starting"          # startup of a `training`, and after an interruption restart_time
UNFINISHED = "unfinished"      # the step or checkpoint under way when the run ended
PARTS = (USEFUL, QUEUEING, LOST, WAITING, STARTING, SLOWER, SHARING, STALLED, CHECKPOINT, UNFINISHED)
# What the parts come to in a report.
SPLIT = {"useful": (USEFUL,), "queueing": (QUEUEING,), "lost": (LOST,), "restart": (WAITING, STARTING),
         "slow_down": (SLOWER, SHARING, STALLED), "checkpoint": (CHECKPOINT,), "unfinished": (UNFINISHED,)}


@dataclass
class Ledger:
    """time_ps, chip_ps : what is booked, by part; chip_ps is time times the chips held (wanted, while there are none).
    open_time, open_chip : of steps since the last checkpoint."""

    time_ps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    chip_ps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    open_time: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    open_chip: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))

    def book(self, part: str, ps: int, chips: int) -> None:
        """Book time for good."""
        assert ps >= 0, f"{part}: {ps} ps"
        self.time_ps[part] += ps
        self.chip_ps[part] += ps * chips

    def book_step(self, part: str, ps: int, chips: int) -> None:
        """Book time of steps, which an interruption before the next checkpoint takes back."""
        assert ps >= 0, f"{part}: {ps} ps"
        self.open_time[part] += ps
        self.open_chip[part] += ps * chips

    def save(self) -> None:
        """The steps so far are safe: a checkpoint was written, or the job is over."""
        for open_, closed in ((self.open_time, self.time_ps), (self.open_chip, self.chip_ps)):
            for part, ps in open_.items():
                closed[part] += ps
                open_[part] = 0

    def lose(self) -> int:
        """The steps since the last checkpoint are lost work; how long they took, ps."""
        lost = sum(self.open_time.values())
        for open_, closed in ((self.open_time, self.time_ps), (self.open_chip, self.chip_ps)):
            closed[LOST] += sum(open_.values())
            for part in open_:
                open_[part] = 0
        return lost

    @property
    def total_ps(self) -> int:
        """All that is booked."""
        return sum(self.time_ps.values()) + sum(self.open_time.values())

    def copy(self) -> Ledger:
        """Another one with the same entries."""
        return Ledger(dict(self.time_ps), dict(self.chip_ps), dict(self.open_time), dict(self.open_chip))


def split(parts: Mapping[str, int]) -> dict[str, int]:
    """Parts put together as a report shows them (SPLIT); the sum stays."""
    return {name: sum(parts[part] for part in members) for name, members in SPLIT.items()}


def goodput(parts: Mapping[str, int]) -> float:
    """Useful time over all time; 0 when there is none."""
    whole = sum(parts.values())
    return parts[USEFUL] / whole if whole else 0.0


def document(ledger: Ledger) -> dict[str, Any]:
    """The figures of a job whose ledger is closed: goodput, wall time and its split in picoseconds, with the details of
    what was put together, and the same in chip-picoseconds. goodput is of chip time, the same while the number of chips
    stays."""
    return {"goodput": goodput(ledger.chip_ps), "wall_ps": sum(ledger.time_ps.values()),
            "parts_ps": split(ledger.time_ps), "details_ps": dict(ledger.time_ps),
            "chip_wall_ps": sum(ledger.chip_ps.values()), "chip_parts_ps": split(ledger.chip_ps)}
