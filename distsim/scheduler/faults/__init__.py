"""Faults: the script, what they do to nodes and chips, and how jobs recover from them (README.md)."""

from __future__ import annotations

from distsim.scheduler.faults.fabric import fabric_section
from distsim.scheduler.faults.fault import Fault
from distsim.scheduler.faults.hot_reset import Times
from distsim.scheduler.faults.recovery import Recovery
from distsim.scheduler.faults.script import Script, read_faults, read_script

__all__ = ["Fault", "Recovery", "Script", "Times", "fabric_section", "read_faults", "read_script"]
