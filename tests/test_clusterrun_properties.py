"""Whatever fails, and however jobs recover: no time is lost or counted twice, and every job ends with a reason."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from clusterrun_cases import S, Steps, cluster_file, faults_file, job, plan, run
from hypothesis import given, settings
from hypothesis import strategies as st

from distsim.cluster import Cluster, load_cluster
from distsim.clusterrun.report import COMPLETED, FAILED, state_of, why

NODES = tuple(f"node{number}" for number in range(6))
LEVELS = ("NotHandleFault", "RestartRequest", "RestartBusiness", "FreeRestartNPU", "RestartNPU", "SeparateNPU",
          "PreSeparateNPU", "SubHealthFault")
AT = st.integers(0, 25_000)
LASTS = st.one_of(st.none(), st.integers(1, 40_000))


def fault(target: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Faults of a target at any time."""
    return st.fixed_dictionaries({"target": st.just(target), "at": AT.map("{}ms".format), **fields})


def lasting(target: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Faults of a target that last for a while or for good."""
    both = fault(target, **fields, duration=LASTS.map(lambda ms: None if ms is None else f"{ms}ms"))
    return both.map(lambda found: {key: value for key, value in found.items() if value is not None})


FAULTS = st.lists(st.one_of(
    lasting("node", node=st.sampled_from(NODES)),
    lasting("chip", node=st.sampled_from(NODES), npu_name=st.sampled_from(("Ascend910-0", "Ascend910-0,Ascend910-1")),
            fault_handling=st.sampled_from(LEVELS)),
    lasting("nic", node=st.sampled_from(NODES), index=st.integers(0, 1)),
    lasting("link", between=st.sampled_from((["RackSwitch-0", "SpineSwitch-*"], ["RackSwitch-1", "SpineSwitch-0"]))),
    fault("pod", job=st.sampled_from("ab"), rank=st.integers(0, 1)),
    fault("process", job=st.sampled_from("ab"), rank=st.integers(0, 3))), max_size=6)
JOB = st.fixed_dictionaries({
    "fault_scheduling": st.sampled_from(("off", "grace", "force")), "fault_retry_times": st.integers(0, 2),
    "pod_rescheduling": st.booleans(), "process_recover": st.booleans(),
    "sub_healthy": st.sampled_from(("ignore", "graceExit", "forceExit", "hotSwitch")), "elastic": st.booleans(),
    "distributed": st.just(True)})


@cache
def cluster() -> Cluster:
    """Three racks of two nodes."""
    with tempfile.TemporaryDirectory() as folder:
        return load_cluster(cluster_file(Path(folder), nodes=6))


def step(request, name: str) -> int | None:
    """Longer beside others and with faults; none for the job a once a NIC has no link."""
    events = request.faults.get("events", ())
    if name == "default/a" and any(event["target"] == "nic" and "duration" not in event for event in events):
        return None
    return S // 4 * len(request.members) + S // 8 * len(events)


@settings(max_examples=60, deadline=None)
@given(FAULTS, JOB, JOB, st.one_of(st.none(), st.integers(1, 60_000)))
def test_time_is_counted_once_and_every_job_ends_with_a_reason(faults, first, second, until_ms):
    jobs = [(job("a", 2, **first), plan(30, 7, 200, 900)), (job("b", 3, **second), plan(20, None, 0, 100))]
    with tempfile.TemporaryDirectory() as folder:
        clock = run(cluster(), jobs, Steps(step), faults_file(Path(folder), *faults), until_ms)
    for track in clock.tracks.values():
        ledger, progress = track.progress.ledger, track.progress
        assert sum(ledger.time_ps.values()) == progress.now_ps - progress.submitted_ps
        assert not any(ledger.open_time.values()) and min(ledger.chip_ps.values()) >= 0
        assert 0 <= progress.done <= progress.plan.steps
        assert ledger.time_ps["useful"] <= progress.done * S // 2
        state = state_of(track.job, track)
        assert why(track.job, state, track, clock)
        if state == COMPLETED:
            assert progress.done == progress.plan.steps
        if state in (COMPLETED, FAILED):
            assert all(task.node is None for task in track.job.tasks)
    times = [one.time_ms for one in clock.timeline]
    assert times == sorted(times)
