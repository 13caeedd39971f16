"""The cluster's clock with step times that are given: queueing, faults and recovery, jobs that share links, the end."""

from __future__ import annotations

import pytest
from clusterrun_cases import MS, S, Steps, cluster_file, faults_file, job, kinds, plan, run, seconds

from distsim.clusterrun.report import why
from distsim.scheduler.types import JobPhase


def test_a_job_runs_from_the_first_session_to_its_last_step(tmp_path):
    clock = run(cluster_file(tmp_path), [(job("a"), plan(5))], Steps(S // 2))
    track = clock.tracks["default/a"]
    assert seconds(clock, "a") == {"useful": 2.5, "queueing": 1}
    assert (track.job.phase, track.job.reason, track.end_ms) == (JobPhase.COMPLETED, "5 steps done", 3500)
    assert kinds(clock, "a") == [(1000, "enqueued"), (1000, "scheduled"), (1000, "running"), (3500, "completed")]
    assert (clock.now_ms, clock.sessions, clock.times.made) == (3500, 1, 1)


def test_a_job_that_waits_for_nodes_queues_until_the_session_after_the_end_of_the_other(tmp_path):
    """a needs all four nodes until 1 s + 3 x 0.7 s; the next session is at 4 s."""
    clock = run(cluster_file(tmp_path), [(job("a", 4), plan(3)), (job("b", 4), plan(1))], Steps(7 * S // 10))
    assert seconds(clock, "a") == {"useful": 2.1, "queueing": 1}
    assert seconds(clock, "b") == {"useful": 0.7, "queueing": 4} and clock.tracks["default/b"].first_ms == 4000


def test_a_node_fault_with_reschedule_loses_what_no_checkpoint_holds(tmp_path):
    """Steps of 1 s from 1 s on, checkpoint of 0.5 s after each fourth, restart 2 s; node0 fails at 8.2 s: steps 1-4 are
    safe, 5, 6 and 0.7 s of 7 are lost; session at 9 s, first step again at 11 s, four steps and a checkpoint until
    15.5 s, two until 17.5 s."""
    faults = faults_file(tmp_path, {"target": "node", "node": "node0", "at": "8200ms"})
    clock = run(cluster_file(tmp_path), [(job("a", fault_scheduling="force"), plan(10, 4, 500, 2000))], Steps(),
                faults)
    assert seconds(clock, "a") == {"useful": 10, "queueing": 1, "lost": 2.7, "waiting": 0.8, "starting": 2,
                                   "checkpoint": 1}
    assert clock.tracks["default/a"].end_ms == 17_500
    assert [place[:2] for place in clock.tracks["default/a"].places] == [          # by rank; pod 1 has its node again
        ("a-worker-0", "node2"), ("a-worker-1", "node1")]
    resumed = next(one for one in clock.timeline if one.kind == "resumed")
    assert (resumed.time_ms, resumed.message) == (9000, "at step 5 of 10, 2 steps lost")
    placements = [tuple(member.hosts for member in request.members) for request in clock.times.simulate.asked]
    assert placements == [((0, 1, 2, 3),), ((4, 5, 2, 3),)]                  # a new placement is simulated


def test_without_fault_scheduling_a_job_stands_still_on_a_dead_node(tmp_path):
    faults = faults_file(tmp_path, {"target": "node", "node": "node0", "at": "2s", "duration": "10s"})
    clock = run(cluster_file(tmp_path), [(job("a"), plan(4))], Steps(), faults)
    spent = seconds(clock, "a")
    assert spent["queueing"] == 1 and spent["useful"] == 4
    assert sum(spent.values()) * 1000 == clock.tracks["default/a"].end_ms and clock.tracks["default/a"].end_ms > 12_000
    stopped = run(cluster_file(tmp_path), [(job("a"), plan(4))], Steps(), faults, until_ms=6000)
    track = stopped.tracks["default/a"]
    assert why(track.job, "Running", track, stopped).startswith("stands still: ")


def test_a_pod_that_cannot_end_by_itself_is_forced_after_the_grace_time_and_the_job_placed_anew(tmp_path):
    """Pod 0 is on a node whose status is lost; nothing changes in the sessions of the 900 s until it is forced at
    903.5 s, yet there is one after that."""
    faults = faults_file(tmp_path, {"node": "node0", "fault_code": "heartbeatTimeOut", "at": "3500ms"})
    clock = run(cluster_file(tmp_path), [(job("a", fault_scheduling="grace"), plan(3))], Steps(), faults)
    assert seconds(clock, "a") == {"useful": 3, "queueing": 1, "lost": 2.5, "waiting": 900.5}
    assert (903_500, "evicted") in kinds(clock, "a") and (904_000, "resumed") in kinds(clock, "a")


def test_a_fault_within_one_millisecond_is_over_for_the_scheduler_too(tmp_path):
    """It begins and ends between 3 s and 3.001 s: seen from 3.001 s to 3.002 s, after which the node can be used."""
    faults = faults_file(tmp_path, {"node": "node0", "at": "3000100us", "duration": "200us"})
    clock = run(cluster_file(tmp_path), [(job("a", 4, fault_scheduling="force"), plan(3))], Steps(), faults)
    assert seconds(clock, "a") == {"useful": 3, "queueing": 1, "lost": 2.001, "waiting": 0.999}
    assert [one for one in kinds(clock) if one[1] in ("fault", "recovered")] == [(3001, "fault"), (3002, "recovered")]


def test_pods_that_become_sub_healthy_together_are_switched_one_after_the_other_at_once(tmp_path):
    one = job("a", 3, fault_scheduling="force", sub_healthy="hotSwitch")
    faults = faults_file(tmp_path, *({"node": node, "NodeHealthState": "SubHealthy", "at": "2s"}
                                     for node in ("node1", "node2")))
    clock = run(cluster_file(tmp_path, nodes=6), [(one, plan(3))], Steps(), faults)
    assert [at for at, kind in kinds(clock, "a") if kind == "switched"] == [2000, 2000]
    assert [node for _, node, _ in clock.tracks["default/a"].places] == ["node0", "node3", "node4"]


def test_a_failed_process_restarts_in_place_and_keeps_the_steps_of_the_others(tmp_path):
    """process-recover-enable with recover-in-place: no pod moves; the state is held by the other processes, so only the
    step under way is lost."""
    one = job("a", fault_scheduling="grace", process_recover=True, fault_retry_times=3)
    one.annotations["recover-strategy"] = "recover-in-place"
    faults = faults_file(tmp_path, {"target": "process", "job": "a", "rank": 3, "at": "4500ms"})
    clock = run(cluster_file(tmp_path), [(one, plan(10, 5, 0, 1000))], Steps(), faults)
    spent = seconds(clock, "a")
    assert spent["lost"] == 0.5 and spent["starting"] == 1 and spent["useful"] == 10
    stop = clock.recovery.stops(one)[0]
    assert stop.keeps and spent["waiting"] == (stop.ended_ms - stop.began_ms) / 1000
    assert [node for _, node, _ in clock.tracks["default/a"].places] == ["node0", "node1"]
    assert sum(spent.values()) * 1000 == clock.tracks["default/a"].end_ms


def test_a_pod_that_fails_too_often_fails_the_job_and_what_no_checkpoint_holds_is_lost(tmp_path):
    one = job("a", fault_scheduling="grace", pod_rescheduling=True, fault_retry_times=0)
    faults = faults_file(tmp_path, {"target": "pod", "job": "a", "rank": 1, "at": "6500ms"})
    clock = run(cluster_file(tmp_path), [(one, plan(100, 3))], Steps(), faults, until_ms=60_000)
    assert one.phase is JobPhase.FAILED and one.reason
    assert clock.tracks["default/a"].progress.done == 3
    spent = seconds(clock, "a")
    assert spent["queueing"] == 1 and spent["useful"] == 3 and spent["lost"] == 2.5


def test_jobs_on_their_own_racks_are_simulated_apart_and_jobs_that_share_a_spine_together(tmp_path):
    """a and b fill a rack each; in the second run each has a node of either rack."""
    cluster = cluster_file(tmp_path)
    apart = run(cluster, [(job("a"), plan(2)), (job("b"), plan(2))], Steps())
    assert [[member.job for member in request.members] for request in apart.times.simulate.asked] == [
        ["default/a"], ["default/b"]]
    jobs = [(job("a"), plan(2)), (job("b"), plan(2))]
    for (one, _), names in zip(jobs, (("node0", "node2"), ("node1", "node3"))):
        for task, name in zip(one.tasks, names):
            task.node_selector = {"kubernetes.io/hostname": name}
    steps = Steps(lambda request, name: S * len(request.members))
    together = run(cluster, jobs, steps)
    assert [[member.job for member in request.members] for request in steps.asked] == [
        ["default/a", "default/b"], ["default/a"], ["default/b"]]
    assert seconds(together, "a") == {"useful": 2, "slower": 2, "queueing": 1}


def test_a_job_alone_again_steps_on_at_full_speed_and_its_time_is_known(tmp_path):
    """b, of one step, shares links with a during its first step only."""
    jobs = [(job("a"), plan(4)), (job("b"), plan(1))]
    for (one, _), names in zip(jobs, (("node0", "node2"), ("node1", "node3"))):
        for task, name in zip(one.tasks, names):
            task.node_selector = {"kubernetes.io/hostname": name}
    clock = run(cluster_file(tmp_path), jobs, Steps(lambda request, name: S * len(request.members)))
    assert seconds(clock, "a") == {"useful": 4, "slower": 1, "queueing": 1}
    spans = clock.tracks["default/a"].progress.spans
    assert [(span.steps, span.time.ps, span.time.alone) for span in spans] == [(1, 2 * S, False), (3, S, True)]


def test_a_link_that_fails_in_mid_step_and_comes_back(tmp_path):
    """Steps of 1 s, 1.5 s with the link down; it is down from 3.4 s to 6.2 s: the step at 3 s goes across its failure,
    one follows at 4.25 s, the one at 5.75 s goes across its repair, two follow at 6.75 s and 7.75 s."""
    def times(request, name):
        events = request.faults.get("events", [])
        if not events:
            return S
        if "duration" not in events[0]:
            assert events == [{"target": "link", "at": "0ps", "between": ["RackSwitch-0", "SpineSwitch-0"],
                               "detection_time": "0ps"}]
            return 15 * S // 10
        assert events[0]["at"] in ("400ms", "0ps")
        return {"400ms": 125 * S // 100, "0ps": S}[events[0]["at"]]

    faults = faults_file(tmp_path, {"target": "link", "between": ["RackSwitch-0", "SpineSwitch-0"], "at": "3400ms",
                                    "duration": "2800ms"})
    steps = Steps(times)
    clock = run(cluster_file(tmp_path), [(job("a", 4), plan(7))], steps, faults)
    spans = clock.tracks["default/a"].progress.spans
    assert [(span.from_ps // MS, span.steps, span.time.ps // MS) for span in spans] == [
        (1000, 2, 1000), (3000, 1, 1250), (4250, 1, 1500), (5750, 1, 1000), (6750, 2, 1000)]
    assert seconds(clock, "a") == {"useful": 7, "slower": 0.75, "queueing": 1}
    assert [request.at_ps // MS for request in steps.asked] == [1000, 3000, 4250, 5750]
    assert spans[-1].time.simulation == "sim-0001"                 # the sound fabric is known


def test_a_nic_without_link_stalls_its_job_until_it_is_back_and_no_other(tmp_path):
    """a on node0 and node1, whose NIC 0 is down from 2.5 s on for 10 s, a link down that the scheduler ignores."""
    def times(request, name):
        return None if request.faults.get("events") and name == "default/a" else S

    faults = faults_file(tmp_path, {"target": "nic", "name": "NIC-0", "at": "2500ms", "duration": "10s"})
    clock = run(cluster_file(tmp_path), [(job("a"), plan(3)), (job("b"), plan(3))], Steps(times), faults)
    assert seconds(clock, "a") == {"useful": 3, "stalled": 10.5, "queueing": 1}
    assert seconds(clock, "b") == {"useful": 3, "queueing": 1}
    assert [kind for kind in kinds(clock, "a") if kind[1] in ("standing", "going")] == [
        (2000, "standing"), (12500, "going")]


def test_a_job_that_can_never_go_on_ends_the_run_as_running_with_a_reason(tmp_path):
    def times(request, name):
        return None if request.faults else S

    faults = faults_file(tmp_path, {"target": "switch", "name": "RackSwitch-0", "at": "2500ms"})
    clock = run(cluster_file(tmp_path), [(job("a"), plan(3))], Steps(times), faults)
    track = clock.tracks["default/a"]
    assert track.job.phase is JobPhase.RUNNING and track.progress.done == 1
    assert why(track.job, "Running", track, clock) == "stands still: no step can end in this state of the fabric"


def test_a_job_that_never_fits_ends_the_run_as_pending_with_a_reason(tmp_path):
    clock = run(cluster_file(tmp_path), [(job("a"), plan(2)), (job("big", 2), plan(2))], Steps(),
                busy=("node2", "node3"), until_ms=None)
    assert seconds(clock, "big") == {"useful": 2, "queueing": 3}
    stuck = run(cluster_file(tmp_path), [(job("big", 3), plan(2))], Steps(), busy=("node2", "node3"))
    track = stuck.tracks["default/big"]
    assert track.job.phase is not JobPhase.RUNNING and why(track.job, "Pending", track, stuck)
    assert stuck.sessions < 30 and set(seconds(stuck, "big")) == {"queueing"}


def test_until_cuts_the_run_off(tmp_path):
    clock = run(cluster_file(tmp_path), [(job("a"), plan(100, 10))], Steps(), until_ms=5500)
    assert seconds(clock, "a") == {"useful": 4, "queueing": 1, "unfinished": 0.5}
    track = clock.tracks["default/a"]
    assert why(track.job, "Running", track, clock) == "cut off at 5500 ms, 4 of 100 steps done"


def test_jobs_on_one_chip_slow_each_other_down(tmp_path):
    """Two pods of elastic quotas 30 and 20 on a chip: all of it is shared out 3 to 2, so the first takes 5/3 of its
    computation alone, 0.6 s of 1 s, and the step 1.4 s."""
    from distsim.clusterrun.work import Work

    shared = {"schedule_policy": "chip1-softShareDev", "hbm_quota_mb": 1000, "share_policy": "elastic"}
    jobs = [(job("a", 1, 1, aicore_quota=30, **shared), plan(5)), (job("b", 1, 1, aicore_quota=20, **shared), plan(5))]
    section = {"kind": "training", "compute": "600ms", "gradients": "0B", "steps": 1}
    works = {one.uid: Work(section, its, 6 * S // 10) for one, its in jobs}
    clock = run(cluster_file(tmp_path), jobs, Steps(), until_ms=2500, works=works)
    assert [place[1] for place in clock.tracks["default/a"].places] == ["node0"]
    assert [place[2] for track in clock.tracks.values() for place in track.places] == [1, 1]
    assert seconds(clock, "a") == pytest.approx({"useful": 1, "sharing": 0.4, "queueing": 1, "unfinished": 0.1})


def test_jobs_are_handed_in_when_they_were_created(tmp_path):
    late = job("late")
    late.created_ms = 2500
    clock = run(cluster_file(tmp_path), [(job("a"), plan(1)), (late, plan(1))], Steps())
    assert seconds(clock, "late") == {"useful": 1, "queueing": 0.5}


def test_the_parts_of_every_job_sum_to_its_time_in_the_cluster(tmp_path):
    faults = faults_file(
        tmp_path, {"target": "node", "node": "node1", "at": "3300ms", "duration": "9s"},
        {"target": "link", "between": ["RackSwitch-1", "SpineSwitch-*"], "at": "4100ms", "duration": "2777ms"},
        {"target": "chip", "node": "node2", "npu_name": "Ascend910-1", "at": "7700ms", "duration": "3s"})
    jobs = [(job(name, 2, fault_scheduling="force"), plan(9, 4, 300, 700)) for name in ("a", "b", "c")]
    clock = run(cluster_file(tmp_path), jobs, Steps(lambda request, name: S + len(request.members) * 10**11), faults,
                until_ms=40_000)
    for track in clock.tracks.values():
        end_ps = track.progress.now_ps
        assert sum(track.progress.ledger.time_ps.values()) == end_ps - track.progress.submitted_ps
        assert track.job.phase is JobPhase.COMPLETED
