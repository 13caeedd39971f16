"""job-reschedule-reason: fields, order, the ten records of a job, the ten tasks of a record, trimming at 950 KB."""

from __future__ import annotations

import json

from sched_fault_cases import World, card, fails, running, state_with

from distsim.scheduler.faults.clock import log_time, rfc3339, unix_s
from distsim.scheduler.faults.reasons import MOST_BYTES, Reasons, TaskReason

KEY = "recent-reschedule-records"


def size(document: dict[str, object]) -> int:
    return len(json.dumps(document[KEY], separators=(",", ":")))


def test_times_as_they_are_written() -> None:
    assert (unix_s(1999), rfc3339(1999), log_time(1999)) == (1, "1970-01-01T00:00:01Z", "I0101 00:00:01")
    assert rfc3339(86_400_000, 86_400 * 30) == "1970-02-01T00:00:00Z"         # 31 days
    assert log_time(0, 86_400 * 30) == "I0131 00:00:00"


def test_a_record() -> None:
    state = state_with(4)
    running(state, ["n0", "n1"], fault_scheduling="force")
    world = World(state, [card("n1", [0], at_s=75)]).run(80)
    assert world.recovery.reschedule_reasons() == {KEY: {"default/job": {
        "JobID": "default/job", "TotalRescheduleTimes": 1, "RescheduleRecords": [{
            "LogFileFormatTime": "I0101 00:01:15", "RescheduleTimeStamp": "1970-01-01T00:01:15Z",
            "ReasonOfTask": [{"RescheduleReason": "CardUnhealthy", "PodName": "job-worker-1", "NodeName": "n1",
                              "NodeRankIndex": "1"}]}]}}}


def test_reasons_of_pods_and_processes() -> None:
    state = state_with(6)
    running(state, ["n0", "n1"], fault_scheduling="force", fault_retry_times=5, process_recover=True)
    faults = [fails("pod", 1, 10), fails("process", 9, 20, index=1)]
    records = World(state, faults).run(30).recovery.reschedule_reasons()[KEY]["default/job"]["RescheduleRecords"]
    assert [one["ReasonOfTask"][0]["RescheduleReason"] for one in records] == ["process-exception", "pod-failed"]


def test_newest_first_ten_at_most_and_the_total_counts_on() -> None:
    reasons = Reasons()
    for second in range(13):
        reasons.add("default/job", [TaskReason("CardUnhealthy", "p", "n", 0)], second * 1000)
    entry = reasons.document()[KEY]["default/job"]
    assert entry["TotalRescheduleTimes"] == 13
    assert [record["RescheduleTimeStamp"][17:19] for record in entry["RescheduleRecords"]] == [
        f"{second:02}" for second in range(12, 2, -1)]


def test_ten_tasks_a_record() -> None:
    reasons = Reasons()
    reasons.add("default/job", [TaskReason("NodeUnhealthy", f"p{index}", "n", index) for index in range(12)], 0)
    tasks = reasons.document()[KEY]["default/job"]["RescheduleRecords"][0]["ReasonOfTask"]
    assert [task["PodName"] for task in tasks] == [f"p{index}" for index in range(10)]


def filled(jobs: int, records: int, pod: int) -> Reasons:
    """Jobs with records of one task each, whose pod has a name of `pod` letters."""
    reasons = Reasons()
    for job in range(jobs):
        for _ in range(records):
            reasons.add(f"default/job{job:04}", [TaskReason("CardUnhealthy", "p" * pod, "n", 0)], 0)
    return reasons


def test_up_to_the_limit_nothing_is_dropped() -> None:
    """The text grows by one byte a letter: just at 972,800 bytes all records stay, at one more the oldest of each goes.

    With 2 jobs of 2 records the text without pods is short; the limit is met by the length of the pods' names.
    """
    assert MOST_BYTES == 972_800
    short = size(filled(2, 2, 0).document())
    letters, rest = divmod(MOST_BYTES - short, 4)
    fits = filled(2, 2, letters)
    assert size(fits.document()) == MOST_BYTES - rest
    assert [len(job["RescheduleRecords"]) for job in fits.document()[KEY].values()] == [2, 2]
    over = filled(2, 2, letters + 1)
    assert [len(job["RescheduleRecords"]) for job in over.document()[KEY].values()] == [1, 1]


def test_one_record_of_each_job_goes_a_pass_until_it_fits() -> None:
    """100 jobs of 10 records of about 1,200 bytes: 1.2 MB. After two passes 8 records each are left, 0.96 MB."""
    reasons = filled(100, 10, 1000)
    document = reasons.document()
    each = size(filled(1, 2, 1000).document()) - size(filled(1, 1, 1000).document())
    assert 100 * 9 * each > MOST_BYTES > 100 * (8 * each + 120)
    assert {len(job["RescheduleRecords"]) for job in document[KEY].values()} == {8}
    assert {job["TotalRescheduleTimes"] for job in document[KEY].values()} == {10}
    assert size(document) <= MOST_BYTES


def test_the_newest_record_of_a_job_always_stays() -> None:
    reasons = filled(1000, 3, 2000)                                  # 2.1 MB with one record each
    document = reasons.document()
    assert {len(job["RescheduleRecords"]) for job in document[KEY].values()} == {1} and size(document) > MOST_BYTES


def test_jobs_with_one_record_lose_none_while_others_do() -> None:
    reasons = filled(2, 10, 50_000)                                   # 1 MB
    reasons.add("default/alone", [TaskReason("NodeUnhealthy", "p", "n", 3)], 0)
    document = reasons.document()[KEY]
    assert len(document["default/alone"]["RescheduleRecords"]) == 1
    assert [len(document[f"default/job{job:04}"]["RescheduleRecords"]) for job in range(2)] == [9, 9]


def test_what_has_been_trimmed_is_gone() -> None:
    reasons = filled(2, 10, 50_000)
    first = reasons.document()
    assert reasons.document() == first
    reasons.add("default/job0000", [TaskReason("NodeUnhealthy", "p", "n", 3)], 5000)
    assert len(reasons.document()[KEY]["default/job0000"]["RescheduleRecords"]) == 10
