"""Overrides: when they apply, what they change, in which order, and what is said when they cannot be applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workloadrun_files import EXAMPLE, load, refused, text_of, with_overrides

from distsim.errors import InputError
from distsim.workloadrun.conditions import Facts, applies, summary
from distsim.workloadrun.merge import merged
from distsim.workloadrun.override_spec import When
from distsim.workloadrun.overrides import AppliedOverride, apply_overrides
from distsim.workloadrun.render import facts_of, resolve
from distsim.workloadrun.workflow import build_workflow

FACTS = Facts("aws", "h100", "TrainJob", "topology", 3, {"model": {"layers": 2, "fast": True}, "sizes": [1, 2]})


def spec_of(tmp_path: Path, overrides: str) -> dict[str, Any]:
    """The Workflow's spec of a run without a gang scheduler, with these overrides."""
    spec: dict[str, Any] = build_workflow(load(tmp_path, with_overrides(overrides, text_of({}))))["spec"]
    return spec


def applied(tmp_path: Path, overrides: str, facts: Facts = FACTS) -> dict[str, Any]:
    return apply_overrides(spec_of(tmp_path, overrides), facts)[0]


def trainer(spec: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["jobTemplate"]["spec"]["workload"]["trainJob"]["trainer"]
    return found


@pytest.mark.parametrize(("when", "holds"), [
    ({}, True),
    ({"platform": {"equals": "aws"}}, True),
    ({"platform": {"equals": "gcp"}}, False),
    ({"platform": {"equals": "AWS"}}, False),                                    # case counts
    ({"platform": {"equals": ""}}, True),                                        # empty: not given
    ({"platform": {}}, True),
    ({"platform": {"in": ["gcp", "aws"]}}, True),
    ({"platform": {"in": ["gcp"]}}, False),
    ({"platform": {"notIn": ["gcp"]}}, True),
    ({"platform": {"notIn": ["aws"]}}, False),
    ({"platform": {"equals": "aws", "in": ["gcp"]}}, False),                     # each given part must hold
    ({"platform": {"in": ["aws"], "notIn": ["aws"]}}, False),
    ({"gpuArchitecture": {"in": ["gb200", "h100"]}}, True),
    ({"platform": {"equals": "aws"}, "gpuArchitecture": {"equals": "a100"}}, False),
    ({"workloadKind": "TrainJob"}, True),
    ({"workloadKind": "PyTorchJob"}, False),
    ({"topology": {"mode": "topology"}}, True),
    ({"topology": {"mode": "simple"}}, False),
    ({"topology": {"domainCount": {"equals": 3}}}, True),
    ({"topology": {"domainCount": {"greaterThan": 3}}}, False),
    ({"topology": {"domainCount": {"greaterThan": 2, "lessThan": 4}}}, True),
    ({"topology": {"domainCount": {"lessThan": 3}}}, False),
    ({"config": {}}, True),
    ({"config": {"model": {"layers": 2}}}, True),
    ({"config": {"model": {"layers": 2.0}}}, True),                              # numbers as in JSON
    ({"config": {"model": {"layers": 3}}}, False),
    ({"config": {"model": {"fast": 1}}}, False),                                 # true is not 1
    ({"config": {"model": {"absent": None}}}, False),
    ({"config": {"sizes": [1, 2]}}, True),
    ({"config": {"sizes": [1]}}, False),                                         # lists as a whole
    ({"config": {"sizes": {"0": 1}}}, False),
    ({"expression": "platform == 'aws' && gpuArchitecture.startsWith('h')"}, True),
    ({"expression": "workloadKind == 'TrainJob' && topologyMode == 'topology' && domainCount > 2"}, True),
    ({"expression": "domainCount in [1, 2]"}, False),
    ({"platform": {"equals": "aws"}, "expression": "false"}, False),
])
def test_when(when: dict[str, Any], holds: bool) -> None:
    assert applies(When.model_validate(when), FACTS) is holds


@pytest.mark.parametrize(("when", "holds"), [
    ({"platform": {"notIn": ["aws"]}}, True), ({"gpuArchitecture": {"notIn": ["h100"]}}, True),
    ({"platform": {"equals": "aws"}}, False), ({"gpuArchitecture": {"in": ["h100"]}}, False),
    ({"config": {}}, False), ({"topology": {"mode": "simple", "domainCount": {"equals": 0}}}, True)])
def test_what_is_unknown_is_empty(when: dict[str, Any], holds: bool) -> None:
    assert applies(When.model_validate(when), Facts()) is holds


@pytest.mark.parametrize(("base", "change", "expected"), [
    ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "d": 4}}, {"a": {"b": 1, "c": 3, "d": 4}}),
    ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
    ({"a": 1}, {"b": {"c": None, "d": 1}}, {"a": 1, "b": {"d": 1}}),
    ({"a": ["x", "y"]}, {"a": ["z"]}, {"a": ["z"]}),
    ({"e": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
     {"e": [{"name": "C", "value": "3"}, {"name": "A", "value": "9"}]},
     {"e": [{"name": "A", "value": "9"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]}),
    ({"e": [{"name": "A", "value": "1", "from": 2}]}, {"e": [{"name": "A", "value": None}]},
     {"e": [{"name": "A", "from": 2}]}),
    ({"e": [{"name": "A"}]}, {"e": []}, {"e": []}),
    ({"e": [{"name": "A", "v": 1}]}, {"e": [{"v": 2}]}, {"e": [{"v": 2}]}),
    ({"e": [{"name": "A", "v": 1}]}, {"e": [{"name": "A"}, {"name": "A"}]}, {"e": [{"name": "A"}, {"name": "A"}]}),
])
def test_merge(base: Any, change: Any, expected: Any) -> None:
    before = repr((base, change))
    assert merged(base, change) == expected
    assert repr((base, change)) == before


def test_merge_then_patch_then_the_rest(tmp_path: Path) -> None:
    """The patch sees what the merge has left: it tests the merged value, then replaces it."""
    spec = applied(tmp_path, """
        - when: {platform: {equals: aws}}
          jobTemplate: {spec: {workload: {trainJob: {trainer: {numNodes: 8, env: [{name: A, value: "1"}]}}}}}
          jobTemplatePatch:
            - {op: test, path: /spec/workload/trainJob/trainer/numNodes, value: 8}
            - {op: replace, path: /spec/workload/trainJob/trainer/numNodes, value: 16}
            - {op: add, path: /spec/workload/trainJob/trainer/args/0, value: first}
          orchestration: {iterations: 3, execution: {maxConcurrent: 2}}
        """)
    assert trainer(spec)["numNodes"] == 16
    assert trainer(spec)["env"] == [{"name": "A", "value": "1"}]
    assert trainer(spec)["args"] == ["first"]
    assert spec["orchestration"]["iterations"] == 3
    assert spec["orchestration"]["execution"] == {"maxConcurrent": 2, "timeoutPerJob": "1h", "retryFailedGroups": 0}
    assert spec["orchestration"]["target"] == {"nodeSelector": {"nvidia.com/gpu.present": "true"}}
    assert "overrides" not in spec


def test_all_operations_of_a_patch(tmp_path: Path) -> None:
    spec = applied(tmp_path, """
        - when: {}
          jobTemplatePatch:
            - {op: add, path: /metadata, value: {labels: {a: b, "c/d": e}}}
            - {op: copy, from: /metadata/labels/a, path: /metadata/labels/x}
            - {op: move, from: /metadata/labels/c~1d, path: /metadata/labels/y}
            - {op: remove, path: /metadata/labels/a}
        """)
    assert spec["jobTemplate"]["metadata"] == {"labels": {"x": "b", "y": "e"}}


def test_in_order_and_the_later_wins(tmp_path: Path) -> None:
    spec = applied(tmp_path, """
        - when: {}
          jobTemplate: {spec: {workload: {trainJob: {trainer: {image: one, numNodes: 5}}}}}
        - when: {platform: {equals: gcp}}
          jobTemplate: {spec: {workload: {trainJob: {trainer: {image: never}}}}}
        - when: {gpuArchitecture: {equals: h100}}
          jobTemplate: {spec: {workload: {trainJob: {trainer: {image: two}}}}}
        """)
    assert (trainer(spec)["image"], trainer(spec)["numNodes"]) == ("two", 5)


def test_dependencies_are_merged_by_kind_and_name_or_added(tmp_path: Path) -> None:
    spec = applied(tmp_path, """
        - when: {}
          dependencies:
            - apiVersion: trainer.kubeflow.org/v1alpha1
              kind: TrainingRuntime
              metadata: {name: least-runtime, labels: {app: null}}
              spec:
                template:
                  spec:
                    replicatedJobs:
                      - name: node
                        template: {spec: {template: {spec: {containers: [
                          {name: node, resources: {limits: {rdma/ib: "4"}}}, {name: side, image: s}]}}}}
            - {apiVersion: v1, kind: ConfigMap, metadata: {name: least-runtime}, data: {a: b}}
            - {apiVersion: v1, kind: ConfigMap, metadata: {name: gcp}, when: {platform: {equals: gcp}}}
            - {apiVersion: v1, kind: ConfigMap, metadata: {name: aws}, when: {platform: {equals: aws}}}
        """)
    runtime, *others = spec["dependencies"]
    assert runtime["metadata"]["labels"] == {"trainer.kubeflow.org/framework": "torch"}
    template = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]
    containers = template["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["node", "side"]
    assert containers[0]["image"] == "trainer:1"
    assert containers[0]["resources"] == {"limits": {"nvidia.com/gpu": "4", "rdma/ib": "4"},
                                          "requests": {"nvidia.com/gpu": "4"}}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert others == [{**kind, "metadata": {"name": "least-runtime"}, "data": {"a": "b"}},
                      {**kind, "metadata": {"name": "aws"}}]


def test_orchestration_is_replaced_part_by_part(tmp_path: Path) -> None:
    spec = applied(tmp_path, """
        - when: {}
          orchestration: {topology: {topologyKey: rack}, target: {nodeNames: [n1, n2]}}
        """)
    assert spec["orchestration"]["topology"] == {"topologyKey": "rack", "strictDomain": False}
    assert spec["orchestration"]["target"] == {"nodeNames": ["n1", "n2"]}
    assert spec["orchestration"]["placement"] == "Pinned" and spec["orchestration"]["iterations"] == 1


def test_which_applied_and_which_changed_nothing(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, """
        - when: {platform: {equals: gcp}}
        - when: {gpuArchitecture: {in: [h100, a100]}, platform: {notIn: [gcp]}, workloadKind: TrainJob}
          jobTemplate: {spec: {workload: {trainJob: {trainer: {image: "trainer:1"}}}}}
        - when: {}
          jobTemplatePatch: [{op: test, path: /spec/workload/trainJob/trainer/numNodes, value: 2}]
          orchestration: {iterations: 2}
          dependencies: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]
        - when: {expression: "domainCount == 3 && platform == 'aws' && true == true"}
        """)
    assert apply_overrides(spec, FACTS)[1] == [
        AppliedOverride(1, "gpuArchitecture=in [h100,a100], platform=notIn [gcp], workloadKind=TrainJob", "jobTemplate",
                        no_op=True),
        AppliedOverride(2, "<always>", "jobTemplatePatch, 1 dependencies, orchestration"),
        AppliedOverride(3, "expression=domainCount == 3 && platform == 'aws'...", "none", no_op=True)]
    assert apply_overrides(spec, FACTS)[1][0].to_dict()["noOp"] is True
    assert "noOp" not in apply_overrides(spec, FACTS)[1][1].to_dict()


def test_how_conditions_are_summed_up() -> None:
    when = When.model_validate({"topology": {"mode": "topology", "domainCount": {"greaterThan": 1, "lessThan": 9}},
                                "platform": {}, "config": {"a": 1}})
    assert summary(when) == "platform=<any>, topology.mode=topology, topology.domainCount=>1,<9, config=<custom>"


@pytest.mark.parametrize(("override", "message"), [
    ("jobTemplatePatch: [{op: remove, path: /spec/checkpoint}]", "override[0]: failed to apply jobTemplatePatch: "),
    ("jobTemplatePatch: [{op: test, path: /spec/workload/trainJob/trainer/numNodes, value: 9}]",
     "override[0]: failed to apply jobTemplatePatch: "),
    ("jobTemplatePatch: [{op: add, path: /spec/workload/trainJob/trainer/image/x, value: 9}]",
     "override[0]: failed to apply jobTemplatePatch: "),
    ("jobTemplatePatch: [{op: add, path: /spec/workloadMetdata, value: {}}]",
     "override[0]: failed to apply jobTemplatePatch: spec.workloadMetdata: unknown key 'workloadMetdata'; nearest "
     "valid name: workloadMetadata"),
    ("jobTemplatePatch: [{op: replace, path: /spec, value: 5}]",
     "override[0]: failed to apply jobTemplatePatch: spec: 5 is not a section of keys"),
    ("jobTemplatePatch: [{op: replace, path: '', value: 5}]", "override[0]: failed to apply jobTemplatePatch: "),
])
def test_patches_that_cannot_be_applied(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        applied(tmp_path, f"- when: {{}}\n  {override}")
    assert caught.value.message.startswith(message)


def test_a_merge_that_leaves_no_job_template(tmp_path: Path) -> None:
    """What a later check of the file would refuse, in a Workflow that came another way."""
    spec = {**spec_of(tmp_path, "- when: {}"), "overrides": [{"when": {}}, {"when": {}, "jobTemplate": {"spec": 5}}]}
    with pytest.raises(InputError) as caught:
        apply_overrides(spec, FACTS)
    assert caught.value.message.startswith("override[1]: failed to merge jobTemplate: spec: 5 is not a section of keys")


def test_an_expression_that_fails_for_these_nodes(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "- when: {expression: 12 / domainCount > 3}")
    assert apply_overrides(spec, FACTS)[1][0].index == 0
    with pytest.raises(InputError) as caught:
        apply_overrides(spec, Facts())
    assert caught.value.message.startswith("override[0]: evaluating when: '12 / domainCount > 3' cannot be evaluated: ")


@pytest.mark.parametrize(("expression", "message"), [
    ("platform ==", "'platform ==' is not a CEL expression"),
    ("platform", "'platform' gives string, not true or false"),
    ("region == 'x'", "'region == 'x'' names region; the variables are platform, gpuArchitecture, workloadKind, "
                      "topologyMode, domainCount"),
    ("domainCount > 'x'", "cannot be evaluated: ")])
def test_expressions_are_checked_when_the_file_is_read(tmp_path: Path, expression: str, message: str) -> None:
    error = refused(tmp_path, with_overrides(f'- when:\n    expression: "{expression}"'))
    assert error.message.startswith("override[0]: evaluating when: ") and error.line == 31
    assert message.replace("'region == 'x''", '"region == \'x\'"') in error.message


@pytest.mark.parametrize(("override", "where", "message"), [
    ("- jobTemplate: {}", "spec.overrides.0.when", "this key is required"),
    ("- when: {platfrom: {}}", "spec.overrides.0.when.platfrom", "nearest valid name: platform"),
    ("- when: {platform: {eq: aws}}", "spec.overrides.0.when.platform.eq", "valid names: equals, in, notIn"),
    ("- when: {topology: {domainCount: {equals: x}}}", "spec.overrides.0.when.topology.domainCount.equals",
     "'x' is not a whole number"),
    ("- when: {}\n  jobTemplate: {spec: {workload: {trainJob: {trianer: {}}}}}",
     "spec.overrides.0.jobTemplate.spec.workload.trainJob.trianer", "key 'trianer'; nearest valid name: trainer"),
    ("- when: {}\n  jobTemplate: {spec: {workload: {trainJob: {trainer: 3}}}}",
     "spec.overrides.0.jobTemplate.spec.workload.trainJob.trainer", "3 is not a section of keys"),
    ("- when: {}\n  gangScheduler: {}", "spec.overrides.0.gangScheduler", "unknown key 'gangScheduler'"),
    ("- when: {}\n  jobTemplatePatch: [{op: set, path: /a}]", "spec.overrides.0.jobTemplatePatch.0.op",
     "'set' is not valid"),
    ("- when: {}\n  jobTemplatePatch: [{op: add, path: /a}]", "spec.overrides.0.jobTemplatePatch.0",
     "add needs a value"),
    ("- when: {}\n  jobTemplatePatch: [{op: move, path: /a}]", "spec.overrides.0.jobTemplatePatch.0",
     "move needs from"),
    ("- when: {}\n  jobTemplatePatch: [{op: remove, path: a}]", "spec.overrides.0.jobTemplatePatch.0.path",
     "'a' is not a JSON pointer"),
    ("- when: {}\n  dependencies: [{kind: ConfigMap}]", "spec.overrides.0.dependencies",
     "dependencies[0] needs apiVersion, kind and metadata.name"),
    ("- when: {}\n  dependencies: [{apiVersion: v1, kind: C, metadata: {name: n}, when: {platfrom: {}}}]",
     "spec.overrides.0.dependencies", "dependencies[0].when.platfrom: Extra inputs are not permitted"),
    ("- when: {}\n  orchestration: {iterations: 0}", "spec.overrides.0.orchestration.iterations", "valid: 1 or more"),
    ("- when: {}\n  orchestration: {placement: Unpinned}", "spec.overrides.0.orchestration.placement",
     "unknown key 'placement'"),
    ("- when: {}\n  orchestration: {topology: {}}", "spec.overrides.0.orchestration.topology.topologyKey",
     "this key is required"),
])
def test_overrides_that_are_refused(tmp_path: Path, override: str, where: str, message: str) -> None:
    error = refused(tmp_path, with_overrides(override))
    assert error.where == where and message in error.message


def test_facts_of_a_workflow(tmp_path: Path) -> None:
    """Mode and domains follow the topology that the run itself asks for."""
    plain = build_workflow(load(tmp_path, EXAMPLE))
    assert facts_of(plain, "aws", "h100") == Facts("aws", "h100", "TrainJob", "simple", 0, None)
    racks = build_workflow(load(tmp_path, EXAMPLE + "  orchestration: {testScale: intra-rack}\n"))
    assert facts_of(racks).topology_mode == "topology"
    plain["spec"]["validation"] = {"performance": {"config": {"a": 1}}}
    assert facts_of(plain).config == {"a": 1}


def test_unpinned_refuses_a_strict_domain_that_an_override_brings(tmp_path: Path) -> None:
    overrides = [{"when": {}, "orchestration": {"topology": {"topologyKey": "rack", "strictDomain": True}}}]
    spec: dict[str, Any] = {"orchestration": {"placement": "Unpinned"}, "overrides": overrides}
    with pytest.raises(InputError) as caught:
        resolve(build_workflow(load(tmp_path, text_of(spec))), FACTS)
    assert caught.value.message == (
        "orchestration.placement: Unpinned is incompatible with orchestration.topology.strictDomain: strictDomain runs "
        "one job per topology domain, Unpinned runs exactly one job; to confine a single unpinned job to one domain, "
        "name the domain label in target.matchExpressions instead")
    overrides[0]["orchestration"] = {"topology": {"topologyKey": "rack"}}        # a key alone is left unused
    resolve(build_workflow(load(tmp_path, text_of(spec))), FACTS)


@pytest.mark.parametrize("patch", ["{op: remove, path: /spec}", "{op: remove, path: /spec/workload}",
                                   "{op: replace, path: /spec/workload/trainJob/trainer/numNodes, value: 0}"])
def test_a_job_without_a_number_of_nodes_is_none(tmp_path: Path, patch: str) -> None:
    overrides = f"- when: {{}}\n  jobTemplatePatch: [{patch}]"
    with pytest.raises(InputError) as caught:
        resolve(build_workflow(load(tmp_path, with_overrides(overrides, text_of({})))), FACTS)
    assert caught.value.where == "spec.jobTemplate.spec.workload.trainJob.trainer.numNodes"


def test_an_override_that_says_the_same_in_full_is_a_no_op(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "- when: {}\n  orchestration: {execution: {timeoutPerJob: 1h}, iterations: 1}")
    assert apply_overrides(spec, FACTS)[1][0].no_op


def _larger(below: Any) -> Any:
    named = st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"x": below})
    return (st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("xyz"), below, max_size=3)
            | st.lists(named, max_size=3))


LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["a", "b"])
TREES = st.recursive(LEAVES, _larger, max_leaves=12)


@settings(max_examples=200, deadline=None)
@given(TREES, TREES)
def test_a_merge_repeated_changes_nothing_more(base: Any, change: Any) -> None:
    once = merged(base, change)
    assert merged(once, change) == once
    assert merged(once, once) == merged(None, once)


@settings(max_examples=100, deadline=None)
@given(TREES)
def test_merging_an_empty_section_keeps_a_section(base: Any) -> None:
    assert merged(base, {}) == (base if isinstance(base, dict) else {})
