"""Jobs as people have them: VolcanoJob and AscendJob, their pods, labels, amounts and priorities."""

from __future__ import annotations

from pathlib import Path

import pytest
from sched_files import ascend, container, job_of, jobs_of, volcano, write

from distsim.scheduler.read import read_jobs
from distsim.scheduler.read.ascend import UNLIMITED

REFERENCE = Path("/work/shared/reference/cluster")
CHIP = "huawei.com/Ascend910"


def test_a_volcano_job(tmp_path):
    text = volcano("""\
        minAvailable: 2
        queue: team-a
        maxRetry: 5
        policies:
        - {event: PodEvicted, action: RestartJob}
        - {exitCode: 3, action: TerminateJob}
        - {events: [PodFailed, Unknown], action: RestartTask}
        """, replicas=3)
    job = job_of(tmp_path, text)
    assert (job.uid, job.kind, job.queue) == ("default/train", "VolcanoJob", "team-a")
    assert (job.max_retry, job.min_available) == (5, 2)
    assert job.policies == (("PodEvicted", "RestartJob", None), ("PodFailed", "TerminateJob", 3),
                            ("PodFailed", "RestartTask", None), ("Unknown", "RestartTask", None))
    assert (job.resource, job.image, job.command) == (CHIP, "torch:1", ("/bin/bash", "-c", "train.sh"))
    assert [(task.name, task.role, task.index, task.chips) for task in job.tasks] == [
        (f"train-worker-{index}", "worker", index, 8) for index in range(3)]
    assert (job.file, job.line, job.refusal) == (str(tmp_path / "job.yaml"), 1, None)


def test_what_is_not_said_has_its_default(tmp_path):
    job = job_of(tmp_path, volcano(replicas=3))
    assert (job.queue, job.max_retry, job.min_available, job.priority) == ("default", 3, 3, 0)


def test_min_available_of_tasks_adds_up(tmp_path):
    second = "  - replicas: 2\n    template: {spec: {containers: [{name: a}]}}\n"
    text = volcano(replicas=4) + "    minAvailable: 1\n" + second
    job = job_of(tmp_path, text)
    assert job.min_available == 1 + 2
    assert [task.name for task in job.tasks[4:]] == ["train-default1-0", "train-default1-1"]
    assert [task.chips for task in job.tasks] == [8, 8, 8, 8, 0, 0]
    assert len(job.npu_tasks) == 4


def test_an_ascend_job_has_its_master_first(tmp_path):
    text = ascend(3, """\
        runPolicy:
          backoffLimit: 4
          schedulingPolicy: {queue: q, minAvailable: 2}
        """)
    job = job_of(tmp_path, text)
    assert [task.name for task in job.tasks] == ["acjob-master-0", "acjob-worker-0", "acjob-worker-1", "acjob-worker-2"]
    assert (job.kind, job.queue, job.min_available, job.max_retry) == ("AscendJob", "q", 2, 4)


def test_an_ascend_job_without_run_policy_needs_all_pods_and_may_retry_for_ever(tmp_path):
    job = job_of(tmp_path, ascend(3))
    assert (job.min_available, job.max_retry, job.queue) == (4, UNLIMITED, "default")


def test_amounts(tmp_path):
    pod = container(f"{CHIP}: 4, cpu: 500m, memory: 1.5Gi, rdma/ib: 2", f"{CHIP}: 4, cpu: 2, ephemeral-storage: 1Ki",
                    "- name: side\n  resources: {requests: {cpu: '1.5'}}\n"
                    "initContainers:\n- name: init\n  resources: {requests: {cpu: 3, memory: 1M}}\n")
    job = job_of(tmp_path, volcano(pod=pod, replicas=1))
    # cpu: 500m + 1500m = 2000, the init container needs 3000; memory 1.5 x 2**30; storage by its limit.
    assert job.tasks[0].request == {CHIP: 4, "cpu": 3000, "memory": 1610612736, "rdma/ib": 2, "ephemeral-storage": 1024}
    assert job.tasks[0].chips == 4


def test_limits_count_where_there_is_no_request(tmp_path):
    assert job_of(tmp_path, volcano(pod=container("", f"{CHIP}: 2"))).tasks[0].chips == 2


@pytest.mark.parametrize(
    "resource", ["huawei.com/Ascend310P-V", "huawei.com/npu", "huawei.com/Atlas910", "nvidia.com/gpu"])
def test_kinds_of_chips(tmp_path, resource):
    job = job_of(tmp_path, volcano(pod=container(f"{resource}: 2")))
    assert (job.resource, job.tasks[0].chips) == (resource, 2)


def test_where_a_pod_wants_to_stand(tmp_path):
    pod = container() + """\
nodeSelector: {host-arch: huawei-arm}
tolerations: [{key: a, operator: Exists}]
affinity:
  nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [
    {key: a, operator: Exists}]}]}}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {labelSelector: {}, topologyKey: kubernetes.io/hostname}
    - {labelSelector: {}, topologyKey: zone}
"""
    (job,), lines = jobs_of(tmp_path, volcano(pod=pod))
    task = job.tasks[1]
    assert task.node_selector == {"host-arch": "huawei-arm"}
    assert task.tolerations == ({"key": "a", "operator": "Exists"},)
    assert task.affinity["nodeAffinity"] == {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
    assert task.spread
    assert "affinity.podAntiAffinity by zone" in lines[0]
    assert not job_of(tmp_path, volcano()).tasks[0].spread


CLASS = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n---\n"


def test_priorities(tmp_path):
    assert job_of(tmp_path, CLASS + volcano("priorityClassName: high")).priority == 1000
    assert job_of(tmp_path, CLASS + volcano(pod=container() + "priorityClassName: high\n")).priority == 1000
    assert job_of(tmp_path, volcano("priority: 7")).priority == 7
    assert job_of(tmp_path, volcano("priorityClassName: '12'")).priority == 12
    assert job_of(tmp_path, volcano(pod=container() + "priority: -3\n")).priority == -3
    assert job_of(tmp_path, CLASS.replace("value", "globalDefault: true\nvalue") + volcano()).priority == 1000
    (job,), lines = jobs_of(tmp_path, volcano("priorityClassName: gold"))
    assert job.priority == 0
    assert "priorityClassName 'gold' is no PriorityClass of these files; priority 0 is taken" in lines[0]


def test_the_jobs_own_value_wins_and_templates_fill_in(tmp_path):
    text = volcano(metadata="""\
        labels: {fault-scheduling: grace}
        annotations: {sp-block: "16"}
        """, template="""\
        metadata:
          labels: {fault-scheduling: force, tor-affinity: normal-schema, app: x}
          annotations: {huawei.com/recover_policy_path: pod}
        """)
    job = job_of(tmp_path, text)
    assert job.labels == {"fault-scheduling": "grace", "tor-affinity": "normal-schema", "app": "x"}
    assert job.annotations == {"sp-block": "16", "huawei.com/recover_policy_path": "pod"}
    assert (job.settings.fault_scheduling, job.settings.tor_affinity) == ("grace", "normal-schema")
    assert (job.settings.sp_block, job.settings.recover_pod_only) == (16, True)


def test_templates_that_contradict_each_other(tmp_path):
    other = ("  - name: other\n    template:\n      metadata: {labels: {tor-affinity: large-model-schema, app: y}}\n"
             "      spec: {containers: [{name: a}]}\n")
    (job,), lines = jobs_of(tmp_path, volcano(template="metadata: {labels: {tor-affinity: normal-schema, app: x}}")
                            + other)
    assert job.labels == {"tor-affinity": "normal-schema"}
    assert lines[0] == (f"{tmp_path / 'job.yaml'}:1: label tor-affinity is 'normal-schema' in the template of worker "
                        "and 'large-model-schema' in that of other; 'normal-schema' counts")


@pytest.mark.parametrize(("other_chips", "skips"), [("", True), (f"resources: {{limits: {{{CHIP}: 8}}}}", False)])
def test_skip_ascend_plugin_in_templates_needs_all_pods_with_chips(tmp_path, other_chips, skips):
    text = volcano(template='metadata: {annotations: {huawei.com/skip-ascend-plugin: enabled}}')
    text += f"  - name: head\n    template: {{spec: {{containers: [{{name: a, {other_chips}}}]}}}}\n"
    assert job_of(tmp_path, text).settings.skip_ascend is skips


def test_network_topology_and_partitions(tmp_path):
    text = volcano("networkTopology: {mode: soft, highestTierName: rack}", replicas=6).replace(
        "    replicas: 6", "    replicas: 6\n    partitionPolicy: {totalPartitions: 3, partitionSize: 2, "
        "networkTopology: {highestTierAllowed: 1}}")
    assert job_of(tmp_path, text).network_topology == {
        "mode": "soft", "highestTierName": "rack",
        "partitionPolicy": {"worker": {"totalPartitions": 3, "partitionSize": 2, "minPartitions": 0,
                                       "networkTopology": {"mode": "hard", "highestTierAllowed": 1}}}}
    assert job_of(tmp_path, volcano("networkTopology: {highestTierAllowed: 2}")).network_topology == {
        "mode": "hard", "highestTierAllowed": 2}
    assert job_of(tmp_path, volcano()).network_topology is None


def test_policies_of_a_task_stand_at_its_pods(tmp_path):
    text = volcano() + "    policies: [{event: TaskCompleted, action: CompleteJob}]\n"
    assert job_of(tmp_path, text).tasks[0].policies == (("TaskCompleted", "CompleteJob", None),)


def test_a_soft_share_pod_has_one_chip_whatever_it_requests(tmp_path):
    text = volcano(metadata="""\
        labels:
          huawei.com/scheduler.softShareDev.aicoreQuota: "50"
          huawei.com/scheduler.softShareDev.hbmQuota: "1024"
          huawei.com/scheduler.softShareDev.policy: elastic
        annotations: {huawei.com/schedule_policy: chip1-softShareDev}
        """, pod=container(f"{CHIP}: 50, cpu: 1"))
    task = job_of(tmp_path, text).tasks[0]
    assert (task.chips, task.request) == (1, {"cpu": 1000})


def test_several_files_in_their_order_and_lists(tmp_path):
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + volcano(name="b").replace("\n", "\n  ")
    paths = [write(tmp_path, volcano(name="c"), "1.yaml"), write(tmp_path, listed + "\n---\n" + ascend(), "2.yaml")]
    jobs, _ = read_jobs(paths)
    assert [job.name for job in jobs] == ["c", "b", "acjob"]
    assert jobs[1].line == 4


def test_what_is_not_acted_on_is_named_once_a_file(tmp_path):
    config_map = "kind: ConfigMap\nmetadata: {name: rings-config-train}\n---\nkind: Service\n---\n"
    pod = container(more="  env: []\n  volumeMounts: []\n") + "volumes: []\nhostNetwork: true\n"
    text = volcano("plugins: {ssh: []}\nschedulerName: volcano", "labels: {framework: torch}", pod=pod)
    _, lines = jobs_of(tmp_path, config_map + text)
    assert lines == [f"{tmp_path / 'job.yaml'}: not acted on: objects: ConfigMap rings-config-train, Service; "
                     "pods: volumes, hostNetwork; containers: env, volumeMounts; job: schedulerName, plugins; "
                     "labels: framework"]


def test_options_of_the_recovery_may_stand_at_both_places(tmp_path):
    for place in ("labels", "annotations"):
        (job,), lines = jobs_of(tmp_path, volcano(metadata=f"{place}: {{recover-strategy: recover-in-place}}"))
        assert getattr(job, place) == {"recover-strategy": "recover-in-place"}
        assert lines == []


def test_a_key_at_the_wrong_place_is_named(tmp_path):
    _, lines = jobs_of(tmp_path, volcano(metadata="annotations: {fault-scheduling: force}"))
    assert lines == [f"{tmp_path / 'job.yaml'}:1: fault-scheduling stands among the annotations; it counts as label "
                     "only"]


def test_a_value_that_counts_as_absent_is_named(tmp_path):
    """Any other value is off for these keys (seed 001), which must not hide a typing mistake."""
    labels = "fault-scheduling: Grace, subHealthyStrategy: ignore, pod-rescheduling: 'true'"
    (job,), lines = jobs_of(tmp_path, volcano(metadata=f"labels: {{{labels}}}"))
    assert (job.settings.fault_scheduling, job.settings.pod_rescheduling) == ("off", False)
    at = f"{tmp_path / 'job.yaml'}:1: label "
    assert lines == [at + "fault-scheduling: 'Grace' counts as absent; valid values: grace, force, off; nearest: grace",
                     at + "pod-rescheduling: 'true' counts as absent; valid values: on, off"]


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference files are not here")
def test_the_reference_files_load():
    found = {}
    for path in sorted(REFERENCE.glob("*job*.yaml")):
        (job,), lines = read_jobs([str(path)])
        assert job.refusal is None
        assert len(lines) == 1
        shape = len(job.tasks), job.tasks[0].chips, job.resource
        found[path.name.split("__")[0]] = (*shape, job.settings.schedule_policy)
    assert found == {
        "acjob_sp-block": (2, 16, CHIP, "chip2-node16-sp"), "acjob_tor-affinity": (2, 2, CHIP, "chip1-node2"),
        "vcjob_fault-scheduling": (1, 8, CHIP, "chip8-node8"), "vcjob_kwok": (8, 8, CHIP, None),
        "vcjob_sp-block": (1, 8, "huawei.com/npu", "chip8-node8-ra64-sp")}
