"""What a job does: the map of workloads with its key `job`, nccl-tests in containers, bandwidths, names."""

from __future__ import annotations

import pytest
from chakra_cases import coll, trace, write
from cluster_cases import load_text
from clusterrun_cases import S, cluster_file, job, job_file

from distsim.cluster import load_cluster
from distsim.cluster.job_steps import JobSteps
from distsim.cluster.workloads_map import steps_for, workload_for
from distsim.clusterrun.check import check_jobs
from distsim.clusterrun.command import benchmark
from distsim.clusterrun.packets import part_names
from distsim.clusterrun.progress import Plan
from distsim.clusterrun.track import member_of, provisional
from distsim.clusterrun.work import Work, work_of, works_of
from distsim.errors import InputError
from distsim.scheduler.read import read_jobs
from distsim.scheduler.state import state_of
from distsim.workloadrun.traffic import part_on

TEXT = """
name: c
pools: [{name: npu, count: 4, names: "node{0}", chips: {product: A, count: 2, resource: huawei.com/Ascend910},
         nics: {count: 2, rate: 400Gbps}}]
workloads:
"""
FULL = ("job: {steps: 1000, checkpoint_every: 100, checkpoint_time: 5s, restart_time: 30s, inference: true}")


def work(tmp_path, entry: str, name: str = "train", command=("python",)) -> Work:
    """What a job of a name does under one entry of the map."""
    cluster = load_text(tmp_path, TEXT + f"  train: {{{entry}}}\n")
    one = job(name)
    one.command = tuple(command)
    return work_of(one, cluster)


def test_the_key_job_beside_a_workload(tmp_path):
    cluster = load_text(tmp_path, TEXT + f"  train: {{collective: {{size: 4MB}}, {FULL}}}\n")
    assert workload_for("train", "", "", cluster.workloads) == {"kind": "collective", "size": "4MB"}
    steps = steps_for("train", "", "", cluster.workloads)
    assert steps == JobSteps(steps=1000, checkpoint_every=100, checkpoint_time="5s", restart_time="30s", inference=True)
    assert steps_for("other", "", "", cluster.workloads) == JobSteps()
    one = job("train")
    assert work_of(one, cluster).plan == Plan(1000, 100, 5 * S, 0, 30 * S)
    assert one.annotations["distsim/subscribe-faults"] == "on"            # as the recovery knows an inference job


@pytest.mark.parametrize(("given", "said"), [
    ("job: 3", "workloads.train.job: 3 is not a section of keys; write e.g. {steps: 1000}"),
    ("job: {steps: 0}", "workloads.train.job.steps: 0 is out of range; valid: 1 to 1000000000"),
    ("job: {stps: 1}", "workloads.train.job.stps: unknown key 'stps'; nearest"),
    ("job: {checkpoint_every: 2000000000}", "job.checkpoint_every: 2000000000 is out of range; valid: 1 to 1000000000"),
    ("job: {restart_time: 3}", "workloads.train.job.restart_time: 3 has no unit"),
    ("job: {checkpoint_time: 3s}", "workloads.train.job: checkpoint_time stands without checkpoint_every; give both"),
    ("job: {inference: maybe}", "workloads.train.job.inference: 'maybe' is not true or false"),
])
def test_what_is_wrong_in_the_key_job_is_told_with_its_place(tmp_path, given, said):
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, TEXT + f"  train: {{collective: {{size: 4MB}}, {given}}}\n")
    assert said in str(caught.value) and "cluster.yaml:6" in str(caught.value)


def test_a_key_job_without_a_workload_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"workloads\.train: job stands alone, without a workload; valid: one of"):
        load_text(tmp_path, TEXT + "  train: {job: {steps: 3}}\n")


def test_a_step_of_a_training_is_one_of_its_steps_and_its_own_keys_are_the_defaults(tmp_path):
    training = ("training: {compute: 20ms, gradients: 1MB, steps: 300, startup: 7s, log_interval: 5, optimizer: 1ms, "
                "checkpoint: {every: 50, pause: 2s}}")
    found = work(tmp_path, training)
    assert found.section == {"kind": "training", "compute": "20ms", "gradients": "1MB", "optimizer": "1ms", "steps": 1}
    assert found.plan == Plan(300, 50, 2 * S, 7 * S, 7 * S) and found.compute_ps == 21 * 10**9
    other = work(tmp_path, training + ", job: {steps: 9, checkpoint_every: 3, restart_time: 1s}")
    assert other.plan == Plan(9, 3, 0, 7 * S, S)
    assert work(tmp_path, "training: {compute: 1ms, gradients: 0B}").plan == Plan(100)
    assert work(tmp_path, "collective: {size: 1MB}").plan == Plan(1)


@pytest.mark.parametrize(("command", "line"), [
    (["/opt/all_reduce_perf_mpi", "-b", "8"], "all_reduce_perf -b 8"),
    (["mpirun", "-np", "16", "/x/alltoall_perf", "-e", "1M"], "alltoall_perf -e 1M"),
    (["/bin/bash", "-c", "cd /x && mpirun -np 16 -x A=1 /b/all_reduce_perf -b 8 -e 1M 2>&1 | tee log"],
     "all_reduce_perf -b 8 -e 1M"),
    (["sh", "-c", "/b/sendrecv_perf -n 20 > /tmp/log; sleep 5"], "sendrecv_perf -n 20"),
    (["bash", "-c", "/b/all_gather_perf \\\n -b 4K\nsleep 3"], "all_gather_perf -b 4K"),
    (["bash", "-c", "echo 'open"], None), (["bash"], None), (["python", "train_perf.py"], None), ([], None)])
def test_a_program_of_nccl_tests_is_found_in_a_command(command, line):
    assert benchmark(command) == line


def test_nccl_tests_in_a_container_are_that_benchmark_and_need_no_entry(tmp_path):
    found = work(tmp_path, "collective: {size: 1MB}", "bench", ["bash", "-c", "mpirun all_reduce_perf -b 1M -e 1M"])
    assert found.section == {"kind": "nccl-tests", "command": "all_reduce_perf -b 1M -e 1M"} and found.benchmark
    assert found.plan == Plan(1)


def test_a_job_that_maps_to_nothing_is_refused_by_name_and_place(tmp_path):
    jobs, _ = read_jobs([job_file(tmp_path, "lost")])
    with pytest.raises(InputError) as caught:
        works_of(jobs, load_cluster(cluster_file(tmp_path, workloads={"other": {"collective": {"size": "1MB"}}})))
    assert "lost.job.yaml" in str(caught.value)
    assert "job 'lost' (image 'img:1', command 'python') is no nccl-tests and maps to no workload" in str(caught.value)


def test_a_job_that_cannot_be_simulated_is_refused_before_anything_runs(tmp_path):
    cluster = load_cluster(cluster_file(tmp_path))
    one = job("bad")
    section = {"kind": "collective", "collective": "all_reduce", "algorithm": "carrier-pigeon"}
    with pytest.raises(InputError, match=r"job default/bad cannot be simulated: .*carrier-pigeon.* is no algorithm"):
        check_jobs([one], {one.uid: Work(section, Plan(1))}, cluster)
    elastic = job("grows", elastic=True)
    with pytest.raises(InputError, match="job default/grows is elastic, and its traces t are those of a fixed number"):
        check_jobs([elastic], {elastic.uid: Work({"kind": "chakra", "file": "t"}, Plan(1))}, cluster)


def test_traces_with_more_ranks_than_the_fewest_pods_have_nics_are_warned_of(tmp_path):
    """Four traces: two pods of two chips are enough, one (minAvailable) is not; a job of one pod is refused."""
    cluster = load_cluster(cluster_file(tmp_path))
    prefix = write(tmp_path, *[trace(coll(1))] * 4)
    works = {name: Work({"kind": "chakra", "file": prefix}, Plan(1)) for name in ("default/t", "default/small")}
    assert check_jobs([job("t")], works, cluster) == []
    one = job("t")
    one.min_available = 1
    (said,) = check_jobs([one], works, cluster)
    assert said.startswith("job default/t may come to run with 1 pod of 2 chips, which its workload cannot: ")
    with pytest.raises(InputError, match=r"job default/small cannot be simulated: .* have 4 ranks, job 'small' has 2"):
        check_jobs([job("small", 1)], works, cluster)


def test_bus_bandwidth_of_a_loop_of_collectives():
    """8 ranks, 70 MB in 10 ms: 7 GB/s; times 2 * 7 / 8 for all_reduce, 7 / 8 for all_to_all, 1 for broadcast."""
    def bus(ranks=8, **section):
        return Work({"kind": "collective", "size": "70MB", **section}, Plan(1)).bus_gbs(ranks, S // 100)

    assert bus() == pytest.approx(12.25)
    assert bus(collective="all_to_all") == pytest.approx(6.125)
    assert bus(collective="broadcast") == pytest.approx(7)
    assert bus(iterations=4) == pytest.approx(49)
    assert bus(groups=[[0, 1], [2, 3]]) == pytest.approx(7)            # groups of two: 2 * 1 / 2
    assert bus(collective="all_gather", size="1MB", size_counts="member") == pytest.approx(0.7)
    assert bus(collective="barrier") is None
    assert Work({"kind": "training"}, Plan(1)).bus_gbs(8, S) is None


def test_computation_is_what_shared_chips_stretch():
    assert Work({"kind": "training"}, Plan(1), 3 * S).stretch_ps(5 * S, 1.5) == 15 * S // 10
    assert Work({"kind": "chakra"}, Plan(1), None).stretch_ps(5 * S, 1.5) == 25 * S // 10
    assert Work({"kind": "collective"}, Plan(1)).stretch_ps(5 * S, 1.5) == 0


def test_parts_have_the_names_of_their_jobs_and_differ():
    assert part_names(["a/x.y", "b/x.y", "c/-z"]) == {"a/x.y": "x-y", "b/x.y": "x-y-2", "c/-z": "z"}


def test_ranks_stand_in_order_of_pods_and_chips_and_a_nic_is_one_rank(tmp_path):
    """Four chips on two NICs: chips 0 and 1 have NIC 0, 2 and 3 NIC 1."""
    pool = {"name": "npu", "count": 3, "names": "node{0}", "chips": {"product": "A", "count": 4,
            "resource": "huawei.com/Ascend910"}, "nics": {"count": 2, "rate": "400Gbps"}}
    cluster = load_cluster(cluster_file(tmp_path, pools=[pool]))
    state, one = state_of(cluster), job("a", 2, 3)
    for task, (node, mask, rank) in zip(one.tasks, (("node2", 0b0111, 1), ("node1", 0b1110, 0))):
        state.assign(task, node, mask)
        task.rank = rank
    nics = {name: cluster.by_name[name].nics for name in ("node1", "node2")}
    found = member_of(one, state)
    assert found.hosts == (*nics["node1"], *nics["node2"]) and (found.servers, found.per_server) == (2, 2)
    guessed = provisional(one, cluster)
    assert guessed is not None and guessed.hosts == (*cluster.by_name["node0"].nics, *nics["node1"])
    assert provisional(job("b", 4, 3), cluster) is None


def test_nccl_defaults_of_the_cluster_hold_for_every_part(tmp_path):
    nccl = {"channels": 2, "scale_up": {"gpus_per_server": 2}}
    found = part_on({"kind": "nccl-tests", "command": "all_reduce_perf"}, "a", [0, 1, 4, 5], 2, nccl)
    assert found == {"kind": "nccl-tests", "command": "all_reduce_perf", "channels": 2, "gpus_per_server": 2,
                     "scale_up": {"gpus_per_server": 2}, "name": "a", "hosts": [0, 1, 4, 5]}
