"""What is to be simulated, in tables: the input of `build`, the same on every rank."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..fabric.types import Fabric, Routes
from ..workload.types import SEND, Workload
from .faults import FaultPlan


@dataclass(frozen=True)
class Messages:
    """A workload, or one phase of it, in the engine's order.

    ops : OPS rows by (host, order of the workload). The global operation id is the position plus `first_op`, and for a
    SEND it is the message id at its sender. rx_message : i4[ops], message id at the receiver without `first_rx` (-1: no
    SEND): SENDs numbered by (dst, op). rx_op : i4[sends], the position of each receiver's message. edges : EDGES
    between positions, by (src, when). order : i4[ops], the workload's row of each position.
    """

    ops: np.ndarray
    edges: np.ndarray
    rx_message: np.ndarray
    rx_op: np.ndarray
    order: np.ndarray
    first_op: int = 0
    first_rx: int = 0

    @property
    def end_op(self) -> int:
        """First global operation id after these."""
        return self.first_op + len(self.ops)

    @property
    def end_rx(self) -> int:
        """First message id at a receiver after these."""
        return self.first_rx + len(self.rx_op)


def number_messages(workload: Workload, first_op: int = 0, first_rx: int = 0) -> Messages:
    """Give every operation its global id and every message its id at the receiver."""
    order = np.argsort(workload.ops["host"], kind="stable")
    ops = np.ascontiguousarray(workload.ops[order])
    place = np.empty(len(ops), "i4")
    place[order] = np.arange(len(ops))
    edges = workload.edges.copy()
    edges["src"] = place[edges["src"]]
    edges["dst"] = place[edges["dst"]]
    edges = edges[np.lexsort([edges["dst"], edges["when"], edges["src"]])]
    sends = np.flatnonzero(ops["kind"] == SEND)
    rx_op = sends[np.argsort(ops["dst"][sends], kind="stable")]
    rx_message = np.full(len(ops), -1, "i4")
    rx_message[rx_op] = np.arange(len(rx_op))
    return Messages(ops, edges, rx_message, rx_op.astype("i4"), order.astype("i4"), first_op, first_rx)


@dataclass(frozen=True)
class Model:
    """Fabric, routes, operations and attribute rows of one run.

    nicpar : NICPAR rows; nic_param : i4[hosts], row of each NIC. swpar : SWPAR rows; switch_param : i4[switches].
    start_ps : when the workload starts, absolute. trigger_delay_ps : of notices to another host.
    shared : bool[switches], whose shared buffer can bind or is recorded; buffers : BUFFER[switches, CLASSES].
    failed : bool[links], links that lose every packet given to them; routes do not know.
    faults : what fails and comes back, and what links lose at random; None: nothing.
    watch : WATCH[1], what uet-monitor looks for; without it nothing is logged.
    workload : what `messages` were made of. notices : i8[n, 3], pairs of different hosts (from, to) between which
    notices may go in any phase, and the least delay, ps; None: those of `messages`.
    """

    fabric: Fabric
    routes: Routes
    messages: Messages
    nicpar: np.ndarray
    nic_param: np.ndarray
    swpar: np.ndarray
    switch_param: np.ndarray
    seed: int = 1
    start_ps: int = 0
    trigger_delay_ps: int = 100_000
    shared: np.ndarray | None = None
    buffers: np.ndarray | None = None
    failed: np.ndarray | None = None
    faults: FaultPlan | None = None
    watch: np.ndarray | None = None
    warnings: list[str] = field(default_factory=list)
    workload: Workload | None = None
    notices: np.ndarray | None = None

    def check_notices(self) -> None:
        """ValueError (a bug) when this phase's notices are not among those that the windows were made for."""
        from .lookahead import notices_of

        known: dict[tuple[int, int], int] = {}
        for a, b, delay in self.notices.tolist() if self.notices is not None else []:
            known[a, b] = min(delay, known.get((a, b), delay))
        for a, b, delay in notices_of(self).tolist():
            if delay < known.get((a, b), 1 << 62):
                raise ValueError(f"a notice from host {a} to {b} after {delay} ps was not foreseen")

    @property
    def pauses(self) -> bool:
        """Whether any PFC frame can ever be sent."""
        lossless = self.swpar[["pfc_0", "pfc_1", "pfc_2"]]
        used = np.unique(self.switch_param[self.shared_switches()])
        switches = any(any(lossless[k].item()) for k in used)
        return switches or bool((self.nicpar["pfc_0"] | self.nicpar["pfc_1"]).any())

    def shared_switches(self) -> np.ndarray:
        """Switches (by number) that run `kernels.shared`."""
        if self.shared is None:
            return np.empty(0, "i8")
        return np.flatnonzero(self.shared)

