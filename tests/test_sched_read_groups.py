"""PodGroups: with pods that name them, by themselves, and of a job in the same files."""

from __future__ import annotations

import pytest
from sched_files import ascend, job_of, jobs_of, volcano, write

from distsim.scheduler.read import read_jobs

CHIP = "huawei.com/Ascend910"


def group(name: str = "g", spec: str = "minMember: 2", metadata: str = "") -> str:
    return (f"apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {{name: {name}, {metadata}}}\n"
            f"spec: {{{spec}}}\n---\n")


def pod(name: str, of: str = "g", chips: int = 8, metadata: str = "",
        key: str = "scheduling.k8s.io/group-name") -> str:
    return (f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {{{key}: {of}}}, {metadata}}}\n"
            f"spec: {{containers: [{{name: a, image: i:1, resources: {{limits: {{{CHIP}: {chips}}}}}}}]}}\n---\n")


def test_pods_that_name_their_group(tmp_path):
    text = (pod("p1") + group(spec="minMember: 2, queue: q, priority: 4, networkTopology: {mode: hard, "
                              "highestTierAllowed: 1}", metadata="labels: {fault-scheduling: force}")
            + pod("p0") + pod("p2", key="scheduling.volcano.sh/group-name"))
    job = job_of(tmp_path, text)
    assert (job.uid, job.kind, job.queue, job.priority, job.min_available) == ("default/g", "PodGroup", "q", 4, 2)
    assert [(task.name, task.chips, task.index) for task in job.tasks] == [("p1", 8, 0), ("p0", 8, 1), ("p2", 8, 2)]
    assert job.network_topology == {"mode": "hard", "highestTierAllowed": 1}
    assert (job.settings.fault_scheduling, job.image, job.annotations) == ("force", "i:1", {})


def test_a_group_by_itself_is_min_member_equal_pods(tmp_path):
    job = job_of(tmp_path, group(spec=f"minMember: 4, minResources: {{{CHIP}: 32, cpu: 10, memory: 7}}"))
    # 32 / 4 chips, 10000 milli / 4, 7 bytes / 4 rounded up
    assert [task.request for task in job.tasks] == [{CHIP: 8, "cpu": 2500, "memory": 2}] * 4
    assert [task.name for task in job.tasks] == ["g-0", "g-1", "g-2", "g-3"]
    assert (job.min_available, job.resource, job.tasks[0].chips) == (4, CHIP, 8)


def test_without_min_member_one_pod_will_do(tmp_path):
    assert job_of(tmp_path, group(spec="queue: q") + pod("p0") + pod("p1")).min_available == 1


@pytest.mark.parametrize("reference", ["", "ownerReferences: [{kind: Job, name: train}]"])
def test_the_group_of_a_job_adds_what_the_job_leaves_open(tmp_path, reference):
    name = "train-1f2e" if reference else "train"
    owned = ", ".join(filter(None, [reference, "labels: {tor-affinity: normal-schema, fault-scheduling: force}"]))
    text = group(name, "minMember: 1, queue: q, networkTopology: {mode: soft}", owned)
    job = job_of(tmp_path, text + volcano(metadata="labels: {fault-scheduling: grace}", replicas=3))
    assert (job.kind, job.name, job.queue, job.min_available) == ("VolcanoJob", "train", "q", 1)
    assert job.network_topology == {"mode": "soft"}
    assert (job.settings.tor_affinity, job.settings.fault_scheduling) == ("normal-schema", "grace")
    own = job_of(tmp_path, text + volcano("minAvailable: 3\nqueue: mine", replicas=3))
    assert (own.queue, own.min_available) == ("mine", 3)


def test_pods_of_a_jobs_group_are_those_of_the_job(tmp_path):
    (job,), lines = jobs_of(tmp_path, group("train") + pod("train-worker-0", "train") + volcano())
    assert (job.kind, len(job.tasks)) == ("VolcanoJob", 2)
    assert lines == [f"{tmp_path / 'job.yaml'}: not acted on: objects: 1 pods of default/train, made by job "
                     "default/train"]


def test_a_group_of_another_namespace_is_a_job_of_its_own(tmp_path):
    text = group("acjob", f"minResources: {{{CHIP}: 1}}", "namespace: other")
    jobs, _ = jobs_of(tmp_path, text + ascend())
    assert [job.uid for job in jobs] == ["other/acjob", "default/acjob"]


def test_groups_and_pods_may_stand_in_several_files(tmp_path):
    paths = [write(tmp_path, pod("p0") + volcano(), "1.yaml"), write(tmp_path, group(spec="minMember: 1"), "2.yaml")]
    jobs, _ = read_jobs(paths)
    assert [job.name for job in jobs] == ["train", "g"]


def test_a_pod_of_no_group_is_named(tmp_path):
    _, lines = jobs_of(tmp_path, volcano() + "\n---\n" + pod("lone", key="else"))
    assert lines == [f"{tmp_path / 'job.yaml'}: not acted on: objects: Pod lone, of no PodGroup"]


def test_too_few_pods_for_the_group(tmp_path):
    job = job_of(tmp_path, group() + pod("p0"))
    assert (job.refusal.reason, job.refusal.message) == ("NotEnoughPod", "minAvailable is 2, the job has 1 pod")
