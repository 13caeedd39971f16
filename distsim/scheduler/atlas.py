"""ring-controller.atlas: pods of a kind of chip go on nodes of that kind only.

Source: seed 001 (PodGroup Table 1, Pod Table 1); the labels of nodes from mind-cluster, docs/en/scheduling,
"K8s Native Object Description" (accelerator) and "Preparing for Installation" (accelerator-type by product). A node
without a label takes all pods as far as it goes: a cluster file need not have these labels [our decision].
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState
    from distsim.scheduler.types import Job

ACCELERATOR, ACCELERATOR_TYPE = "accelerator", "accelerator-type"
_ACCELERATOR_OF = {
    "ascend-npu": "huawei-npu",
    "huawei.com/npu": "huawei-npu",
    "ascend-910": "huawei-Ascend910",
    "ascend-310": "huawei-Ascend310",
    "ascend-310P": "huawei-Ascend310P",
}
_OF_BOARDS = "huawei-Ascend910"                        # ascend-{xxx}b too: told apart by accelerator-type
_FIRST_BOARDS = ("card", "module", "half")             # ascend-910: Atlas 300T, 800 full and half


def atlas_allows(job: Job, node: NodeState) -> str | None:
    """None if the pods of a job with ring-controller.atlas may stand on a node, else why not.

    Says nothing of jobs without the label, without chips, or with skip-ascend-plugin."""
    kind = job.settings.atlas
    if kind is None or not job.resource or job.settings.skip_ascend:
        return None
    wanted = _ACCELERATOR_OF.get(kind, _OF_BOARDS)
    have = node.labels.get(ACCELERATOR)
    if have is not None and have != wanted:
        return f"{ACCELERATOR} is {have}, ring-controller.atlas {kind} needs {wanted}"
    board = node.labels.get(ACCELERATOR_TYPE)
    if board is not None and wanted == _OF_BOARDS and not _board_fits(kind, board):
        return f"{ACCELERATOR_TYPE} is {board}, ring-controller.atlas {kind} needs {_boards(kind)}"
    return None


def _board_fits(kind: str, board: str) -> bool:
    """Whether a board has chips of a kind: ascend-910 those of the first boards; ascend-910b those with 910b in their
    name, and A3 boards (module-a3-16, module-a3-16-super-pod), whose jobs have this label too."""
    if kind == "ascend-910":
        return board in _FIRST_BOARDS
    chip = kind.removeprefix("ascend-")
    return re.search(rf"-({chip}|a3)(-|$)", board) is not None


def _boards(kind: str) -> str:
    if kind == "ascend-910":
        return ", ".join(_FIRST_BOARDS)
    return f"one with {kind.removeprefix('ascend-')} or a3 in its name"
