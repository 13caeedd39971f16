"""The gang scheduling contract: what is put into the Workflow, and what is said when the manifests disagree with it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from workloadrun_files import EXAMPLE, MINIMAL, load, text_of, with_overrides

from distsim.errors import InputError
from distsim.workloadrun.conditions import Facts
from distsim.workloadrun.gang import checked
from distsim.workloadrun.render import resolve
from distsim.workloadrun.workflow import build_workflow

PATH = "spec.jobTemplate.spec.workloadMetadata.labels"
KEY = "kai.scheduler/queue"
AWS = Facts("aws")
RUNTIME = 'TrainingRuntime "nccl-all-reduce-runtime"'
OPENING = 'gangScheduler is configured with queue "high-priority" but ' + RUNTIME


def built(tmp_path: Path, text: str = EXAMPLE) -> dict[str, Any]:
    return build_workflow(load(tmp_path, text))


def replicated(workflow: dict[str, Any], name: str) -> dict[str, Any]:
    jobs = workflow["spec"]["dependencies"][0]["spec"]["template"]["spec"]["replicatedJobs"]
    found: dict[str, Any] = next(job for job in jobs if job["name"] == name)
    return found


def refusal(workflow: dict[str, Any]) -> str:
    """What is said of a Workflow whose overrides are applied."""
    with pytest.raises(InputError) as caught:
        checked(workflow["spec"])
    return caught.value.message


def override(tmp_path: Path, text: str) -> dict[str, Any]:
    return resolve(built(tmp_path, with_overrides(text)), AWS).workflow


def override_refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        override(tmp_path, text)
    return caught.value.message


def test_the_intent_is_kept_and_every_template_carries_it(tmp_path: Path) -> None:
    workflow = built(tmp_path)
    spec = workflow["spec"]
    assert spec["gangScheduler"] == {"schedulerName": "kai-scheduler", "queue": "high-priority", "queueLabelKey": KEY}
    assert spec["jobTemplate"]["spec"]["workloadMetadata"] == {"labels": {KEY: "high-priority"}}
    for name in ("node", "launcher"):
        template = replicated(workflow, name)["template"]
        assert template["metadata"]["labels"][KEY] == "high-priority"
        assert template["spec"]["template"]["metadata"]["labels"] == {KEY: "high-priority"}
        assert template["spec"]["template"]["spec"]["schedulerName"] == "kai-scheduler"
    assert replicated(workflow, "launcher")["template"]["metadata"]["labels"] == {
        "trainer.kubeflow.org/trainjob-ancestor-step": "trainer", KEY: "high-priority"}


def test_the_default_queue_and_another_label_key(tmp_path: Path) -> None:
    gang = {"schedulerName": "runai-scheduler", "queueLabelKey": "runai/queue"}
    spec = built(tmp_path, text_of({"gangScheduler": gang}))["spec"]
    assert spec["gangScheduler"] == {**gang, "queue": "default-queue"}
    assert spec["jobTemplate"]["spec"]["workloadMetadata"]["labels"] == {"runai/queue": "default-queue"}


def test_without_a_gang_scheduler_nothing_is_inferred(tmp_path: Path) -> None:
    workflow = built(tmp_path, MINIMAL)
    assert "gangScheduler" not in workflow["spec"]
    assert "workloadMetadata" not in workflow["spec"]["jobTemplate"]["spec"]
    template = replicated(workflow, "node")["template"]
    assert "metadata" not in template["spec"]["template"]
    assert "schedulerName" not in template["spec"]["template"]["spec"]


def test_a_kueue_queue_stands_beside_it(tmp_path: Path) -> None:
    kueue = {"kueue.x-k8s.io/queue-name": "gpu-team-a"}
    text = EXAMPLE + "  workloadMetadata: {labels: {kueue.x-k8s.io/queue-name: gpu-team-a}}\n"
    assert built(tmp_path, text)["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"] == {
        **kueue, KEY: "high-priority"}
    alone = build_workflow(load(tmp_path, text_of({"workloadMetadata": {"labels": kueue}})))
    assert alone["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"] == kueue


def test_under_kai_the_launcher_is_not_held_back(tmp_path: Path) -> None:
    """KAI starts no gang with an empty part; elsewhere the launcher depends on the workers."""
    assert "dependsOn" not in replicated(built(tmp_path), "launcher")
    other = built(tmp_path, EXAMPLE.replace("kai-scheduler\n", "runai-scheduler\n", 1))
    assert replicated(other, "launcher")["dependsOn"] == [{"name": "node", "status": "Ready"}]


def test_what_agrees_passes_and_stays(tmp_path: Path) -> None:
    workflow = built(tmp_path)
    assert checked(workflow["spec"]) == workflow["spec"]


def test_an_unrelated_label_is_accepted(tmp_path: Path) -> None:
    found = override(tmp_path, """
        - when: {platform: {equals: aws}}
          jobTemplate: {spec: {workloadMetadata: {labels: {cost-center: hpc}}}}
        """)
    assert found["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"] == {
        KEY: "high-priority", "cost-center": "hpc"}


@pytest.mark.parametrize("removal", [
    "jobTemplatePatch: [{op: remove, path: /spec/workloadMetadata/labels/kai.scheduler~1queue}]",
    "jobTemplate: {spec: {workloadMetadata: {labels: {kai.scheduler/queue: null}}}}",
    "jobTemplate: {spec: {workloadMetadata: null}}"])
def test_a_queue_label_that_was_taken_out_comes_back(tmp_path: Path, removal: str) -> None:
    stored = built(tmp_path, with_overrides(f"- when: {{}}\n  {removal}"))
    before = copy.deepcopy(stored)
    found = resolve(stored, AWS).workflow
    assert stored == before
    assert found["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"] == {KEY: "high-priority"}


def test_a_queue_label_that_was_changed_is_named(tmp_path: Path) -> None:
    assert override_refused(tmp_path, """
        - when: {platform: {equals: aws}}
          jobTemplate: {spec: {workloadMetadata: {labels: {kai.scheduler/queue: team-b}}}}
        """) == f'{PATH}["{KEY}"]: conflicting label value "team-b", expected "high-priority"'


@pytest.mark.parametrize("name", ["node", "launcher"])
@pytest.mark.parametrize(("where", "keys"), [("template.metadata.labels", ()),
                                             ("template.spec.template.metadata.labels", ("spec", "template"))])
def test_a_queue_label_of_the_runtime(tmp_path: Path, name: str, where: str, keys: tuple[str, ...]) -> None:
    workflow = built(tmp_path)
    part = replicated(workflow, name)["template"]
    for key in keys:
        part = part[key]
    part["metadata"]["labels"][KEY] = "team-b"
    assert refusal(workflow) == f'{OPENING} replicatedJob "{name}" sets label "{KEY}" to "team-b" on {where}'
    del part["metadata"]["labels"][KEY]
    assert refusal(workflow) == f'{OPENING} replicatedJob "{name}" is missing label "{KEY}" on {where}'
    del part["metadata"]
    assert refusal(workflow) == f'{OPENING} replicatedJob "{name}" is missing label "{KEY}" on {where}'
    assert "metadata" not in part                                # checked, never mended


@pytest.mark.parametrize("name", ["node", "launcher"])
def test_the_scheduler_of_the_pods(tmp_path: Path, name: str) -> None:
    workflow = built(tmp_path)
    pod = replicated(workflow, name)["template"]["spec"]["template"]["spec"]
    pod["schedulerName"] = "default-scheduler"
    opening = f'gangScheduler is configured with schedulerName "kai-scheduler" but {RUNTIME} replicatedJob "{name}" '
    assert refusal(workflow) == f'{opening}sets schedulerName "default-scheduler"'
    del pod["schedulerName"]
    assert refusal(workflow) == f'{opening}sets schedulerName ""'


def test_the_first_error_only(tmp_path: Path) -> None:
    """Workload label, then by replicated job: its label, its pods' label, its scheduler."""
    workflow = built(tmp_path)
    for name in ("launcher", "node"):
        template = replicated(workflow, name)["template"]
        template["spec"]["template"]["spec"]["schedulerName"] = "other"
        template["spec"]["template"]["metadata"]["labels"][KEY] = "pods"
        template["metadata"]["labels"][KEY] = "jobs"
    workflow["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"][KEY] = "workload"
    assert refusal(workflow) == f'{PATH}["{KEY}"]: conflicting label value "workload", expected "high-priority"'
    workflow["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"][KEY] = "high-priority"
    for expected, mend in ((f'"node" sets label "{KEY}" to "jobs" on template.metadata.labels', "job"),
                           (f'"node" sets label "{KEY}" to "pods" on template.spec.template.metadata.labels', "pod"),
                           ('"node" sets schedulerName "other"', "scheduler"),
                           (f'"launcher" sets label "{KEY}" to "jobs" on template.metadata.labels', "")):
        assert refusal(workflow).endswith(f"replicatedJob {expected}")
        template = replicated(workflow, "node")["template"]
        if mend == "job":
            template["metadata"]["labels"][KEY] = "high-priority"
        elif mend == "pod":
            template["spec"]["template"]["metadata"]["labels"][KEY] = "high-priority"
        elif mend == "scheduler":
            template["spec"]["template"]["spec"]["schedulerName"] = "kai-scheduler"


def patch(workflow: dict[str, Any], name: str, template: dict[str, Any]) -> None:
    """Add a runtimePatch of a user."""
    jobs = [{"name": name, "template": template}]
    workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]["runtimePatches"].append(
        {"manager": "user", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}})


@pytest.mark.parametrize("name", ["node", "launcher"])
def test_runtime_patches_count(tmp_path: Path, name: str) -> None:
    """A patch may take a queue away, or give back one that the runtime lacks."""
    workflow = built(tmp_path)
    patch(workflow, name, {"metadata": {"labels": {KEY: "team-b"}}})
    assert refusal(workflow) == (f'{OPENING} replicatedJob "{name}" sets label "{KEY}" to "team-b" on '
                                 "template.metadata.labels")
    workflow = built(tmp_path)
    pods = {"spec": {"template": {"metadata": {"labels": {KEY: "team-b"}}}}}
    patch(workflow, name, pods)
    assert refusal(workflow) == (f'{OPENING} replicatedJob "{name}" sets label "{KEY}" to "team-b" on '
                                 "template.spec.template.metadata.labels")
    workflow = built(tmp_path)
    del replicated(workflow, name)["template"]["metadata"]["labels"][KEY]
    patch(workflow, name, {"metadata": {"labels": {KEY: "high-priority"}}})
    checked(workflow["spec"])
    patch(workflow, name, {"metadata": {"labels": {"other": "x"}}})
    checked(workflow["spec"])
    patch(workflow, name, {"metadata": {"labels": {KEY: "last"}}})
    assert 'to "last"' in refusal(workflow)


def test_a_runtime_that_it_was_not_given(tmp_path: Path) -> None:
    assert override_refused(tmp_path, """
        - when: {}
          jobTemplate: {spec: {workload: {trainJob: {runtimeRef: {name: elses}}}}}
        """) == ('gangScheduler is configured but the workload references runtime "elses", which is not among the '
                 "Workflow's TrainingRuntime.trainer.kubeflow.org dependencies")


def test_a_runtime_that_an_override_brings_is_checked(tmp_path: Path) -> None:
    assert override_refused(tmp_path, """
        - when: {}
          jobTemplate: {spec: {workload: {trainJob: {runtimeRef: {name: bare}}}}}
          dependencies:
            - apiVersion: trainer.kubeflow.org/v1alpha1
              kind: TrainingRuntime
              metadata: {name: bare}
              spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {}}}}}]}}}
        """) == ('gangScheduler is configured with queue "high-priority" but TrainingRuntime "bare" replicatedJob '
                 f'"node" is missing label "{KEY}" on template.metadata.labels')


@pytest.mark.parametrize(("reference", "message"), [
    ({"name": "nccl-all-reduce-runtime"}, 'runtime kind "ClusterTrainingRuntime"; only a namespaced TrainingRuntime '
                                          "supplied as a Workflow dependency can be checked"),
    ({"name": "nccl-all-reduce-runtime", "kind": "TrainingRuntime", "apiGroup": ""},
     'runtime apiGroup "" rather than "trainer.kubeflow.org", so its scheduling cannot be checked')])
def test_a_reference_of_another_kind(tmp_path: Path, reference: dict[str, str], message: str) -> None:
    workflow = built(tmp_path)
    workflow["spec"]["jobTemplate"]["spec"]["workload"]["trainJob"]["runtimeRef"] = reference
    assert refusal(workflow) == f"gangScheduler is configured but the workload references {message}"


def test_manifests_that_cannot_be_checked(tmp_path: Path) -> None:
    opening = f"gangScheduler is configured but {RUNTIME}"
    workflow = built(tmp_path)
    del replicated(workflow, "node")["template"]["spec"]["template"]["spec"]
    assert refusal(workflow) == (f'{opening} replicatedJob "node" has no pod spec, so its scheduler name cannot be '
                                 "checked")
    del replicated(workflow, "node")["template"]["spec"]
    assert refusal(workflow) == (f'{opening} replicatedJob "node" has no pod template, so its queue label cannot be '
                                 "checked")
    del replicated(workflow, "node")["template"]
    assert refusal(workflow) == f'{opening} replicatedJob "node" has no template, so its queue label cannot be checked'
    del workflow["spec"]["dependencies"][0]["spec"]["template"]
    assert refusal(workflow) == (f"{opening} has no spec.template.spec.replicatedJobs, so its queue labels cannot be "
                                 "checked")
    workflow["spec"]["jobTemplate"]["spec"]["workload"] = {}
    assert refusal(workflow) == ("gangScheduler is configured but spec.jobTemplate.spec.workload has no trainJob, so "
                                 "its runtime scheduling cannot be checked")


@pytest.mark.parametrize(("labels", "message"), [
    ({"nvcre.nvidia.com/group": "g"}, f'{PATH}["nvcre.nvidia.com/group"]: label key is reserved for the controller: '),
    ({"bad key": "x"}, f'{PATH}["bad key"]: invalid label key: '),
    (["a"], f"{PATH}: ['a'] is not a section of keys"),
    ({f"l{at}": "" for at in range(33)}, f"{PATH}: 33 labels exceeds the maximum of 32")])
def test_labels_are_checked_without_a_gang_scheduler_too(tmp_path: Path, labels: Any, message: str) -> None:
    overrides = [{"when": {}, "jobTemplate": {"spec": {"workloadMetadata": {"labels": labels}}}}]
    workflow = build_workflow(load(tmp_path, text_of({"overrides": overrides})))
    with pytest.raises(InputError) as caught:
        resolve(workflow, AWS)
    assert caught.value.message.startswith(message)


def test_a_restored_label_may_be_one_too_many(tmp_path: Path) -> None:
    workflow = built(tmp_path)
    workflow["spec"]["jobTemplate"]["spec"]["workloadMetadata"]["labels"] = {f"l{at}": "" for at in range(32)}
    assert refusal(workflow) == f"{PATH}: 33 labels exceeds the maximum of 32"


def test_a_hand_written_intent_gets_the_defaults(tmp_path: Path) -> None:
    """A Workflow that names only a scheduler is checked against the default queue."""
    workflow = built(tmp_path)
    workflow["spec"]["gangScheduler"] = {"schedulerName": "kai-scheduler"}
    assert refusal(workflow) == (f'{PATH}["{KEY}"]: conflicting label value "high-priority", expected "default-queue"')


def test_a_dependency_of_another_group_is_not_the_runtime(tmp_path: Path) -> None:
    workflow = built(tmp_path)
    workflow["spec"]["dependencies"][0]["apiVersion"] = "example.com/v1"
    assert refusal(workflow) == ('gangScheduler is configured but the workload references runtime '
                                 '"nccl-all-reduce-runtime", which is not among the Workflow\'s '
                                 "TrainingRuntime.trainer.kubeflow.org dependencies")
