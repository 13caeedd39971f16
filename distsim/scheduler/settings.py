"""What the volcano-scheduler-configmap says, as the scheduler uses it (conf.py reads it)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ACTIONS = ("enqueue", "allocate", "backfill")
# volcano-npu stands for volcano-npu_{version}_linux-{arch}.
PLUGINS = ("priority", "gang", "conformance", "volcano-npu", "drf", "predicates", "proportion", "nodeorder", "binpack")


@dataclass(frozen=True)
class SchedulerSettings:
    """actions : in the order in which a session runs them. plugins : name -> its arguments, those that are on.

    grace_over_time_s : seconds from the graceful end of a pod to its forced one. nslb_version : of tor-affinity.
    levels : resource-level-config: tree -> ((label, reserved nodes) of level 1, of level 2, ...).
    policy : node policy of jobs that ask for none (plain: binpack, spread or random). seed : of `random`.
    """

    actions: tuple[str, ...] = ACTIONS
    plugins: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: {} for name in PLUGINS})
    grace_over_time_s: int = 900
    nslb_version: str = "1.0"
    shared_tor_num: int = 2
    super_pod_size: int = 48
    reserve_nodes: int = 2
    force_enqueue: bool = True
    prefer_previous_node: bool = True
    self_maintain_available_card: bool = True
    use_cluster_info_manager: bool = True
    preset_virtual_device: bool = True
    levels: dict[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    policy: str = ""
    seed: int = 1

    def has(self, plugin: str) -> bool:
        """Whether a plugin is on."""
        return plugin in self.plugins
