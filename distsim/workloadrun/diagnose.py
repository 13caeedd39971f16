"""Finding bad nodes and bad domains: which groups to test next, given which of the last ones failed.

Source: NVIDIA/cluster-readiness-engine, ADR-055 (screening, inter-domain screening, halving, confirmation) and ADR-056
(probes across a boundary when both halves pass). Its screening without NVLink is left out: jobs between servers take
the fabric here in any case. Our rules, where its own leave a fault of a whole domain unfound:

- A group is halved while it is larger than minGroupSize and both halves have at least two nodes (one node alone says
  nothing of the links between nodes).
- A suspect is confirmed against a healthy node: one of its own domain when a test inside the domain failed; one of
  another domain when a test between domains failed, nodes that passed such a test first. Where there is none, three or
  more suspects are tested in a ring, and one all of whose pairs fail is confirmed; two cannot be told apart, and both
  count as failed.
- A node that was confirmed between domains stands for its domain: what is slow are the domain's links to the others.
- A simulation repeats itself, so nothing fails by chance: when all suspects pass beside healthy nodes, the smallest
  group that failed is told as an infrastructure fault (the original clears it).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .placement import Group

SCREENING, BETWEEN, BISECTION = "intra-screening", "inter-screening", "bisection"
BOUNDARY, CONFIRMATION, COMPLETE = "cross-boundary", "confirmation", "complete"
MOST_PROBES = 4


@dataclass
class _Probe:
    """Two halves that pass alone and fail together."""

    a: tuple[str, ...]
    b: tuple[str, ...]
    between: bool
    rounds: int = 0


@dataclass
class Diagnosis:
    """The state of a diagnosis; `groups` are to be tested next, none when it is over.

    nodes : all names. domains : the domain of each node, empty where no topology key says so. least : minGroupSize.
    """

    nodes: Sequence[str]
    domains: Mapping[str, str]
    least: int = 2
    stage: str = SCREENING
    round: int = 0
    message: str = ""
    groups: list[Group] = field(default_factory=list)
    healthy: list[str] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    representatives: list[str] = field(default_factory=list)
    faulty_domains: list[str] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    screening: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._proved: list[str] = []                 # passed a test between domains
        self._between: set[str] = set()              # suspects of a test between domains
        self._split: list[Group] = []                # failed groups that wait to be halved
        self._probes: list[_Probe] = []
        self._smallest: Group | None = None          # that failed, before suspects were confirmed
        self.groups = self._screens()

    @property
    def over(self) -> bool:
        """Whether nothing is left to be tested."""
        return self.stage == COMPLETE

    @property
    def failed(self) -> bool:
        """Whether faults were found."""
        return bool(self.suspects or self.faults)

    def advance(self, failed: Collection[str]) -> None:
        """The groups were tested, and those of the names `failed` did not pass: set the next ones."""
        self.round += 1
        bad = set(failed)
        for group in self.groups if self.stage != CONFIRMATION else ():
            if group.name in bad and (self._smallest is None or len(group.nodes) < len(self._smallest.nodes)):
                self._smallest = group
        {SCREENING: self._screened, BETWEEN: self._compared, BISECTION: self._halved, BOUNDARY: self._probed,
         CONFIRMATION: self._confirmed}[self.stage](bad)

    def status(self) -> dict[str, Any]:
        """Plain data, with the field names of the original where it has them; `faultyDomains` is ours."""
        found: dict[str, Any] = {"stage": self.stage, "round": self.round}
        for name, value in (("healthyNodes", self.healthy), ("suspectNodes", self.suspects),
                            ("representativeNodes", self.representatives), ("faultyDomains", self.faulty_domains),
                            ("infrastructureFaults", self.faults), ("screeningResults", self.screening)):
            if value:
                found[name] = value
        return found

    # ---- stages ------------------------------------------------------------------------------------------------------
    def _screens(self) -> list[Group]:
        """Each domain, or without domains groups of the square root of the number of nodes, at least two."""
        names = sorted(self.nodes)
        if any(self.domains.get(name) for name in names):
            by_domain: dict[str, list[str]] = {}
            for name in names:
                by_domain.setdefault(self.domains.get(name) or "unknown", []).append(name)
            return [Group(f"screen-{at}", tuple(by_domain[domain]), (domain,))
                    for at, domain in enumerate(sorted(by_domain))]
        size = max(math.isqrt(len(names) - 1) + 1, 2)
        return [Group(f"screen-{at // size}", tuple(names[at:at + size])) for at in range(0, len(names), size)]

    def _screened(self, bad: set[str]) -> None:
        for group in self.groups:
            passed = group.name not in bad
            self.screening[_domain(group)] = {"nodes": list(group.nodes), "passed": passed}
            if passed:
                self.healthy += group.nodes
                self.representatives.append(group.nodes[0])
            else:
                self._split.append(group)
        if len(self.representatives) > 1:
            self.stage = BETWEEN
            domains = tuple(_domain(group) for group in self.groups if group.name not in bad)
            self.groups = [Group("inter-domain", tuple(self.representatives), domains)]
        elif not self._split:
            self._end("All domains healthy, no faults detected")
        else:
            self._halve()

    def _compared(self, bad: set[str]) -> None:
        if bad:
            self._split += self.groups
            self._forget(self.representatives)
            self._between.update(self.representatives)
        else:
            self._proved = list(self.representatives)
        if self._split:
            self._halve()
        else:
            self._end("All screening passed, no faults detected")

    def _halve(self) -> None:
        """Halve what failed; what is too small for that is suspect. Nothing to halve: confirm the suspects."""
        waiting, self._split, halves = self._split, [], []
        for at, group in enumerate(waiting):
            nodes = sorted(group.nodes)
            middle = len(nodes) // 2
            if len(nodes) <= self.least or middle < 2:
                self.suspects += [name for name in nodes if name not in self.suspects]
            else:
                halves += [Group(f"bisect-{self.round}-{at}a", tuple(nodes[:middle]), group.domains),
                           Group(f"bisect-{self.round}-{at}b", tuple(nodes[middle:]), group.domains)]
        if halves:
            self.stage, self.groups = BISECTION, halves
        else:
            self._confirm()

    def _halved(self, bad: set[str]) -> None:
        for a, b in zip(self.groups[::2], self.groups[1::2], strict=True):
            self._split += [group for group in (a, b) if group.name in bad]
            if a.name not in bad and b.name not in bad:
                self._probes.append(_Probe(a.nodes, b.nodes, self._is_between(a)))
                continue
            for group in (a, b):
                if group.name not in bad:
                    self._passed(group)
        self._probe()

    def _probe(self) -> None:
        """Test mixtures of both halves of every boundary; without any go on halving."""
        if not self._probes:
            self._halve()
            return
        self.stage, self.groups = BOUNDARY, []
        for at, probe in enumerate(self._probes):
            self._forget([*probe.a, *probe.b])
            left, right = _mixtures(probe)
            self.groups.append(Group(f"cross-{at}-mix0", left))
            if len(right) > 1:
                self.groups.append(Group(f"cross-{at}-mix1", right))

    def _probed(self, bad: set[str]) -> None:
        waiting, self._probes = self._probes, []
        for at, probe in enumerate(waiting):
            first, second = f"cross-{at}-mix0" in bad, f"cross-{at}-mix1" in bad
            if not first and not second:
                self._well([*probe.a, *probe.b], probe.between)
            elif (first and second) or probe.rounds == MOST_PROBES or max(len(probe.a), len(probe.b)) <= 2:
                self._fault(probe)
            else:
                half_a, half_b = max(len(probe.a) // 2, 1), max(len(probe.b) // 2, 1)
                part = slice(None, half_a) if first else slice(half_a, None)
                other = slice(None, half_b) if first else slice(half_b, None)
                self._probes.append(_Probe(probe.a[part], probe.b[other], probe.between, probe.rounds + 1))
        self._probe()

    def _confirm(self) -> None:
        """Each suspect beside a healthy node."""
        used: Counter[str] = Counter()
        pairs = []
        for name in self.suspects:
            reference = self._reference(name, used)
            if reference is not None:
                used[reference] += 1
                pairs.append((name, reference))
        if not pairs and len(self.suspects) > 2:
            pairs = list(zip(self.suspects, [*self.suspects[1:], self.suspects[0]], strict=True))
        if not pairs:
            self._conclude(f"No healthy reference node; {len(self.suspects)} suspects marked failed")
            return
        self.stage = CONFIRMATION
        self.groups = [Group(f"confirm-{at}", pair) for at, pair in enumerate(pairs)]

    def _confirmed(self, bad: set[str]) -> None:
        tested = {name: [group.name in bad for group in self.groups if name in group.nodes] for name in self.suspects}
        cleared = [name for name, results in tested.items() if results and not all(results)]
        self.suspects = [name for name in self.suspects if name not in cleared]
        self.healthy += cleared
        self._conclude(f"Diagnosis complete: {len(self.suspects)} faulty nodes confirmed")

    def _conclude(self, text: str) -> None:
        if not self.suspects and not self.faults and self._smallest is not None:
            nodes = self._smallest.nodes
            half = len(nodes) // 2
            self._fault(_Probe(nodes[:half], nodes[half:], self._is_between(self._smallest)))
        for name in self.suspects:
            domain = self.domains.get(name, "")
            if name in self._between and domain and domain not in self.faulty_domains:
                self.faulty_domains.append(domain)
        if self.suspects:
            where = f"; links of {', '.join(self.faulty_domains)} to other domains" if self.faulty_domains else ""
            self._end(text + where)
        elif self.faults:
            self._end(f"Diagnosis complete: {len(self.faults)} infrastructure faults detected")
        else:
            self._end("Cross-boundary probing complete: no faults confirmed")

    # ---- bookkeeping -------------------------------------------------------------------------------------------------
    def _end(self, message: str) -> None:
        self.stage, self.groups, self.message = COMPLETE, [], message

    def _is_between(self, group: Group) -> bool:
        return self._between.issuperset(group.nodes)

    def _passed(self, group: Group) -> None:
        self._well(group.nodes, self._is_between(group))

    def _well(self, names: Iterable[str], between: bool) -> None:
        for name in names:
            if name not in self.healthy:
                self.healthy.append(name)
            if between and name not in self._proved:
                self._proved.append(name)

    def _forget(self, names: Collection[str]) -> None:
        self.healthy = [name for name in self.healthy if name not in names]
        self._proved = [name for name in self._proved if name not in names]

    def _fault(self, probe: _Probe) -> None:
        domain = next((self.domains[name] for name in probe.a if self.domains.get(name)), "")
        stage = BETWEEN if probe.between else BISECTION
        self.faults.append({"domain": domain, "groupA": list(probe.a), "groupB": list(probe.b), "stage": stage})

    def _reference(self, suspect: str, used: Counter[str]) -> str | None:
        home = self.domains.get(suspect, "")
        doubtful = {self.domains.get(name, "") for name in self.suspects if name in self._between} - {""}
        free = [name for name in self.healthy if name not in self.suspects]
        if suspect in self._between:
            elsewhere = [name for name in free if self.domains.get(name, "") not in {home} | doubtful]
            choices = [name for name in self._proved if name in elsewhere] or elsewhere
        else:
            choices = [name for name in free if home and self.domains.get(name) == home] or free
        return min(choices, key=used.__getitem__, default=None)              # of equals the first


def _domain(group: Group) -> str:
    return group.domains[0] if group.domains else group.name


def _mixtures(probe: _Probe) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first halves of both sides, and the second ones."""
    a, b = max(len(probe.a) // 2, 1), max(len(probe.b) // 2, 1)
    return (*probe.a[:a], *probe.b[:b]), (*probe.a[a:], *probe.b[b:])
