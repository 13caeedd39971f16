"""The sixteen values of huawei.com/schedule_policy (seed 001, PodGroup Table 3): what each means and where it acts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PolicyRow:
    """A row. chips : the chips of a node and how they are joined. module : below distsim/scheduler."""

    name: str
    chips: str
    module: str
    test: str


_RINGS, _TESTS = "chips/rings.py", "test_sched_chips.py::test_"
_BLOCKS = "chips/rings.py, policies/blocks/"

POLICIES = (
    PolicyRow("chip4-node8", "8 chips in two rings of 4; a pod of up to 4 stays in one", _RINGS,
              _TESTS + "chip4_node8"),
    PolicyRow("chip1-node2", "2 chips, not joined", _RINGS, _TESTS + "chip1_node2"),
    PolicyRow("chip4-node4", "4 chips in one ring", _RINGS, _TESTS + "chip4_node4"),
    PolicyRow("chip8-node8", "8 chips in one ring", _RINGS, _TESTS + "chip8_node8"),
    PolicyRow("chip8-node16", "16 chips in two rings of 8; 10, 12 and 14 split evenly", _RINGS,
              _TESTS + "chip8_node16"),
    PolicyRow("chip2-node8", "8 chips in pairs; even requests take whole pairs", _RINGS, _TESTS + "chip2_node8"),
    PolicyRow("chip2-node16", "16 chips in pairs; even requests take whole pairs", _RINGS, _TESTS + "chip2_node16"),
    PolicyRow("chip2-node8-sp", "as chip2-node8, nodes of SuperPoDs; distributed pods take whole nodes",
              _BLOCKS, _TESTS + "chip2_node8_sp"),
    PolicyRow("chip2-node16-sp", "as chip2-node16, nodes of SuperPoDs; distributed pods take whole nodes",
              _BLOCKS, _TESTS + "chip2_node16_sp"),
    PolicyRow("chip4-node16", "16 chips in four meshes of 4", _RINGS, _TESTS + "chip4_node16"),
    PolicyRow("chip1-node8", "8 chips, not joined", _RINGS, _TESTS + "chip1_node8"),
    PolicyRow("chip1-node16", "16 chips, not joined", _RINGS, _TESTS + "chip1_node16"),
    PolicyRow("chip8-node8-sp", "as chip8-node8, nodes of SuperPoDs", _BLOCKS, _TESTS + "chip8_node8_sp"),
    PolicyRow("chip8-node8-ra64-sp", "as chip8-node8-sp, 64 chips a rack, with ra-block", _BLOCKS,
              _TESTS + "chip8_node8_ra64_sp"),
    PolicyRow("chip1-softShareDev", "pods hold parts of one chip by quota", "chips/soft_share.py",
              "test_sched_chips.py::test_soft_share"),
    PolicyRow("multilevel", "whole nodes in groups of pods over levels of the network (huawei.com/affinity-config)",
              "policies/multilevel.py, policies/levels/", "test_sched_multilevel.py::test_examples"),
)
