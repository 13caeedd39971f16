"""Where the time of a job goes: steps, checkpoints, interruptions, restarts, against figures worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distsim.clusterrun.ledger import PARTS, Ledger, document, goodput, split
from distsim.clusterrun.progress import Plan, Progress, Standing, StepTime

S = 10**12


class Fixed:
    """Steps of one length, shorter or longer from given times on: [(from when, length or None)]."""

    def __init__(self, *times: tuple[int, int | None], base: int = S, sharing: int = 0, crossing: int | None = None):
        self.times, self.base, self.sharing, self.crossing = times, base, sharing, crossing
        self.crossed: list[int] = []

    def at(self, begin_ps: int) -> tuple[StepTime, int | None]:
        place = max(number for number, (since, _) in enumerate(self.times) if since <= begin_ps)
        later = self.times[place + 1][0] if place + 1 < len(self.times) else None
        return StepTime(self.times[place][1], self.base, self.sharing, f"sim-{place}"), later

    def across(self, begin_ps: int) -> StepTime:
        self.crossed.append(begin_ps)
        return StepTime(self.crossing, self.base, 0, "across")


def running(plan: Plan, timer: Fixed, at_ps: int = S, chips: int = 4) -> Progress:
    """A job that was submitted at 0 and runs since `at_ps`."""
    job = Progress(plan, 0, chips, timer=timer)
    job.start(at_ps, chips)
    return job


def seconds(job: Progress) -> dict[str, float]:
    """What a closed ledger holds, seconds, parts without time left out."""
    return {part: ps / S for part, ps in job.ledger.time_ps.items() if ps}


def test_the_example_of_the_readme():
    """Ten steps of 1 s, a checkpoint of 0.5 s after each fourth, restart_time 2 s; runs from 1 s on, loses its node at
    8.2 s, has another at 10 s. Steps 1-4 until 5 s, checkpoint until 5.5 s, steps 5 and 6 until 7.5 s, 0.7 s of step 7:
    2.7 s are lost. Waiting 1.8 s, restart until 12 s, steps 5-8 until 16 s, checkpoint until 16.5 s, 9 and 10 until
    18.5 s."""
    job = running(Plan(10, 4, S // 2, 0, 2 * S), Fixed((0, S)))
    job.advance(82 * S // 10)
    job.interrupt(82 * S // 10)
    assert job.start(10 * S, 4) == 2 and job.done == 4
    job.advance(100 * S)
    assert (job.standing, job.now_ps, job.done) == (Standing.OVER, 185 * S // 10, 10)
    assert seconds(job) == {"useful": 10, "queueing": 1, "lost": 2.7, "waiting": 1.8, "starting": 2, "checkpoint": 1}
    assert goodput(job.ledger.time_ps) == pytest.approx(10 / 18.5)
    figures = document(job.ledger)
    assert figures["parts_ps"] == {"useful": 10 * S, "queueing": S, "lost": 27 * S // 10, "restart": 38 * S // 10,
                                   "slow_down": 0, "checkpoint": S, "unfinished": 0}
    assert sum(figures["parts_ps"].values()) == figures["wall_ps"] == 185 * S // 10
    assert figures["chip_wall_ps"] == 4 * 185 * S // 10


def test_steps_that_were_saved_or_kept_are_not_lost():
    job = running(Plan(10, 4, 0, 0, 0), Fixed((0, S)))
    job.advance(75 * S // 10)
    job.interrupt(75 * S // 10)                 # six steps, and half of the seventh
    assert job.start(8 * S, 4, kept=True) == 0 and (job.done, job.saved) == (6, 6)
    job.advance(100 * S)
    assert seconds(job) == {"useful": 10, "queueing": 1, "lost": 0.5, "waiting": 0.5} and job.now_ps == 12 * S


def test_without_checkpoints_an_interruption_begins_anew():
    job = running(Plan(3), Fixed((0, S)))
    job.advance(3 * S)
    job.interrupt(3 * S)
    assert job.start(3 * S, 4) == 2
    job.advance(9 * S)
    assert seconds(job) == {"useful": 3, "queueing": 1, "lost": 2} and job.interruptions == 1


def test_a_checkpoint_cut_short_is_lost_and_a_restart_cut_short_is_a_restart():
    job = running(Plan(10, 2, S, 0, 2 * S), Fixed((0, S)))
    job.advance(35 * S // 10)                   # steps 1 and 2 until 3 s, half a checkpoint
    job.interrupt(35 * S // 10)
    job.start(4 * S, 4)
    job.advance(5 * S)
    job.interrupt(5 * S)
    job.close(5 * S, failed=True)
    assert seconds(job) == {"queueing": 1, "lost": 2.5, "waiting": 0.5, "starting": 1} and job.done == 0


def test_startup_is_before_the_first_step_and_restart_time_after_an_interruption():
    job = running(Plan(2, None, 0, 3 * S, 5 * S), Fixed((0, S)))
    job.advance(45 * S // 10)
    job.interrupt(45 * S // 10)
    job.start(45 * S // 10, 4)
    job.advance(99 * S)
    assert seconds(job) == {"useful": 2, "queueing": 1, "starting": 8, "lost": 0.5} and job.now_ps == 115 * S // 10


def test_what_a_step_takes_beyond_the_first_placement_alone_is_slow_down():
    job = running(Plan(4), Fixed((0, 3 * S), base=2 * S, sharing=S // 2), at_ps=0)
    job.advance(99 * S)
    assert seconds(job) == {"useful": 8, "slower": 2, "sharing": 2}
    faster = running(Plan(4), Fixed((0, S), base=2 * S), at_ps=0)
    faster.advance(99 * S)
    assert seconds(faster) == {"useful": 4}


def test_a_step_in_which_the_fabric_changes_is_timed_by_itself():
    """Steps of 1 s, from 2.5 s on 2 s; the third began at 2 s and takes 1.75 s."""
    timer = Fixed((0, S), (25 * S // 10, 2 * S), crossing=175 * S // 100)
    job = running(Plan(4), timer, at_ps=0)
    job.advance(25 * S // 10)
    assert timer.crossed == [] and job.done == 2           # not needed yet: it might be interrupted
    job.advance(99 * S)
    assert timer.crossed == [2 * S] and job.now_ps == (2 + 2) * S + 175 * S // 100
    assert [(span.steps, span.time.simulation) for span in job.spans] == [(2, "sim-0"), (1, "across"), (1, "sim-1")]
    assert seconds(job) == {"useful": 4, "slower": 1.75}


def test_a_step_that_cannot_end_stands_still_until_the_fabric_changes():
    timer = Fixed((0, S), (25 * S // 10, None), (7 * S, S), crossing=None)
    job = running(Plan(4), timer, at_ps=0)
    job.advance(5 * S)
    assert job.stalled and job.done == 2
    job.advance(99 * S)
    assert seconds(job) == {"useful": 4, "stalled": 5} and not job.stalled      # half of step 3 and 4.5 s, then anew


def test_the_end_is_foreseen_without_changing_anything():
    job = running(Plan(10, 4, S // 2), Fixed((0, S)))
    job.advance(3 * S)
    before = (job.now_ps, job.done, dict(job.ledger.open_time))
    assert job.foreseen(100 * S).now_ps == 12 * S and job.foreseen(100 * S).standing is Standing.OVER
    assert job.foreseen(115 * S // 10).standing is Standing.RUNNING
    assert (job.now_ps, job.done, dict(job.ledger.open_time)) == before and len(job.spans) == 1


def test_a_run_that_ends_early_leaves_a_step_unfinished():
    job = running(Plan(10, 4, 0), Fixed((0, S)))
    job.advance(35 * S // 10)
    job.close(35 * S // 10)
    assert seconds(job) == {"useful": 2, "queueing": 1, "unfinished": 0.5} and job.done == 2
    waiting = running(Plan(10, 4, 0), Fixed((0, S)))
    waiting.advance(35 * S // 10)
    waiting.interrupt(35 * S // 10)
    waiting.close(5 * S)
    assert seconds(waiting) == {"queueing": 1, "lost": 2.5, "waiting": 1.5}
    queued = Progress(Plan(1), 2 * S, 8)
    queued.close(5 * S)
    assert seconds(queued) == {"queueing": 3} and queued.ledger.chip_ps["queueing"] == 24 * S


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 40)), max_size=6), st.integers(1, 12),
       st.integers(0, 3), st.integers(0, 5), st.integers(1, 5))
def test_the_parts_sum_to_the_whole_whatever_happens(events, steps, pause, restart, every):
    """Interruptions after so long, kept or not, and again so long without pods."""
    timer = Fixed((0, 2), (17, 3), (40, None), (60, 2), crossing=5, base=2)
    job = running(Plan(steps, every, pause, 1, restart), timer, at_ps=3)
    now = 3
    for after, kept, without in events:
        now += after
        job.advance(now)
        if job.standing is Standing.OVER:
            break
        job.interrupt(now)
        now += without
        job.start(now, 4, kept)
    job.advance(now + 7)
    end = job.now_ps if job.standing is Standing.OVER else now + 7
    job.close(end, failed=len(events) % 2 == 0)
    assert sum(job.ledger.time_ps.values()) == end == job.ledger.total_ps
    assert sum(split(job.ledger.time_ps).values()) == end
    assert all(ps >= 0 for ps in job.ledger.time_ps.values()) and job.ledger.time_ps["useful"] <= 2 * steps


def test_every_part_belongs_to_one_line_of_the_split():
    assert sum(split(dict.fromkeys(PARTS, 1)).values()) == len(PARTS)
    assert goodput(Ledger().time_ps) == 0.0
