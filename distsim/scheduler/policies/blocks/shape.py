"""sp-block and ra-block: how many nodes a block of a job is, and which jobs cannot be cut into blocks.

cluster.md section 4; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu: checkSpBlock and checkRequireNPU
of ascend910/ascend910a3/superpod/frame.go and policy/chip8node8sp/frame.go, policy/chip8node8ra64sp/job.go.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from distsim.scheduler.chips.rings import SHAPES
from distsim.scheduler.state import State
from distsim.scheduler.types import INVALID_ARGUMENT, INVALID_REQUEST, VALIDATE_FAILED, Job, Refusal

RACK_POLICY = "chip8-node8-ra64-sp"
RA_BLOCKS = (1, 2, 4, 8, 16, 32, 64)              # chips of a logical rack
RACK_NODES = 64                                   # seed 001, Table 3: 64 nodes form a computing cabinet


@dataclass(frozen=True)
class Shape:
    """block : nodes of a logical SuperPoD. piece : nodes of a logical rack (1 without ra-block); pieces make a block.
    racks : whether the job looks at racks at all. chips : of a node."""

    block: int
    piece: int
    racks: bool
    chips: int


def shape_of(job: Job, state: State) -> Shape | Refusal:
    """The blocks of a job, or what is wrong with sp-block or ra-block (InvalidArgument, InvalidResourceRequest)."""
    chips = node_chips(job, state)
    wrong = _sp_block_wrong(job, chips, state.settings.super_pod_size)
    if wrong:
        return wrong
    block = max(1, sp_block(job) // chips)
    if job.settings.schedule_policy != RACK_POLICY:
        return Shape(block, 1, False, chips)
    wrong = _ra_block_wrong(job, chips, block)
    if wrong:
        return wrong
    return Shape(block, _piece(job, chips), True, chips)


def sp_block(job: Job) -> int:
    """Chips of a logical SuperPoD: the annotation sp-block, else all chips of the job."""
    given = job.settings.sp_block
    return _total(job) if given is None else given


def node_chips(job: Job, state: State) -> int:
    """Chips of a node for this job: N of its schedule_policy, else what most nodes with chips have (of two such
    numbers the greater)."""
    asked = SHAPES.get(job.settings.schedule_policy or "")
    if asked is not None:
        return asked.node
    counts = Counter(node.chips for node in state.nodes.values() if node.chips)
    return max(counts, key=lambda chips: (counts[chips], chips), default=1)


def _total(job: Job) -> int:
    return sum(task.chips for task in job.npu_tasks)


def _piece(job: Job, chips: int) -> int:
    """Nodes of a logical rack: ra-block 1 to 8 is one node, 16 two, 64 eight."""
    return -(-(job.settings.ra_block or 1) // chips)


def _sp_block_wrong(job: Job, chips: int, super_pod_size: int) -> Refusal | None:
    given, total, pods = sp_block(job), _total(job), len(job.npu_tasks)
    says = f"sp-block {given} of job {job.name}" + (" (its chips)" if job.settings.sp_block is None else "")
    if given < 1:
        return _argument(f"{says} is not a positive number of chips")
    if pods == 1:
        if given != total:
            return _argument(f"{says}, which has one pod, is not the {total} chips that the pod requests")
        return None
    partial = next((task for task in job.npu_tasks if task.chips != chips), None)
    if partial is not None:
        return Refusal(VALIDATE_FAILED, f"pod {partial.name} of job {job.name} requests {partial.chips} chips; in "
                       f"logical SuperPoDs each of several pods takes a whole node of {chips}", INVALID_REQUEST,
                       final=True)
    if given % chips:
        return _argument(f"{says} is not a multiple of the {chips} chips of a node")
    if total % given:
        return _argument(f"{says} does not divide its {total} chips ({pods} pods of {chips})")
    if given // chips > super_pod_size:
        return _argument(f"{says} is {given // chips} nodes, more than super-pod-size {super_pod_size}")
    return None


def _ra_block_wrong(job: Job, chips: int, block: int) -> Refusal | None:
    given = 1 if job.settings.ra_block is None else job.settings.ra_block
    says = f"ra-block {given} of job {job.name}"
    if given not in RA_BLOCKS:
        return _argument(f"{says} is invalid; valid: {', '.join(map(str, RA_BLOCKS))}")
    piece, pods = _piece(job, chips), len(job.npu_tasks)
    if piece > block:
        return _argument(f"{says} is {piece} nodes, more than the {block} of sp-block {sp_block(job)}")
    if block % piece:
        return _argument(f"{says} is {piece} nodes, which do not divide the {block} of sp-block {sp_block(job)}")
    if pods > 1 and _total(job) % given:
        return _argument(f"{says} does not divide its {_total(job)} chips")
    return None


def _argument(message: str) -> Refusal:
    return Refusal(VALIDATE_FAILED, message, INVALID_ARGUMENT, final=True)
