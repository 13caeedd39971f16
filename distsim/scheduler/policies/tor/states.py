"""States of switches, for switch affinity 2.0.

idle: no job that spans is there. exclusive: one that filled it when it came; no further one may come. shared: jobs
that span share it; unhealthy if one of them uses more shared switches than shared-tor-num.

mind-cluster writes the state into the pods of a job when it places it (annotations isSharedTor, isHealthy) and reads it
back from the pods that run (plugin/tor.go, initTorShareStatus). Here it stands in the notes of the job's placement. Of
a job that spans and was placed by other rules it is inferred by the definitions of the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor.usage import held_switches, usage_of

if TYPE_CHECKING:
    from distsim.scheduler.state import State
    from distsim.scheduler.types import Job

NOTE = "states"                                    # in Job.notes: tor_id -> SwitchState
FILE_SHARED, FILE_EXCLUSIVE, FILE_UNHEALTHY = 1, 2, 1          # IsSharedTor, IsSharedTor, IsHealthy


class SwitchState(StrEnum):
    """State of a switch."""

    IDLE = "idle"
    SHARED = "shared"
    UNHEALTHY = "shared unhealthy"
    EXCLUSIVE = "exclusive"


def switch_states(state: State) -> dict[int, SwitchState]:
    """The state of every switch that is not idle, by tor_id.

    What the basic-tor-node-cm says stands; then the first job that makes a switch shared or exclusive; one unhealthy
    share makes a shared switch unhealthy. Without a note a switch is exclusive if the only job that spans there left no
    node free, else shared."""
    found = _of_file(state)
    spanning = usage_of(state).spanning
    for job in state.jobs.values():
        for tor in held_switches(job, state):
            if NOTE in job.notes:
                _add(found, tor, job.notes[NOTE].get(tor, SwitchState.IDLE))
    unwritten = [tor for tor, jobs in spanning.items()
                 if tor not in found and any(NOTE not in job.notes for job in jobs)]
    with_room = {node.tor for node in state.nodes.values() if not node.used} if unwritten else set()
    for tor in unwritten:
        full = len(spanning[tor]) == 1 and tor not in with_room
        _add(found, tor, SwitchState.EXCLUSIVE if full else SwitchState.SHARED)
    _overdrawn(state, found, spanning)
    return found


def _of_file(state: State) -> dict[int, SwitchState]:
    """IsSharedTor and IsHealthy of the file; IsHealthy says something of shared switches only."""
    found: dict[int, SwitchState] = {}
    for tor in state.cluster.tor_nodes.tors if state.cluster.tor_nodes is not None else ():
        if tor.IsSharedTor == FILE_SHARED:
            found[tor.tor_id] = SwitchState.UNHEALTHY if tor.IsHealthy == FILE_UNHEALTHY else SwitchState.SHARED
        elif tor.IsSharedTor == FILE_EXCLUSIVE:
            found[tor.tor_id] = SwitchState.EXCLUSIVE
    return found


def _add(found: dict[int, SwitchState], tor: int, kind: str) -> None:
    """Count in what one more job makes of a switch."""
    before, kind = found.get(tor), SwitchState(kind)
    if kind is not SwitchState.IDLE and (before is None or (before is SwitchState.SHARED
                                                            and kind is SwitchState.UNHEALTHY)):
        found[tor] = kind


def _overdrawn(state: State, found: dict[int, SwitchState], spanning: Mapping[int, list[Job]]) -> None:
    """Make the shared switches unhealthy of jobs without a note that use more of them than shared-tor-num."""
    jobs = {job.uid: job for users in spanning.values() for job in users if NOTE not in job.notes}
    for job in jobs.values():
        shared = [tor for tor in held_switches(job, state)
                  if found.get(tor) in (SwitchState.SHARED, SwitchState.UNHEALTHY)]
        if len(shared) > state.settings.shared_tor_num:
            for tor in shared:
                found[tor] = SwitchState.UNHEALTHY
