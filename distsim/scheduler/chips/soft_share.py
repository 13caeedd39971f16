"""chip1-softShareDev: several pods on one chip, each with a quota of its AI cores and of its memory.

Seed 001, PodGroup Table 1 (huawei.com/scheduler.softShareDev.*); cluster.md section 4; Ascend/mind-cluster,
component/ascend-for-volcano/internal/npu/policy/chip1softsharedev, and docs/en/scheduling, "Soft Partitioning".
A pod holds a part of one chip: `Task.chips` is 1. (Its manifest requests as many chips as its aicoreQuota; the reader
of the manifest turns that into 1, and leaves the chips out of `Task.request`, since the node's amount counts whole
chips.) Such a task is given its node by `State.share`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from distsim.scheduler.state import Share, task_key
from distsim.scheduler.types import INVALID_REQUEST, VALIDATE_FAILED, Job, Refusal, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

KEY = "huawei.com/scheduler.softShareDev."
POLICIES = ("fixed-share", "elastic", "best-effort")
WHOLE = 100                                       # percent of a chip's AI cores
# Node label: "false" keeps such pods away. mind-cluster wants "true" there; here a node without it takes them too, as a
# cluster file need not say so.
ENABLE = "huawei.com/scheduler.chip1softsharedev.enable"
# Node labels with the memory of a chip, as the device plugin writes them ("64G"); then ours, a label or annotation that
# holds MB.
MEMORY_LABELS = ("huawei.com/npu.chip.memory", "mind-cluster/npu-chip-memory")
MEMORY_MB, DEFAULT_MEMORY_MB = "distsim/chip-memory-mb", 65536


class SoftShare:
    """See `SharingRule`."""

    name = "chip1-softShareDev"
    shares = True

    def validate(self, job: Job) -> Refusal | None:
        """InvalidResourceRequest for a label that is missing or out of range, and for a pod of several chips."""
        settings = job.settings
        given = {"aicoreQuota": settings.aicore_quota, "hbmQuota": settings.hbm_quota_mb,
                 "policy": settings.share_policy}
        missing = [KEY + name for name, value in given.items() if value is None]
        if missing:
            return _invalid(job, f"has no {', '.join(missing)}; {self.name} needs all three labels")
        aicore, memory = settings.aicore_quota, settings.hbm_quota_mb
        if aicore is not None and not 1 <= aicore <= WHOLE:
            return _invalid(job, f"has {KEY}aicoreQuota {aicore}; valid: 1 to {WHOLE} (percent of a chip)")
        if memory is not None and memory < 1:
            return _invalid(job, f"has {KEY}hbmQuota {memory}; valid: 1 to the MB of a chip")
        if settings.share_policy not in POLICIES:
            return _invalid(job, f"has {KEY}policy {settings.share_policy!r}; valid: {', '.join(POLICIES)}")
        for task in job.npu_tasks:
            if task.chips != 1:
                return _invalid(job, f"has pod {task.name} of {task.chips} chips; a pod holds a part of one chip, and "
                                     f"requests {aicore} in its manifest, as its aicoreQuota")
        return None

    def impossible(self, job: Job, nodes: Iterable[NodeState]) -> Refusal | None:
        """InvalidResourceRequest for an hbmQuota beyond the memory of every chip of these nodes (seed: 1 to maxHBM);
        None if some chip is as large, or none says a valid size."""
        sizes = [size for node in nodes if isinstance(size := chip_memory_mb(node), int)]
        asked = job.settings.hbm_quota_mb
        if asked is None or not sizes or asked <= max(sizes):
            return None
        return _invalid(job, f"has {KEY}hbmQuota {asked}; valid: 1 to {max(sizes)}, the MB of the largest chip")

    def share_of(self, job: Job, task: Task) -> Share:
        """The part of a chip that a task holds, for `State.share`. The job must be valid."""
        aicore, memory, policy = job.settings.aicore_quota, job.settings.hbm_quota_mb, job.settings.share_policy
        assert aicore is not None and memory is not None and policy is not None, f"{job.name} is not valid"
        return Share(task_key(task), aicore, memory, policy)

    def choose(self, node: NodeState, idle: int, task: Task, job: Job) -> tuple[int, int] | str:
        """As `choose_beside`, with nothing planned."""
        return self.choose_beside(node, idle, task, job, ())

    def choose_beside(self, node: NodeState, idle: int, task: Task, job: Job,
                      planned: Sequence[int]) -> tuple[int, int] | str:
        """The fullest chip of the same policy where the quotas fit, else the lowest idle one.

        Sums per chip stay within 100 percent and the chip's memory; all shares of a chip have one policy. Score as
        chip1softsharedev/utils.go: what a shared chip has left, then nodes with most shared chips, then empty ones.
        """
        mine = self.share_of(job, task)
        memory = chip_memory_mb(node)
        if isinstance(memory, str):
            return memory
        if node.labels.get(ENABLE, "true") != "true":
            return f"label {ENABLE} is {node.labels[ENABLE]!r}"
        if mine.hbm_mb > memory:
            return f"hbmQuota {mine.hbm_mb} MB is more than the {memory} MB of a chip"
        loads = _loads(node, mine, planned, job.several)
        best = max(((load[0], -chip) for chip, load in loads.items()
                    if load[0] + mine.aicore <= WHOLE and load[1] + mine.hbm_mb <= memory), default=None)
        if best is not None:
            return 1 << -best[1], WHOLE - best[0] - mine.aicore
        for chip in planned:
            idle &= ~(1 << chip)
        if idle:
            return idle & -idle, 2 * WHOLE - min(len(node.shares), WHOLE)
        return (f"no idle chip, and none of {len(loads)} chips shared {mine.policy} has {mine.aicore} % and "
                f"{mine.hbm_mb} MB left")


def slowdown(shares: Sequence[Share], task: str) -> float:
    """How many times longer a task's work on its chip takes than on a chip of its own; 1 is full speed.

    shares : all shares of the chip. task : the key of the task (`state.task_key`). All tasks are taken to be always
    busy [our decision; mind-cluster names the policies only]: fixed-share never has more than its quota; elastic has
    its quota and, in proportion to it, what no share claims; best-effort competes with equal chances, whatever its
    quota. Raises ValueError if the task has no share of the chip.
    """
    mine = next((share for share in shares if share.task == task), None)
    if mine is None:
        raise ValueError(f"{task} holds no share of this chip; its tasks are {', '.join(one.task for one in shares)}")
    if mine.policy == "fixed-share":
        return WHOLE / mine.aicore
    if mine.policy == "elastic":
        return sum(share.aicore for share in shares) / mine.aicore
    return float(len(shares))


def chip_memory_mb(node: NodeState) -> int | str:
    """Memory of a chip of a node in MB, or what is wrong with the label that says it."""
    for key in MEMORY_LABELS:
        if key in node.labels:
            found = _gigabytes(node.labels[key])
            return f"label {key} is {node.labels[key]!r}, valid is e.g. '64G'" if found is None else found
    text = node.labels.get(MEMORY_MB, node.node.annotations.get(MEMORY_MB))
    if text is None:
        return DEFAULT_MEMORY_MB
    return int(text) if text.isdecimal() and int(text) else f"{MEMORY_MB} is {text!r}, valid is a number of MB"


@lru_cache(maxsize=64)
def _gigabytes(text: str) -> int | None:
    """MB of "64G" (or "64"); None for anything else."""
    number = text.removesuffix("G")
    return 1024 * int(number) if number.isdecimal() and int(number) else None


def _loads(node: NodeState, mine: Share, planned: Sequence[int], several_pods: bool) -> dict[int, tuple[int, int]]:
    """Chip -> percent and MB that are taken, of the chips of a node that a share of this policy may join."""
    usable = node.all_chips & ~(node.barred | (node.cut if several_pods else 0))
    loads: dict[int, tuple[int, int]] = {}
    for chip in sorted(node.shares):
        shares = node.shares[chip]
        if usable >> chip & 1 and shares[0].policy == mine.policy:
            loads[chip] = sum(one.aicore for one in shares), sum(one.hbm_mb for one in shares)
    for chip in planned:
        aicore, memory = loads.get(chip, (0, 0))
        loads[chip] = aicore + mine.aicore, memory + mine.hbm_mb
    return loads


def _invalid(job: Job, what: str) -> Refusal:
    return Refusal(VALIDATE_FAILED, f"job {job.name} {what}", INVALID_REQUEST, final=True)


def rule(name: str) -> SoftShare:
    """The rule."""
    return SoftShare()
