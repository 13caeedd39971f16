"""Reading a fault script: from YAML to faults, with every name checked against the cluster and the jobs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distsim.cluster import Cluster
from distsim.cluster.manifests import only, read_documents, validated
from distsim.cluster.problems import Problems
from distsim.config.names import nearest
from distsim.config.yaml_reader import Document, Place
from distsim.errors import InputError
from distsim.quantities import spell_time
from distsim.scheduler.faults.devices import Devices
from distsim.scheduler.faults.fault import (
    CARD_NETWORK,
    CARD_UNHEALTHY,
    CHIP,
    DISCONNECTED,
    HEARTBEAT,
    JOB_TARGETS,
    LINK,
    NIC,
    NODE,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    PROCESS,
    SEPARATE,
    SWITCH,
    UNHEALTHY,
    Fault,
    chip_prefix,
)
from distsim.scheduler.faults.spec import FaultEntry, FaultFile, codes_of
from distsim.scheduler.types import Job

_CHIP_NAME = re.compile(r"([A-Za-z][A-Za-z0-9]*)-(\d{1,4})", re.ASCII)


@dataclass(frozen=True)
class Script:
    """A script. faults : in the order of the file. fabric : what of it is for the whole fabric, as the section `faults`
    of a configuration has it (detection_time, packet_loss_rate, bit_error_rate, links)."""

    faults: tuple[Fault, ...] = ()
    fabric: dict[str, Any] = field(default_factory=dict)


def read_faults(path: str, cluster: Cluster, jobs: Sequence[Job] | None = None) -> list[Fault]:
    """The faults of a script, see `read_script`."""
    return list(read_script(path, cluster, jobs).faults)


def read_script(path: str, cluster: Cluster, jobs: Sequence[Job] | None = None) -> Script:
    """A fault script, checked against a cluster. jobs : those that pod and process faults may name; None: unchecked.

    Raises ConfigError (an InputError) with file, line, path, bad value and nearest name for everything wrong with it.
    """
    document = only(read_documents(path), "a fault script")
    file = validated(document, FaultFile)
    problems = Problems(document)
    reader = _Reader(cluster, jobs, problems)
    faults = [reader.fault(index, entry) for index, entry in enumerate(file.faults)]
    for index, loss in enumerate(file.links):
        reader.link_hosts(loss.between, ("links", index, "between"))
    problems.stop()
    return Script(tuple(fault for fault in faults if fault is not None), _fabric_settings(file))


def _fabric_settings(file: FaultFile) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if file.detection_time is not None:
        found["detection_time"] = spell_time(file.detection_time)
    for key in ("packet_loss_rate", "bit_error_rate"):
        if key in file.model_fields_set:
            found[key] = getattr(file, key)
    if file.links:
        found["links"] = [loss.model_dump(mode="json", exclude_none=True) for loss in file.links]
    return found


class _Reader:
    """Turns entries into faults; what is wrong goes to `problems`."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job] | None, problems: Problems):
        self.cluster, self.jobs, self.problems = cluster, jobs, problems
        self.devices = Devices(cluster)

    def fault(self, index: int, entry: FaultEntry) -> Fault | None:
        """The fault of an entry, None if a name in it is wrong."""
        place: Place = ("faults", index)
        document: Document = self.problems.document
        file, line = document.locate(place)
        common: dict[str, Any] = {"index": index, "target": entry.what, "at_ps": entry.at,
                                  "duration_ps": entry.duration, "file": file or "", "line": line}
        if entry.what in JOB_TARGETS:
            return self._of_job(entry, place, common)
        if entry.what in (CHIP, NODE):
            return self._of_node(entry, place, common)
        return self._of_fabric(entry, place, common)

    def _of_job(self, entry: FaultEntry, place: Place, common: dict[str, Any]) -> Fault | None:
        assert entry.job is not None
        if self.jobs is not None and not self._job_fits(entry, place):
            return None
        return Fault(**common, job=entry.job, rank=entry.rank, exit_code=entry.exit_code)

    def _job_fits(self, entry: FaultEntry, place: Place) -> bool:
        assert entry.job is not None and self.jobs is not None
        job = next((job for job in self.jobs if entry.job in (job.uid, job.name)), None)
        if job is None:
            names = [job.uid if "/" in entry.job else job.name for job in self.jobs]
            self.problems.add((*place, "job"), f"no job is called {entry.job!r}{_near(entry.job, names)}")
            return False
        alike = [one.uid for one in self.jobs if entry.job in (one.uid, one.name)]
        if len(alike) > 1:
            self.problems.add((*place, "job"), f"{entry.job!r} is the name of several jobs; valid: {', '.join(alike)}")
            return False
        tasks = job.npu_tasks or job.tasks
        count = sum(task.chips for task in tasks) if entry.what == PROCESS and job.npu_tasks else len(tasks)
        if entry.rank >= count:
            many = "processes, one a chip" if entry.what == PROCESS and job.npu_tasks else "pods"
            self.problems.add((*place, "rank"), f"{entry.rank} is no rank of job {job.name}, which has {count} {many}; "
                                                f"valid: 0 to {count - 1}")
        return entry.rank < count

    def _of_node(self, entry: FaultEntry, place: Place, common: dict[str, Any]) -> Fault | None:
        assert entry.node is not None
        if not self._node_fits(entry.node, (*place, "node")):
            return None
        codes = codes_of(entry.fault_code) if entry.fault_code is not None else ()
        chips: tuple[int, ...] = ()
        if entry.npu_name is not None:
            found = self._chips(entry.npu_name, entry.node, (*place, "npu_name"))
            if found is None:
                return None
            chips = found
        kind = entry.fault_type or _kind(bool(chips), codes, entry)
        level = entry.level or {CARD_UNHEALTHY: SEPARATE, CARD_NETWORK: PRE_SEPARATE}.get(kind, "")
        down = kind == NODE_UNHEALTHY or HEARTBEAT in codes
        return Fault(**common, node=entry.node, chips=chips, prefix=chip_prefix(self.cluster, entry.node),
                     fault_type=kind, level=level, codes=codes, detection=entry.NodeDEnable,
                     state=entry.NodeHealthState or (UNHEALTHY if down else None), cured=entry.cured_by_reset)

    def _node_fits(self, name: str, place: Place) -> bool:
        if name in self.cluster.by_name:
            return True
        self.problems.add(place, f"no node is called {name!r}{_near(name, list(self.cluster.by_name))}")
        return False

    def _chips(self, text: str, node: str, place: Place) -> tuple[int, ...] | None:
        count, prefix = self.cluster.by_name[node].gpus, chip_prefix(self.cluster, node)
        found: list[int] = []
        for name in (part.strip() for part in text.split(",")):
            parts = _CHIP_NAME.fullmatch(name)
            if parts is None or parts[1] != prefix or int(parts[2]) >= count or int(parts[2]) in found:
                twice = " twice" if parts is not None and int(parts[2]) in found else ""
                has = f"{prefix}-0 to {prefix}-{count - 1}" if count else "no chips"
                self.problems.add(place, f"node {node} has no chip {name!r}{twice}; valid: {has}")
                return None
            found.append(int(parts[2]))
        return tuple(sorted(found))

    def _of_fabric(self, entry: FaultEntry, place: Place, common: dict[str, Any]) -> Fault | None:
        common["detection_ps"] = entry.detection_time
        if entry.what == LINK:
            assert entry.between is not None
            hosts = self.link_hosts(entry.between, (*place, "between"))
            return None if hosts is None else Fault(**common, between=entry.between, cuts=self.devices.cuts(hosts))
        if entry.what == NIC and entry.node is not None and not self._node_fits(entry.node, (*place, "node")):
            return None
        try:
            names, hosts = self._named(entry)
        except InputError as error:
            key = "index" if entry.node is not None else "name"
            self.problems.add((*place, key), error.message)
            return None
        return Fault(**common, names=tuple(names), cuts=self.devices.cuts(hosts))

    def _named(self, entry: FaultEntry) -> tuple[list[str], list[int]]:
        """(names of the devices, host numbers of the NICs that lose their link) of a nic or switch fault."""
        if entry.what == SWITCH:
            assert entry.name is not None
            return self.devices.switches(entry.name)
        if entry.name is not None:
            hosts = self.devices.nics(entry.name)
        else:
            assert entry.node is not None and entry.index is not None
            hosts = [self.devices.nic_of(entry.node, entry.index)]
        return [f"NIC-{host}" for host in hosts], hosts

    def link_hosts(self, ends: tuple[str, str], place: Place) -> list[int] | None:
        """NICs at the ends of the cables between two devices, None with a problem if there is no cable."""
        try:
            return self.devices.link(ends)
        except InputError as error:
            self.problems.add(place, error.message)
            return None


def _kind(chips: bool, codes: tuple[str, ...], entry: FaultEntry) -> str:
    """The fault_type that is meant where none is given; "" for a node entry that only sets its health state."""
    if chips:
        return CARD_NETWORK if codes and set(codes) <= {DISCONNECTED, HEARTBEAT} and DISCONNECTED in codes else (
            CARD_UNHEALTHY)
    return NODE_UNHEALTHY if entry.NodeHealthState is None or entry.NodeHealthState == UNHEALTHY else ""


def _near(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    if near is not None:
        return f"; nearest: {near}"
    return f"; there are {len(names)}, the first is {names[0]}" if names else "; there are none"
