"""sp-block and ra-block that cannot be (cluster.md section 4; bad input of issue 6)."""

from __future__ import annotations

import pytest

from distsim.scheduler.policies import policy
from distsim.scheduler.types import Job, Refusal
from tests.sched_cases import job
from tests.super_pod_cases import RA, SP, pods_of, sp_job


def refused(asks: Job, size: int = 48) -> Refusal:
    """Why a job is not valid."""
    found = policy("super-pod").validate(asks, pods_of({"a": 4}, size=size))
    assert found is not None and (found.condition, found.final) == ("JobValidateFailed", True)
    return found


A3 = "chip2-node16-sp"


@pytest.mark.parametrize(("pods", "chips", "rule", "sp_block", "text"), [
    (4, 16, A3, 24, "sp-block 24 of job job is not a multiple of the 16 chips of a node"),
    (4, 16, A3, 48, "sp-block 48 of job job does not divide its 64 chips (4 pods of 16)"),
    (4, 16, A3, 8, "sp-block 8 of job job is not a multiple of the 16 chips of a node"),
    (2, 16, A3, 0, "sp-block 0 of job job is not a positive number of chips"),
    (2, 16, A3, -16, "sp-block -16 of job job is not a positive number of chips"),
    (1, 8, A3, 16, "sp-block 16 of job job, which has one pod, is not the 8 chips that the pod requests"),
    (49, 16, A3, None, "sp-block 784 of job job (its chips) is 49 nodes, more than super-pod-size 48"),
    (98, 8, SP, 392, "sp-block 392 of job job is 49 nodes, more than super-pod-size 48"),
    (2, 8, SP, 32, "sp-block 32 of job job does not divide its 16 chips (2 pods of 8)"),
    (4, 8, SP, 12, "sp-block 12 of job job is not a multiple of the 8 chips of a node"),
])
def test_sp_block(pods: int, chips: int, rule: str, sp_block: int | None, text: str) -> None:
    found = refused(job(pods, chips, schedule_policy=rule, sp_block=sp_block))
    assert (found.reason, found.message) == ("InvalidArgument", text)


def test_pods_that_are_no_whole_node() -> None:
    found = refused(job(4, 4, sp_block=8))
    assert (found.reason, found.message) == (
        "InvalidResourceRequest", "pod job-worker-0 of job job requests 4 chips; in logical SuperPoDs each of several "
        "pods takes a whole node of 8")


@pytest.mark.parametrize(("pods", "block", "ra_block", "text"), [
    (4, 2, 3, "ra-block 3 of job job is invalid; valid: 1, 2, 4, 8, 16, 32, 64"),
    (4, 2, 128, "ra-block 128 of job job is invalid; valid: 1, 2, 4, 8, 16, 32, 64"),
    (4, 2, 0, "ra-block 0 of job job is invalid; valid: 1, 2, 4, 8, 16, 32, 64"),
    (4, 2, 32, "ra-block 32 of job job is 4 nodes, more than the 2 of sp-block 16"),
    (6, 6, 32, "ra-block 32 of job job is 4 nodes, which do not divide the 6 of sp-block 48"),
])
def test_ra_block(pods: int, block: int, ra_block: int, text: str) -> None:
    found = refused(sp_job(pods, block, rule=RA, ra_block=ra_block))
    assert (found.reason, found.message) == ("InvalidArgument", text)


@pytest.mark.parametrize("asks", [
    job(4, 16, schedule_policy=A3, sp_block=32), job(4, 16, schedule_policy=A3), job(1, 1, schedule_policy=A3),
    job(1, 6, schedule_policy=A3, sp_block=6), sp_job(48), sp_job(96, 48), sp_job(8, 8, rule=RA, ra_block=64),
    sp_job(8, 4, rule=RA, ra_block=32), sp_job(3, 3, rule=RA), job(1, 4, schedule_policy=RA, sp_block=4, ra_block=4),
    sp_job(4, 2, ra_block=7),                     # ra-block counts for chip8-node8-ra64-sp only
])
def test_valid(asks: Job) -> None:
    assert policy("super-pod").validate(asks, pods_of({"a": 4})) is None
