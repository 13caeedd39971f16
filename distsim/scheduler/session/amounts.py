"""Sums of resources: what the cluster has, what pods ask for. Amounts are in the units of `Task.request`."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from distsim.scheduler.types import Job, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import State

Amounts = dict[str, Fraction]


def total(state: State) -> Amounts:
    """What the nodes that are not broken have in all, chips isolated by faults left out."""
    kinds = {job.resource for job in state.jobs.values()}
    found: dict[str, int] = {}
    for node in state.nodes.values():
        if node.healthy and node.enabled:
            for name, amount in node.node.resources.items():
                if name in kinds:
                    amount = (node.all_chips & ~node.barred).bit_count()
                elif name == "cpu":
                    amount *= 1000
                found[name] = found.get(name, 0) + amount
    return {name: Fraction(amount) for name, amount in found.items()}


def of_tasks(job: Job, tasks: Iterable[Task]) -> Amounts:
    """What pods of a job ask for; a pod that shares its chip counts by its quota of AI cores."""
    found: dict[str, int] = {}
    parts = 0
    for task in tasks:
        for name, amount in task.request.items():
            found[name] = found.get(name, 0) + amount
        if task.chips and job.resource not in task.request:
            parts += task.chips
    whole = {name: Fraction(amount) for name, amount in found.items() if amount}
    if parts:
        add(whole, {job.resource: parts * Fraction(job.settings.aicore_quota or 100, 100)})
    return whole


def add(to: Amounts, more: Amounts, sign: int = 1) -> None:
    """Add amounts to others in place, or take them off with a sign of -1."""
    for name, amount in more.items():
        to[name] = to.get(name, Fraction(0)) + sign * amount


def shown(amount: Fraction) -> str:
    """An amount for a message, with at most two decimals."""
    return str(amount.numerator) if amount.denominator == 1 else f"{float(amount):.2f}"
