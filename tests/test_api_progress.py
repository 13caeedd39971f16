"""Progress lines: what they say, how often, and where nothing is shown."""

import io
import subprocess
import sys

import pytest

from distsim.progress import Progress, progress_text, time_text, wall_text

MS = 10**9


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_plain_line_every_five_seconds():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(False, 10 * MS, 2 * MS, stream=stream, clock=clock)
    for tenth in range(121):
        clock.now = 100 + tenth / 10
        progress.update(4 * MS, tenth * 100_000, 0, 10)
    progress.close()
    # 1 million events a second; a quarter of the simulated time is done, so three times as long again
    assert stream.getvalue().splitlines() == [
        "simulated 4.000000 ms, wall 5.0 s, 1.00 million events/s, flows 0/10, 15.0 s left",
        "simulated 4.000000 ms, wall 10.0 s, 1.00 million events/s, flows 0/10, 30.0 s left"]


def test_time_left_by_the_nearer_end():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(False, 1002 * MS, 2 * MS, stream=stream, clock=clock)
    clock.now = 105
    progress.update(3 * MS, 0, 0, 10)      # a thousandth: no estimate yet
    clock.now = 110
    progress.update(4 * MS, 0, 8, 10)      # 8 of 10 flows in 10 s
    clock.now = 115
    progress.update(1002 * MS, 0, 10, 10)
    lines = stream.getvalue().splitlines()
    assert [line.rsplit(", ", 1)[1] for line in lines] == ["flows 0/10", "2.5 s left", "0.0 s left"]


def test_events_per_second_since_the_last_line():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(False, 0, stream=stream, clock=clock)
    for now, events in ((105, 10_000_000), (110, 15_000_000)):
        clock.now = now
        progress.update(1, events, 0, 0)
    assert [line.split(", ")[2] for line in stream.getvalue().splitlines()] == [
        "2.00 million events/s", "1.00 million events/s"]


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_quiet_shows_nothing(stream):
    clock = Clock()
    with Progress(True, 10 * MS, stream=stream, clock=clock) as progress:
        clock.now = 1000
        progress.update(1, 1, 1, 1)
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_status_line_that_goes_away():
    clock, stream = Clock(), Terminal()
    progress = Progress(False, 10 * MS, stream=stream, clock=clock)
    clock.now += 0.4
    progress.update(1, 1, 1, 1)
    assert stream.getvalue() == ""  # a run this short shows nothing
    clock.now += 0.2
    progress.update(5 * MS, 10, 1, 4)
    clock.now += 0.3
    progress.update(6 * MS, 10, 1, 4)
    progress.close()
    progress.close()
    assert "simulated 6.000000 ms" in stream.getvalue()


def test_rich_is_imported_on_a_terminal_only():
    code = ("import sys, io; from distsim.progress import Progress; t = [0.0]\n"
            "p = Progress(False, 1, stream=io.StringIO(), clock=lambda: t[0]); t[0] = 9.0\n"
            "p.update(1, 1, 1, 1)\n"
            "assert 'rich' not in sys.modules and 'numpy' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_texts():
    assert [time_text(ps) for ps in (0, 999, 64_240_000, 2_064_240_000, 10**12)] == [
        "0 ps", "999 ps", "64.240000 us", "2.064240 ms", "1.000000 s"]
    assert [wall_text(s) for s in (0, 59.9, 245, 7380)] == ["0.0 s", "59.9 s", "4 min 05 s", "2 h 03 min"]
    assert progress_text(10**6, 1.0, 2.5e6, None, 1000, 2000) == (
        "simulated 1.000000 us, wall 1.0 s, 2.50 million events/s, flows 1,000/2,000")
