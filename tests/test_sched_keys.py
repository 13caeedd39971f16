"""Labels and annotations: every key of the table, its values, what is invalid; keys.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sched_cases import job, request, tor_state

from distsim.scheduler.keys import ANNOTATION, KEYS, LABEL, POLICIES, keys_of, parse_settings
from distsim.scheduler.keys.page import PAGE, page
from distsim.scheduler.keys.values import SCHEDULE_POLICIES
from distsim.scheduler.policies import policy_name
from distsim.scheduler.types import JobSettings, Refusal

TESTS = Path(__file__).parent
# False: only the tests of this part have to exist, not all that the table names.
EVERY_TEST_IS_THERE = True
SHARE = "huawei.com/scheduler.softShareDev."


def settings(labels=None, annotations=None, pods=8, chips=8) -> JobSettings:
    found = parse_settings(labels or {}, annotations or {}, pods, chips)
    assert isinstance(found, JobSettings), found
    return found


def refusal(labels=None, annotations=None, pods=8, chips=8) -> Refusal:
    found = parse_settings(labels or {}, annotations or {}, pods, chips)
    assert isinstance(found, Refusal), found
    assert (found.condition, found.final) == ("JobValidateFailed", True)
    return found


VALUES = [
    (LABEL, "ring-controller.atlas", "ascend-910b", "atlas", "ascend-910b"),
    (LABEL, "ring-controller.atlas", "huawei.com/npu", "atlas", "huawei.com/npu"),
    (LABEL, "fault-scheduling", "grace", "fault_scheduling", "grace"),
    (LABEL, "fault-scheduling", "force", "fault_scheduling", "force"),
    (LABEL, "fault-scheduling", "off", "fault_scheduling", "off"),
    (LABEL, "fault-scheduling", "maybe", "fault_scheduling", "off"),
    (LABEL, "elastic-scheduling", "on", "elastic", True),
    (LABEL, "elastic-scheduling", "off", "elastic", False),
    (LABEL, "fault-retry-times", "0", "fault_retry_times", 0),
    (LABEL, "fault-retry-times", "100", "fault_retry_times", 100),
    (LABEL, "tor-affinity", "normal-schema", "tor_affinity", "normal-schema"),
    (LABEL, "tor-affinity", "large-model-schema", "tor_affinity", "large-model-schema"),
    (LABEL, "tor-affinity", "null", "tor_affinity", None),
    (LABEL, "npu-310-strategy", "card", "npu_310_strategy", "card"),
    (LABEL, "npu-310-strategy", "chip", "npu_310_strategy", "chip"),
    (LABEL, "pod-rescheduling", "on", "pod_rescheduling", True),
    (LABEL, "pod-rescheduling", "yes", "pod_rescheduling", False),
    (LABEL, "process-recover-enable", "on", "process_recover", True),
    (LABEL, "process-recover-enable", "pause", "process_recover", False),
    (LABEL, "subHealthyStrategy", "graceExit", "sub_healthy", "graceExit"),
    (LABEL, "subHealthyStrategy", "forceExit", "sub_healthy", "forceExit"),
    (LABEL, "subHealthyStrategy", "hotSwitch", "sub_healthy", "hotSwitch"),
    (LABEL, "subHealthyStrategy", "gracefulExit", "sub_healthy", "ignore"),
    (LABEL, SHARE + "aicoreQuota", "1", "aicore_quota", 1),
    (LABEL, SHARE + "hbmQuota", "65536", "hbm_quota_mb", 65536),
    (LABEL, SHARE + "policy", "fixed-share", "share_policy", "fixed-share"),
    (LABEL, SHARE + "policy", "elastic", "share_policy", "elastic"),
    (LABEL, SHARE + "policy", "best-effort", "share_policy", "best-effort"),
    (LABEL, "super-pod-affinity", "soft", "super_pod_affinity", "soft"),
    (LABEL, "super-pod-affinity", "else", "super_pod_affinity", "hard"),
    (ANNOTATION, "sp-block", "32", "sp_block", 32),
    (ANNOTATION, "sp-fit", "idlest", "sp_fit", "idlest"),
    (ANNOTATION, "ra-block", "64", "ra_block", 64),
    (ANNOTATION, "huawei.com/schedule_minAvailable", "3", "min_available", 3),
    (ANNOTATION, "huawei.com/recover_policy_path", "pod", "recover_pod_only", True),
    (ANNOTATION, "huawei.com/recover_policy_path", "pod,job", "recover_pod_only", False),
    (ANNOTATION, "huawei.com/schedule_enable_dequeue", "on", "enable_dequeue", True),
    (ANNOTATION, "huawei.com/schedule_enable_dequeue", "true", "enable_dequeue", False),
    (ANNOTATION, "huawei.com/affinity-config", "level1=2,level2=4", "affinity_levels", (2, 4)),
    (ANNOTATION, "huawei.com/skip-ascend-plugin", "enabled", "skip_ascend", True),
    (ANNOTATION, "minReplicas", "2", "min_replicas", 2),
]


@pytest.mark.parametrize(("place", "key", "text", "field", "value"), VALUES)
def test_values(place, key, text, field, value):
    found = settings(**{"labels" if place == LABEL else "annotations": {key: text}})
    assert getattr(found, field) == value


def test_every_key_that_is_parsed_has_a_value_above():
    assert {key.name for key in KEYS.values() if key.parse} - {case[1] for case in VALUES} == {
        "huawei.com/schedule_policy", "distributed"}          # tests of their own below


def test_nothing_said():
    assert settings() == JobSettings()


INVALID = [
    (LABEL, "tor-affinity", "large", "'large' is not valid; valid values: normal-schema, large-model-schema, null"),
    (LABEL, "fault-retry-times", "101", "101 is out of range; valid: 0 to 100"),
    (LABEL, "fault-retry-times", "-1", "-1 is out of range; valid: 0 to 100"),
    (LABEL, "fault-retry-times", "ten", "'ten' is not an integer; valid: 0 to 100"),
    (LABEL, "npu-310-strategy", "cards", "'cards' is not valid; valid values: card, chip; nearest: card"),
    (LABEL, "elastic-scheduling", "enable", "'enable' is not valid; valid values: on, off"),
    (LABEL, SHARE + "aicoreQuota", "0", "0 is out of range; valid: 1 to 100"),
    (LABEL, SHARE + "aicoreQuota", "101", "101 is out of range; valid: 1 to 100"),
    (LABEL, SHARE + "hbmQuota", "0", "0 is out of range; valid: 1 or more"),
    (LABEL, SHARE + "policy", "fair", "'fair' is not valid; valid values: fixed-share, elastic, best-effort"),
    (LABEL, "ring-controller.atlas", "ascend-911",
     "'ascend-911' is not valid; valid values: ascend-npu, ascend-910, "),
    (ANNOTATION, "sp-block", "some",
     "'some' is not valid; valid: a number of chips of 1 or more, idlest or Non-idlest"),
    (ANNOTATION, "sp-block", "0", "'0' is not valid; valid: a number of chips of 1 or more"),
    (LABEL, "fault-retry-times", "9" * 30, "9" * 30 + " is out of range; valid: 0 to 100"),
    (ANNOTATION, "ra-block", "3", "'3' is not valid; valid values: 1, 2, 4, 8, 16, 32, 64"),
    (ANNOTATION, "ra-block", "128", "'128' is not valid; valid values: 1, 2, 4, 8, 16, 32, 64"),
    (ANNOTATION, "huawei.com/schedule_minAvailable", "two", "'two' is not an integer; valid: 1 or more"),
    (ANNOTATION, "huawei.com/recover_policy_path", "pods", "'pods' is not valid; valid values: pod, job, pod,job"),
    (ANNOTATION, "huawei.com/skip-ascend-plugin", "yes", "'yes' is not valid; valid values: enabled"),
    (ANNOTATION, "distributed", "yes", "'yes' is not valid; valid values: true, false"),
    (ANNOTATION, "minReplicas", "9", "9 is out of range; valid: 1 to 8, the job's replicas"),
]


@pytest.mark.parametrize(("place", "key", "text", "message"), INVALID)
def test_invalid_values(place, key, text, message):
    found = refusal(**{"labels" if place == LABEL else "annotations": {key: text}})
    assert found.reason == "InvalidArgument"
    assert found.message.startswith(f"{place} {key}: {message}")


AFFINITY = [           # cluster.md section 3, then our own rules
    ("level1=2,level2=4", 6, "the 6 replicas are not a multiple of level2=4 (4 does not divide 6)"),
    ("level1=3,level2=4", 12, "level2=4 is not a multiple of level1=3 (3 does not divide 4)"),
    ("level2=4", 8, "level1 is missing; levels begin with level1 and ascend without a gap"),
    ("level1=2,level3=4", 8, "level2 is missing; levels begin with level1 and ascend without a gap"),
    ("level1=2;level2=4", 8, "malformed pair 'level1=2;level2=4'; valid: pairs leveln=x joined by commas"),
    ("level1=x", 8, "level1=x is not an integer"),
    ("level1=0", 8, "level1=0 is out of range; valid: 1 or more"),
    ("level1=-2", 8, "level1=-2 is out of range; valid: 1 or more"),
    ("level1=2,level1=4", 8, "level1 is given twice"),
    ("level2=4,level1=2", 8, "level1 is missing"),
    ("", 8, "malformed pair ''"),
    ("level1=2,", 8, "malformed pair ''"),
    ("tier1=2", 8, "malformed pair 'tier1=2'"),
    ("level0=2", 8, "level1 is missing"),
]


@pytest.mark.parametrize(("text", "pods", "message"), AFFINITY)
def test_affinity_config(text, pods, message):
    found = refusal(annotations={"huawei.com/affinity-config": text}, pods=pods)
    assert found.reason == "InvalidArgument"
    assert found.message.startswith(f"annotation huawei.com/affinity-config: {text!r}: {message}")


def test_valid_affinity_config():
    for text, pods, levels in (("level1=2,level2=4", 8, (2, 4)), ("level1=1", 5, (1,)),
                               ("level1=2, level2=2,level3=8", 16, (2, 2, 8))):
        assert settings(annotations={"huawei.com/affinity-config": text}, pods=pods).affinity_levels == levels


def test_multilevel_needs_affinity_config():
    found = refusal(annotations={"huawei.com/schedule_policy": "multilevel"})
    assert found.message == ("annotation huawei.com/affinity-config: missing; huawei.com/schedule_policy: multilevel "
                             "needs it, e.g. level1=2,level2=4")


def test_schedule_policies():
    assert len(SCHEDULE_POLICIES) == 16
    more = {"multilevel": {"huawei.com/affinity-config": "level1=8"}}
    share = {SHARE + "aicoreQuota": "8", SHARE + "hbmQuota": "1", SHARE + "policy": "elastic"}
    for name in SCHEDULE_POLICIES:
        found = settings(share, {"huawei.com/schedule_policy": name} | more.get(name, {}))
        assert found.schedule_policy == name
    found = refusal(annotations={"huawei.com/schedule_policy": "chip8-node9"})
    assert found.reason == "NotSupportPolicy"
    assert "'chip8-node9' is not valid; valid values: chip4-node8, " in found.message
    assert found.message.endswith("; nearest: chip8-node8")


@pytest.mark.parametrize(("annotations", "block", "fit"), [
    ({"sp-block": "idlest"}, None, "idlest"), ({"sp-block": "Non-idlest"}, None, "non-idlest"),
    ({"sp-block": "16"}, 16, None), ({"sp-block": "16", "sp-fit": "idlest"}, 16, "idlest"),
    ({"sp-block": "idlest", "sp-fit": "busiest"}, None, "busiest"),
])
def test_sp_block_says_how_large_or_where(annotations, block, fit):
    found = settings(annotations=annotations)
    assert (found.sp_block, found.sp_fit) == (block, fit)


def test_soft_share_needs_its_labels_and_the_request_of_its_quota():
    labels = {SHARE + "aicoreQuota": "50", SHARE + "hbmQuota": "1024", SHARE + "policy": "elastic"}
    policy = {"huawei.com/schedule_policy": "chip1-softShareDev"}
    assert settings(labels, policy, chips=50).aicore_quota == 50
    assert settings(labels, policy, chips=1).aicore_quota == 50
    found = refusal(labels, policy, chips=40)
    assert found.reason == "InvalidResourceRequest"
    assert found.message == (f"label {SHARE}aicoreQuota: 50, but a pod requests 40 chips; valid: 50, as the quota, or "
                             "1")
    for name in labels:
        found = refusal({key: text for key, text in labels.items() if key != name}, policy, chips=50)
        assert found.message == f"label {name}: missing; huawei.com/schedule_policy: chip1-softShareDev needs it"


def test_skip_ascend_plugin():
    state = tor_state()
    asks = job(2, tor_affinity="normal-schema", schedule_policy="chip8-node8")
    skips = job(2, tor_affinity="normal-schema", schedule_policy="chip8-node8", skip_ascend=True)
    assert (policy_name(asks, state), policy_name(skips, state)) == ("tor-affinity", "binpack")
    assert request(state, skips).rule.name == "any"


def test_the_table():
    assert set(keys_of(LABEL)) | set(keys_of(ANNOTATION)) == set(KEYS)
    fields = {key.field for key in KEYS.values() if key.field}
    assert fields == set(JobSettings.__dataclass_fields__)
    assert tuple(row.name for row in POLICIES) == SCHEDULE_POLICIES


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run python -m distsim.scheduler.keys"


def test_the_tests_that_the_table_names_exist():
    missing = []
    for row in (*KEYS.values(), *POLICIES):
        file, function = row.test.split("::")
        path = TESTS / file
        if not path.exists() or not re.search(rf"^def {function}\(", path.read_text(), re.MULTILINE):
            missing.append(f"{row.name}: {row.test}")
    ours = [line for line in missing if "test_sched_keys" in line or "test_sched_elastic" in line]
    assert (missing if EVERY_TEST_IS_THERE else ours) == []
