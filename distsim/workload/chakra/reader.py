"""A traceset as a `Graph`: files of all ranks, process groups, dependencies by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from distsim.errors import InputError
from distsim.workload.chakra.dependencies import Dependencies, dependencies
from distsim.workload.chakra.files import group_file, rank_files
from distsim.workload.chakra.groups import Groups, read_groups
from distsim.workload.chakra.rank import US_PS, RankTrace, read_rank
from distsim.workload.chakra.settings import AS_WRITTEN, Reading
from distsim.workload.graph import COLL, DEPS, FIXED, NODES, RECV, SEND, Graph
from distsim.workload.order import chains, find_cycle


def read_traceset(prefix: str, comm_groups: str | None = None, settings: Reading = AS_WRITTEN) -> Graph:
    """What the ranks of a traceset do.

    prefix : of the files ``<prefix>.<rank>.et``; comm_groups : JSON of the process groups, default the one beside the
    traces if there is one. Raises InputError with the file (and the node) for what cannot be replayed, for ids that
    come twice and for dependencies in a circle. What is passed over is said in the graph's warnings.
    """
    files = rank_files(prefix)
    if settings.ranks is not None:
        files = _repeated(files, settings.ranks, prefix)
    beside = comm_groups or group_file(prefix)
    groups = Groups(len(files), read_groups(beside, len(files)) if beside else [], beside or "the traceset")
    merged = _Merger(prefix, groups, settings)
    for rank, (trace, found) in enumerate(_traces(files, settings)):
        merged.add(replace(trace, rank=rank), found)
    return merged.graph()


def _repeated(files: list[str], ranks: int, prefix: str) -> list[str]:
    if len(files) not in (1, ranks):
        raise InputError(f"the traceset has {len(files)} ranks, not the {ranks} asked for; only a traceset of one rank "
                         "can be repeated", file=prefix)
    return files if len(files) == ranks else files * ranks


def _traces(files: list[str], settings: Reading) -> Iterator[tuple[RankTrace, Dependencies]]:
    """The trace of each rank and its dependencies, a file that serves all ranks read once."""
    for rank, file in enumerate(files):
        if rank == 0 or file != files[0]:
            trace = read_rank(file, rank, len(files), settings.roofline, settings.names)
            partners = trace.nodes["kind"][np.isin(trace.nodes["kind"], (SEND, RECV))]
            if len(partners) and len(files) > 1 and files[0] == files[1]:
                raise InputError("has sends or receives, whose partners differ from rank to rank: one rank's trace "
                                 "cannot stand for all", file=file)
            found = dependencies(trace)
        yield trace, found


class _Merger:
    """Puts the ranks' traces one below the other."""

    def __init__(self, prefix: str, groups: Groups, settings: Reading):
        self.prefix, self.groups, self.settings = prefix, groups, settings
        self.nodes: list[np.ndarray] = [np.zeros(0, NODES)]
        self.deps: list[np.ndarray] = [np.zeros(0, DEPS)]
        self.control: list[np.ndarray] = [np.zeros(0, bool)]
        self.computation: list[np.ndarray] = [np.zeros(0, bool)]
        self.counts: dict[int, np.ndarray] = {}
        self.names: dict[int, str] = {}
        self.first_row = 0
        self.notes: dict[str, tuple[int, str]] = {}   # kind of warning -> how many, the first

    def add(self, trace: RankTrace, found: Dependencies) -> None:
        """The next rank."""
        nodes = trace.nodes.copy()
        nodes["rank"] = trace.rank
        for name, members in trace.declared:
            self.groups.declare(name, members, trace.file)
        self.note("unexpanded", trace, trace.unexpanded)
        self.set_groups(nodes, trace)
        nodes["duration_ps"][nodes["kind"] == COLL] = 0        # what it took where it was recorded
        node, on, control, passed_over = found
        for kind, rows in passed_over.items():
            self.note(kind, trace, rows)
        self.set_issue(nodes, trace, node, on)
        self.scale(nodes, trace)
        deps = np.zeros(len(node), DEPS)
        deps["node"], deps["on"] = node + self.first_row, on + self.first_row
        self.names.update({self.first_row + row: name for row, name in enumerate(trace.names)})
        self.nodes.append(nodes)
        self.deps.append(deps)
        self.control.append(control)
        self.computation.append(trace.computation)
        self.first_row += len(nodes)

    def set_groups(self, nodes: np.ndarray, trace: RankTrace) -> None:
        """Rows of groups instead of names; a collective of a group that the rank is not in only takes its duration, a
        send of one is of no group."""
        rows = nodes["group"].copy()
        for place, name in enumerate(trace.group_names):
            mine = rows == place
            group = self.groups.row(name)
            if group is None:
                raise InputError(f"node {trace.nodes['id'][mine][0]} has the undeclared process group {name!r}; valid: "
                                 f"{self.groups.known()}; name their JSON in workload.comm_groups", file=trace.file)
            nodes["group"][mine] = group
            members = self.groups.rows[group].ranks
            if trace.rank not in members:
                nodes["group"][mine] = -1
                mine &= nodes["kind"] == COLL
                for field, nothing in _NO_COLLECTIVE.items():
                    nodes[field][mine] = nothing
                self.note("outside", trace, np.flatnonzero(mine))
            self.check_members(nodes, np.flatnonzero(mine & (nodes["kind"] == COLL)), members, trace)

    def check_members(self, nodes: np.ndarray, rows: np.ndarray, members: np.ndarray, trace: RankTrace) -> None:
        """Roots and counts of collectives fit their group."""
        for row in rows[(nodes["root"][rows] >= 0) & ~np.isin(nodes["root"][rows], members)]:
            name = self.groups.rows[nodes["group"][row]].name
            raise InputError(f"node {nodes['id'][row]} has root {nodes['root'][row]}, which is not in its process "
                             f"group {name!r}", file=trace.file)
        for row in rows:
            if int(row) in trace.counts:
                if len(trace.counts[int(row)]) != len(members):
                    raise InputError(f"node {nodes['id'][row]} has {len(trace.counts[int(row)])} comm_counts for "
                                     f"{len(members)} ranks of its process group", file=trace.file)
                self.counts[self.first_row + int(row)] = trace.counts[int(row)]

    def set_issue(self, nodes: np.ndarray, trace: RankTrace, node: np.ndarray, on: np.ndarray) -> None:
        """The order of issue of a rank's collectives, and of sends that name their group: as its nodes say, else by
        their start times if it has any."""
        collectives, sends = nodes["kind"] == COLL, (nodes["kind"] == SEND) & (nodes["group"] >= 0)
        if (nodes["issue"][collectives] >= 0).any() or not trace.starts_us[collectives].any():
            return
        issue = np.where(collectives | (sends & (trace.starts_us > 0)), trace.starts_us, -1)
        later, earlier = chains(nodes["group"], issue)
        if find_cycle(len(nodes), np.concatenate([node, later]), np.concatenate([on, earlier])):
            self.note("start times", trace, np.flatnonzero(collectives)[:1])
        else:
            nodes["issue"] = issue

    def scale(self, nodes: np.ndarray, trace: RankTrace) -> None:
        """Sizes and durations times the factor, truncated to whole bytes and microseconds."""
        factor = self.settings.scaling
        if factor is None:
            return
        nodes["size_bytes"] = (nodes["size_bytes"] * factor).astype("i8")
        nodes["duration_ps"] = (nodes["duration_ps"] / US_PS * factor).astype("i8") * US_PS
        for row in trace.counts:
            if self.first_row + row in self.counts:
                self.counts[self.first_row + row] = (trace.counts[row] * factor).astype("i8")

    def note(self, kind: str, trace: RankTrace, rows: Sequence[int] | np.ndarray) -> None:
        """Count rows for a warning."""
        if len(rows):
            count, first = self.notes.get(kind, (0, f"node {trace.nodes['id'][rows[0]]} of rank {trace.rank}"))
            self.notes[kind] = count + len(rows), first

    def graph(self) -> Graph:
        """The whole."""
        warnings = [f"{self.prefix}: {count:,} {_WARNINGS[kind].format(first=first)}"
                    for kind, (count, first) in self.notes.items()]
        return Graph(len(self.nodes) - 1, np.concatenate(self.nodes), np.concatenate(self.deps), self.groups.rows,
                     self.counts, warnings, self.prefix, self.names, np.concatenate(self.control),
                     np.concatenate(self.computation))


_NO_COLLECTIVE = {"kind": FIXED, "group": -1, "collective": 0, "size_bytes": 0, "root": -1, "issue": -1}
_WARNINGS = {
    "dangling": "dependencies are on node ids that their rank's trace does not have, first of {first}; they are "
                "dropped (policy: what is not there has finished)",
    "leftover": "control dependencies go in circles with others, first of {first}; they are dropped (policy: where "
                "some control dependencies are on ids that are not there, they are left over from a conversion)",
    "unexpanded": "collective nodes have neither comm_type nor comm_size (launchers on the CPU), first {first}; they "
                  "are not expanded and only take their duration",
    "outside": "collective nodes are in the trace of a rank outside their process group, first {first}; they are not "
               "expanded and only take their duration",
    "start times": "ranks have start times of collectives that contradict their dependencies, first {first}; their "
                   "order of issue is not used",
}
