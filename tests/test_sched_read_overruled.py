"""Keys of a job that its other keys overrule are named, and those that act are not."""

from __future__ import annotations

import pytest
from sched_files import container, jobs_of, volcano

POLICY = "huawei.com/schedule_policy"
SHARE = "huawei.com/scheduler.softShareDev."
QUOTAS = f"'{SHARE}aicoreQuota': '50', '{SHARE}hbmQuota': '1024', '{SHARE}policy': elastic"


@pytest.mark.parametrize(("labels", "annotations", "spec", "said"), [
    ("tor-affinity: normal-schema", f"{POLICY}: chip8-node8-sp", "",
     f"tor-affinity without effect: {POLICY} is chip8-node8-sp, which places the job"),
    ("tor-affinity: normal-schema", f"{POLICY}: chip8-node8", "", None),
    ("", f"{POLICY}: chip8-node8, sp-block: '8', sp-fit: idlest", "",
     f"sp-block, sp-fit without effect: {POLICY} is chip8-node8; SuperPoD blocks need one that ends with -sp"),
    ("super-pod-affinity: soft", "", "",
     f"super-pod-affinity without effect: {POLICY} is absent; SuperPoD blocks need one that ends with -sp"),
    ("super-pod-affinity: soft", f"{POLICY}: chip8-node8-ra64-sp, sp-block: '8', sp-fit: idlest, ra-block: '8'", "",
     None),
    ("", "sp-block: '8', sp-fit: idlest", "", None),
    ("", "sp-block: idlest", "", None),
    ("", f"{POLICY}: chip8-node8-sp, ra-block: '8'", "",
     f"ra-block without effect: {POLICY} is chip8-node8-sp, not chip8-node8-ra64-sp"),
    (QUOTAS, f"{POLICY}: chip8-node8", "",
     f"{SHARE}aicoreQuota, {SHARE}hbmQuota, {SHARE}policy without effect: {POLICY} is "
     "chip8-node8, not chip1-softShareDev"),
    ("npu-310-strategy: chip", f"{POLICY}: chip8-node8", "",
     f"npu-310-strategy without effect: {POLICY} is chip8-node8"),
    ("npu-310-strategy: chip", "", "", None),
    ("tor-affinity: normal-schema", "", "networkTopology: {mode: soft}",
     "networkTopology without effect: tor-affinity places the job"),
    ("", "sp-block: '8'", "networkTopology: {mode: soft}", "networkTopology without effect: sp-block places the job"),
    ("", "", "networkTopology: {mode: soft}", None),
    ("tor-affinity: normal-schema", f"huawei.com/skip-ascend-plugin: enabled, {POLICY}: chip8-node8", "",
     f"{POLICY}, tor-affinity without effect: huawei.com/skip-ascend-plugin is enabled"),
    ("", "huawei.com/affinity-config: level1=1", "", "huawei.com/affinity-config acts with "
     f"{POLICY}: multilevel only; it is absent"),
])
def test_overruled(tmp_path, labels, annotations, spec, said):
    text = volcano(spec, f"labels: {{{labels}}}\nannotations: {{{annotations}}}")
    (job,), lines = jobs_of(tmp_path, text)
    assert job.refusal is None
    assert lines == ([f"{tmp_path / 'job.yaml'}:1: {said}"] if said else [])


def test_each_template_of_soft_share_requests_its_quota(tmp_path):
    other = container("huawei.com/Ascend910: 20").replace("\n", "\n        ")
    text = volcano(metadata=f"labels: {{{QUOTAS}}}\nannotations: {{{POLICY}: chip1-softShareDev}}",
                   pod=container("huawei.com/Ascend910: 50"))
    (job,), _ = jobs_of(tmp_path, text + f"\n  - name: other\n    template:\n      spec:\n        {other}")
    assert job.refusal is not None and "50, but a pod requests 20 chips" in job.refusal.message
