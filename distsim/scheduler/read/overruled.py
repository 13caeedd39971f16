"""Keys of a job that its other keys overrule: they are valid, and nothing acts on them (policies.policy_name)."""

from __future__ import annotations

from collections.abc import Iterator

from distsim.scheduler.keys.settings import MULTILEVEL, SOFT_SHARE
from distsim.scheduler.keys.table import AFFINITY, ATLAS, POLICY, SHARE, SP_BLOCK, SP_FIT
from distsim.scheduler.types import Job

_RACKS, _SKIP = "chip8-node8-ra64-sp", "huawei.com/skip-ascend-plugin"


def overruled(job: Job) -> Iterator[str]:
    """A line for each kind of key that is without effect, with what overrules it."""
    settings = job.settings
    policy = settings.schedule_policy or ""
    is_policy = f"{POLICY} is {policy or 'absent'}"
    by_blocks = policy.endswith("-sp") or (SP_BLOCK in job.annotations and not policy and not settings.tor_affinity)
    blocks = {SP_BLOCK: job.annotations, SP_FIT: job.annotations, "super-pod-affinity": job.labels}
    shares = [SHARE + name for name in ("aicoreQuota", "hbmQuota", "policy") if SHARE + name in job.labels]
    if settings.skip_ascend:
        given = [key for key in (POLICY, "tor-affinity", SP_BLOCK, AFFINITY, ATLAS, "npu-310-strategy")
                 if key in job.annotations or key in job.labels]
        if given:
            yield f"{', '.join(given)} without effect: {_SKIP} is enabled"
        return
    if settings.affinity_levels is not None and policy != MULTILEVEL:
        yield f"{AFFINITY} acts with {POLICY}: {MULTILEVEL} only; it is {policy or 'absent'}"
    if settings.tor_affinity and (policy == MULTILEVEL or policy.endswith("-sp")):
        yield f"tor-affinity without effect: {is_policy}, which places the job"
    given = [key for key, texts in blocks.items() if key in texts and not by_blocks]
    if given:
        yield f"{', '.join(given)} without effect: {is_policy}; SuperPoD blocks need one that ends with -sp"
    if settings.ra_block is not None and policy != _RACKS:
        yield f"ra-block without effect: {is_policy}, not {_RACKS}"
    if shares and policy != SOFT_SHARE:
        yield f"{', '.join(shares)} without effect: {is_policy}, not {SOFT_SHARE}"
    if settings.npu_310_strategy and policy:
        yield f"npu-310-strategy without effect: {is_policy}"
    placed_by = (policy or SP_BLOCK) if by_blocks or policy == MULTILEVEL else "tor-affinity"
    if job.network_topology and (placed_by != "tor-affinity" or settings.tor_affinity):
        yield f"networkTopology without effect: {placed_by} places the job"
