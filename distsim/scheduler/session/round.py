"""What one session keeps while its actions run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.scheduler.predicates import Filters
from distsim.scheduler.session.tries import Tries
from distsim.scheduler.types import Happening, Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State


@dataclass
class Round:
    """state : the cluster. filters, tries : kept over sessions. happenings : what was done, in order.
    refusals : job uid -> why the job was not placed in this session; the entry is there for every job that an action
    has considered, and is empty if nothing was wrong."""

    state: State
    filters: Filters
    tries: Tries
    happenings: list[Happening] = field(default_factory=list)
    refusals: dict[str, list[Refusal]] = field(default_factory=dict)

    def happen(self, kind: str, job: Job, message: str = "", pod: str = "", node: str = "") -> None:
        """Record what was done to a job."""
        self.happenings.append(Happening(self.state.now_ms, kind, job.uid, pod, node, message))

    def consider(self, job: Job, refusal: Refusal | None = None) -> None:
        """Note that an action has considered a job, and why it could not do what it is for."""
        found = self.refusals.setdefault(job.uid, [])
        if refusal is not None:
            found.append(refusal)
