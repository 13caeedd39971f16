"""How many GPUs a SimAI workload uses, how they are split, and which ranks form a group.

Order of ranks (aliyun/SimAI, system/MockNcclGroup.cc, as with one pipeline stage; more stages: NVIDIA/Megatron-LM,
parallel_state.py): tensor-parallel ranks are neighbours, then experts, then copies of the experts, then pipeline
stages. So of ``rank = ((stage * dp_ep + copy) * ep + expert) * tp + place`` each group varies one part:

- TP: place; EP: expert; DP_EP: copy; DP: expert and copy together; ALL: every rank.

SimAI itself takes one stage for the groups of its packet simulation and reads `pp` only for its analytical one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distsim.workload.graph import Group
from distsim.workload.simai_text import SimaiText

TP, DP, EP, DP_EP, ALL = "TP", "DP", "EP", "DP_EP", "ALL"
TRANSFORMERS = ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER")


@dataclass(frozen=True)
class Degrees:
    """gpus = tp * ep * dp_ep * pp."""

    gpus: int
    tp: int
    ep: int
    dp_ep: int
    pp: int

    def members(self, domain: str) -> int:
        """Ranks of one group of a domain."""
        return {TP: self.tp, EP: self.ep, DP_EP: self.dp_ep, DP: self.ep * self.dp_ep, ALL: self.gpus}[domain]

    def table(self, domain: str) -> np.ndarray:
        """Ranks of every group of a domain, i4[groups, members], groups in the order of their first rank."""
        ranks = np.arange(self.gpus, dtype="i4").reshape(self.pp, self.dp_ep, self.ep, self.tp)
        if domain == ALL:
            return ranks.reshape(1, -1)
        axes = {TP: (3,), EP: (2,), DP_EP: (1,), DP: (1, 2)}[domain]
        moved = np.moveaxis(ranks, axes, range(4 - len(axes), 4)).reshape(-1, self.members(domain))
        return moved[np.argsort(moved[:, 0], kind="stable")]

    def groups(self, domain: str) -> list[Group]:
        """The groups of a domain, named ``TP-0`` and so on."""
        return [Group(f"{domain}-{index}", ranks) for index, ranks in enumerate(self.table(domain))]


def degrees(text: SimaiText, ranks: int | None, hosts: int) -> Degrees:
    """The split of a file's GPUs, cut to `ranks` when given; without all_gpus in the file, of `hosts` GPUs.

    A cut keeps message sizes and compute times, drops all but one pipeline stage (stages do the same and do not talk to
    each other here), keeps tp where it divides the ranks (else their greatest common divisor), likewise ep of what is
    left, and leaves the rest to copies. Raises InputError when degrees do not divide the GPUs.
    """
    given = text.numbers
    if text.policy in TRANSFORMERS and not given.get("model_parallel_NPU_group"):
        text.fail(1, f"model_parallel_NPU_group is missing; {text.policy} needs it")
    gpus = given.get("all_gpus") or ranks or hosts
    tp, ep, pp = (given.get(name) or 1 for name in ("model_parallel_NPU_group", "ep", "pp"))
    if gpus % (tp * pp) or gpus // (tp * pp) % ep:
        text.fail(1, f"{gpus} GPUs (all_gpus) cannot be split into model_parallel_NPU_group {tp} times pp {pp} times "
                     f"ep {ep}")
    if ranks is None or ranks == gpus:
        return Degrees(gpus, tp, ep, gpus // (tp * pp * ep), pp)
    if ranks > gpus:
        text.fail(1, f"ranks {ranks} are more than the {gpus} GPUs of the file (all_gpus)")
    tp = math.gcd(tp, ranks)
    ep = math.gcd(ep, ranks // tp)
    return Degrees(ranks, tp, ep, ranks // (tp * ep), 1)
