"""A fault of a script, checked: what breaks, when, for how long, and what the seed's tables call it (seed 001).

Times are picoseconds since the start of the simulated cluster; the scheduler sees a fault at the first millisecond at
or after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.cluster import Cluster

CARD_UNHEALTHY, CARD_NETWORK, NODE_UNHEALTHY = "CardUnhealthy", "CardNetworkUnhealthy", "NodeUnhealthy"
FAULT_TYPES = (CARD_UNHEALTHY, CARD_NETWORK, NODE_UNHEALTHY)
NOT_HANDLE, RESTART_REQUEST, RESTART_BUSINESS = "NotHandleFault", "RestartRequest", "RestartBusiness"
FREE_RESTART, RESTART_NPU, SEPARATE = "FreeRestartNPU", "RestartNPU", "SeparateNPU"
PRE_SEPARATE, SUB_HEALTH = "PreSeparateNPU", "SubHealthFault"
LEVELS = (NOT_HANDLE, RESTART_REQUEST, RESTART_BUSINESS, FREE_RESTART, RESTART_NPU, SEPARATE, PRE_SEPARATE, SUB_HEALTH)
# NodeHealthState, as docs/en/scheduling/06_api/03_noded.md of mind-cluster names it (seed: String).
HEALTHY, SUB_HEALTHY, NODE_PRE_SEPARATE, UNHEALTHY = "Healthy", "SubHealthy", "PreSeparate", "UnHealthy"
NODE_STATES = (HEALTHY, SUB_HEALTHY, NODE_PRE_SEPARATE, UNHEALTHY)
# Fault codes that are words (seed 001): the chip has lost its network, the node's status is lost.
DISCONNECTED, HEARTBEAT = "Disconnected", "heartbeatTimeOut"

CHIP, NODE, NIC, LINK, SWITCH, POD, PROCESS = "chip", "node", "nic", "link", "switch", "pod", "process"
TARGETS = (CHIP, NODE, NIC, LINK, SWITCH, POD, PROCESS)
FABRIC_TARGETS = (NIC, LINK, SWITCH)
JOB_TARGETS = (POD, PROCESS)
PS_PER_MS = 10**9


@dataclass(frozen=True)
class Fault:
    """A fault.

    index : place in the script, by which it is known. target : one of TARGETS. duration_ps : None for good.
    node : of a chip or node fault. chips, prefix : numbers of the chips, and what stands before them in npu_name.
    fault_type, level, codes : as FaultDeviceList has them; level is "" where the node itself fails.
    detection : NodeDEnable. state : NodeHealthState, None where it is not given.
    cuts : of a nic, link or switch fault the chips whose NIC has no link: (node, mask of chips). between, names : ends
    of the link; component names of the NICs or switches. detection_ps : time to new routes, None the script's.
    job, rank, exit_code : of a pod or process fault. A pod has the rank of its pod, a process the rank of its chip.
    cured : whether a reset of the chip ends the fault.
    """

    index: int
    target: str
    at_ps: int
    duration_ps: int | None = None
    node: str = ""
    chips: tuple[int, ...] = ()
    prefix: str = ""
    fault_type: str = ""
    level: str = ""
    codes: tuple[str, ...] = ()
    detection: bool = True
    state: str | None = None
    cuts: tuple[tuple[str, int], ...] = ()
    between: tuple[str, str] | None = None
    names: tuple[str, ...] = ()
    detection_ps: int | None = None
    job: str = ""
    rank: int = 0
    exit_code: int = 1
    cured: bool = True
    file: str = ""
    line: int | None = None

    @property
    def begin_ms(self) -> int:
        """When the scheduler can see it."""
        return -(-self.at_ps // PS_PER_MS)

    @property
    def end_ms(self) -> int | None:
        """When the scheduler can see that it is over, None: never. It sees every fault for a millisecond at least."""
        if self.duration_ps is None:
            return None
        return max(self.begin_ms + 1, -(-(self.at_ps + self.duration_ps) // PS_PER_MS))

    @property
    def mask(self) -> int:
        """Its chips as bits."""
        return sum(1 << chip for chip in self.chips)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the nodes that it touches."""
        return (self.node,) if self.node else tuple(name for name, _ in self.cuts)

    def title(self) -> str:
        """It in a few words, for messages."""
        if self.target == CHIP:
            names = ",".join(f"{self.prefix}-{chip}" for chip in self.chips)
            return f"{self.fault_type} {self.level} of {names} on {self.node}"
        if self.target == NODE:
            return f"{self.fault_type or 'fault'} of {self.node}" + (f" ({self.state})" if self.state else "")
        if self.target in JOB_TARGETS:
            return f"{self.target} of rank {self.rank} of job {self.job} fails with exit code {self.exit_code}"
        return f"{self.target} {' - '.join(self.between) if self.between else ', '.join(self.names)} is down"


def chip_prefix(cluster: Cluster, node: str) -> str:
    """What stands before the number in the name of a chip of a node: Ascend910 of huawei.com/Ascend910-3."""
    resources = cluster.by_name[node].resources
    known = [name for name in resources if name.startswith("huawei.com/")]
    found = known or [name for name in resources if "/" in name]
    return found[0].rpartition("/")[2] if found else "chip"
