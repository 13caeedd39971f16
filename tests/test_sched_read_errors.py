"""Files of jobs that are wrong: file, line, path, the bad value and the valid ones."""

from __future__ import annotations

import pytest
import yaml
from sched_files import ascend, container, jobs_of, volcano

from distsim.config.problems import ConfigError
from distsim.errors import InputError
from distsim.scheduler.read import read_jobs

CHIP = "huawei.com/Ascend910"
GROUP = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {scheduling.k8s.io/group-name: g}}\n"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = "{nodeSelectorTerms: [{matchExpressions: ["
# A text, what stands in the line that the error names (None: it names none), what it says.
CASES = [
    (volcano("minAvailabel: 2"), "minAvailabel",
     "spec.minAvailabel: unknown key 'minAvailabel'; nearest valid name: minAvailable"),
    (volcano("minAvailable: many"), "many", "spec.minAvailable: 'many' is not a whole number; valid: 0 to 2147483647"),
    (volcano("maxRetry: -1"), "-1", "spec.maxRetry: -1 is out of range; valid: 0 to 2147483647 (default 3)"),
    (volcano("policies: [{event: PodFailde, action: RestartJob}]"), "PodFailde",
     "spec.policies.0.event: 'PodFailde' is not valid; "),
    (volcano("policies: [{event: PodFailed, exitCode: 3, action: RestartJob}]"), "exitCode",
     "spec.policies.0: a policy needs either event (or events) or exitCode"),
    (volcano("networkTopology: {mode: firm}"), "firm",
     "spec.networkTopology.mode: 'firm' is not valid; valid values: hard, soft"),
    (volcano("networkTopology: {highestTierAllowed: 1, highestTierName: rack}"), "rack",
     "spec.networkTopology: highestTierAllowed and highestTierName stand together; give one of them"),
    (volcano(metadata="labels: {fault-retry-times: 3}"), "fault-retry",
     "metadata.labels: fault-retry-times: 3 is not text; write it in quotes, e.g. \"3\""),
    (volcano(replicas=4) + "    minAvailable: 5\n", "name: worker",
     "spec.tasks.0: minAvailable 5 is more than replicas, 4"),
    (volcano(replicas=4) + "    partitionPolicy: {totalPartitions: 3, partitionSize: 2}\n", "name: worker",
     "spec.tasks.0: partitionPolicy: totalPartitions 3 x partitionSize 2 is not replicas, 4"),
    (volcano(replicas=0), "spec:", "spec: the job has no pod; its replicas are 0"),
    (volcano() + "  - {name: worker, template: {spec: {containers: [{name: a}]}}}\n", "{name: worker",
     "spec.tasks.1.name: task 'worker' is given twice"),
    (volcano(pod=container(f"{CHIP}: 8", f"{CHIP}: 4")), "requests:",
     f"spec.tasks.0.template.spec.containers.0.resources.requests.{CHIP}: {CHIP}: requests 8 and limits 4 differ; "
     "chips need the same in both"),
    (volcano(pod=container(f"{CHIP}: 0.5")), "requests:", "0.5 of huawei.com/Ascend910 is not a whole number of chips"),
    (volcano(pod=container("cpu: lots")), "requests:", "'lots' is not a quantity of cpu; valid: e.g. 8, 500m or 800Gi"),
    (volcano(pod=container(f"{CHIP}-2c: 1")), "requests:",
     "huawei.com/Ascend910-2c is a virtual chip; only whole chips are placed"),
    (volcano(pod=container("huawei.com/npu-core: 4")), "requests:", "huawei.com/npu-core is a virtual chip"),
    (volcano(pod=container(f"{CHIP}: 8, nvidia.com/gpu: 8")), "containers:",
     f"spec.tasks.0.template.spec.containers: a pod asks for chips of several kinds: {CHIP}, nvidia.com/gpu; valid: "
     "one kind"),
    (volcano() + "  - {template: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n",
     "spec:", f"spec: the pods of the job ask for chips of several kinds: {CHIP}, nvidia.com/gpu; valid: one kind"),
    (ascend().replace("Worker:", "Wroker:"), "Wroker",
     "spec.replicaSpecs.Wroker: unknown key 'Wroker'; nearest valid name: Worker"),
    (volcano() + "\n---\n" + volcano().replace("name: train", "name: train  # again"), "again",
     "metadata.name: job default/train is given twice, first in "),
    (volcano().replace("batch.volcano.sh/v1alpha1", "batch/v1"), "batch/v1",
     "apiVersion: 'batch/v1' is not the apiVersion of a Job that is read; valid: batch.volcano.sh/v1alpha1"),
    ("pools: []\n", "pools", "is no Kubernetes object; it has no kind"),
    ("kind: ConfigMap\n", None,
     "there is no job in it; kinds that are read: Job (batch.volcano.sh/v1alpha1), AscendJob (mindxdl.gitee.com/v1), "
     "PodGroup (scheduling.volcano.sh/v1beta1)"),
    (GROUP + "spec: {minMembers: 8}\n", "minMembers",
     "spec.minMembers: unknown key 'minMembers'; nearest valid name: minMember"),
    (GROUP, "apiVersion", "PodGroup default/g has neither pods in the files nor minResources"),
    (GROUP + "spec: {minMember: 3, minResources: {nvidia.com/gpu: 8}}\n", "spec",
     "spec.minResources.nvidia.com/gpu: 8 chips are no whole number for each of minMember 3 pods"),
    (GROUP + "spec: {minResources: {nvidia.com/gpu: x}}\n", "spec", "'x' is not a quantity of nvidia.com/gpu"),
    (GROUP + "spec: {minResources: {huawei.com/npu-core: 8}}\n", "spec", "huawei.com/npu-core is a virtual chip"),
    (GROUP + "spec: {}\n---\n" + POD + "spec: {containers: [{name: a}]}\n---\n" + POD.replace("}}", "}}  # again")
     + "spec: {containers: [{name: a}]}\n", "again", "metadata.name: pod 'p' is given twice"),
    (GROUP + "---\n" + GROUP.replace("}", "}  # again"), "again", "metadata.name: PodGroup default/g is given twice"),
    *[(volcano(pod=f"affinity: {{nodeAffinity: {given}}}\n" + container()), "affinity", message) for given, message in (
        ("[1]", "affinity.nodeAffinity: [1] is not a section of keys"),
        ("{" + REQUIRED + ": {nodeSelectorTerms: x}}", REQUIRED + ".nodeSelectorTerms: 'x' is not a list"),
        ("{" + REQUIRED + ": {nodeSelectorTerms: []}}",
         REQUIRED + ".nodeSelectorTerms: the list is empty; it needs at least one entry"),
        ("{" + REQUIRED + ": " + TERM + "{key: a, operator: Is}]}]}}", "operator: 'Is' is not valid; valid values: "),
        ("{" + REQUIRED + ": " + TERM + "{key: a, operator: In, values: b}]}]}}", "values: 'b' is not a list"),
        ("{" + REQUIRED + ": " + TERM + "{key: a, operator: In}]}]}}", "operator In of a needs values"),
        ("{" + REQUIRED + ": " + TERM + "{key: a, operator: Exists, values: [b]}]}]}}",
         "operator Exists of a takes no values"),
        ("{" + REQUIRED + ": " + TERM + "{key: a, operator: Gt, values: [b]}]}]}}",
         "operator Gt of a needs one value, an integer in quotes"),
        ("{" + PREFERRED + ": [{weight: x, preference: {}}]}", PREFERRED + ".0.weight: 'x' is not a whole number"),
        ("{" + PREFERRED + ": [{weight: 101, preference: {}}]}", ".0.weight: 101 is out of range; valid: 1 to 100"),
        ("{" + PREFERRED + ": [{weight: 1, preference: 3}]}", PREFERRED + ".0.preference: 3 is not a section of keys"),
    )],
    (volcano(pod="affinity: {podAntiAffinity: 3}\n" + container()), "affinity",
     "affinity.podAntiAffinity: 3 is not a section of keys"),
    (volcano(pod="tolerations: [{key: a, operator: Is}]\n" + container()), "tolerations",
     "tolerations.0.operator: 'Is' is not valid; valid values: "),
    (volcano(pod="tolerations: [{effect: NoSchedule}]\n" + container()), "tolerations",
     "tolerations.0: a toleration without key needs operator Exists"),
    (volcano(pod="containers: []"), "containers", "spec.containers: the list is empty; it needs at least one entry"),
    (POD + "spec: {containers: [{name: a}]}\n", "metadata",
     "PodGroup default/g of pod p is in none of the files; there are: none"),
]


@pytest.mark.parametrize(("text", "at", "message"), CASES, ids=[case[2][:40] for case in CASES])
def test_error(tmp_path, text, at, message):
    with pytest.raises(InputError) as caught:
        jobs_of(tmp_path, text)
    number = at and next(number for number, line in enumerate(text.split("\n"), 1) if at in line)
    where = str(tmp_path / "job.yaml") + (f":{number}" if at else "")
    assert str(caught.value).startswith(where + ": ")
    assert message in str(caught.value)


def test_one_wrong_entry_is_one_problem(tmp_path):
    """Not also that the lists around it are too short."""
    with pytest.raises(ConfigError) as caught:
        jobs_of(tmp_path, volcano(pod=container("a: []")))
    assert {one.where for one in caught.value.problems} == {
        f"spec.tasks.0.template.spec.containers.0.resources.{part}" for part in ("requests", "limits")}


def test_unknown_keys_of_affinity_are_named(tmp_path):
    """A typing mistake there would lift the bound without a word."""
    pod = f"affinity: {{nodeAffinity: {{{REQUIRED}s: 1}}}}\ntolerations: [{{key: a, tolerationSeconds: 5}}]\n"
    _, lines = jobs_of(tmp_path, volcano(pod=pod + container()))
    assert f"affinity.nodeAffinity.{REQUIRED}s, tolerations.tolerationSeconds" in lines[0]


def test_a_second_priority_class_of_a_name(tmp_path):
    one = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n---\n"
    with pytest.raises(InputError, match=r":8: metadata.name: PriorityClass 'high' is given twice"):
        jobs_of(tmp_path, one + one + volcano())


def test_a_job_that_needs_more_pods_than_it_has_is_refused(tmp_path):
    (job,), _ = jobs_of(tmp_path, volcano("minAvailable: 3", replicas=2))
    assert (job.refusal.condition, job.refusal.reason, job.refusal.final) == ("JobValidateFailed", "NotEnoughPod", True)
    assert job.refusal.message == "minAvailable is 3, the job has 2 pods"


def test_a_job_of_wrong_keys_is_returned_with_its_refusal(tmp_path):
    (job,), _ = jobs_of(tmp_path, volcano(metadata="labels: {tor-affinity: big}"))
    assert job.refusal.reason == "InvalidArgument"
    assert job.refusal.message == ("label tor-affinity: 'big' is not valid; valid values: normal-schema, "
                                   "large-model-schema, null")
    assert len(job.tasks) == 2


@pytest.mark.parametrize("name", ["../../x", "Job", "a/b", "-a", "a b"])
def test_a_name_that_no_object_can_have_is_refused(tmp_path, name):
    path = tmp_path / "job.yaml"
    document = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
                "spec": {"tasks": []}}
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(InputError, match=r"metadata\.name"):
        read_jobs([str(path)])
