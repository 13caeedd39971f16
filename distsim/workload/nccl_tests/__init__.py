"""The kind `nccl-tests`: a program of nccl-tests on simulated ranks, measuring and printing as the real one does."""

from __future__ import annotations

from distsim.workload.base import Context
from distsim.workload.types import Workload

from .command import parse
from .spec import NcclTestsSpec, Spec

__all__ = ["NcclTestsSpec", "Spec", "build"]


def build(spec: NcclTestsSpec, context: Context) -> Workload:
    """The first phase; the others follow it (`Workload.following`), and `Workload.sweep` is the Sweep with its report.

    InputError when the command does not fit the hosts, or moves nothing at any size.
    """
    from .report import Report
    from .shape import shape_of
    from .sweep import Sweep

    command = parse(spec.command)
    shape = shape_of(spec, command, context)
    names = [f"NIC-{host}" for host in range(context.hosts)]
    report = Report(command, shape.rank_list(names), spec.network, spec.steady)
    first = Sweep(command, shape, report).first()
    if first is None:
        context.fail("command", f"{command.program} on {shape.ranks} ranks moves no bytes at any of these sizes"
                     if shape.fits else f"{command.program} needs a number of ranks that is a power of two, got "
                                        f"{shape.ranks}")
    return first
