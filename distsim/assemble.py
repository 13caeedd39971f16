"""From a configuration to a model: fabric, routes, operations, attribute rows. The same on every rank."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from . import fabric as fabrics
from . import workload as workloads
from .config.advice import config_warnings
from .errors import InputError
from .fabric.routing import build_routes
from .fabric.types import Fabric
from .fault_plan import fault_plan
from .parameters import buffer_rows, needs_shared, nic_row, switch_row, watch_row
from .projection import Projection, Senders, project_estimate
from .state.lookahead import notices_of
from .state.model import Model, number_messages
from .state.tables import BUFFER, CLASSES
from .workload.types import SEND, Workload

if TYPE_CHECKING:
    from .config import Config

MOST_PACKETS = 1 << 29
EAGER_VARIABLE = "DISTSIM_EAGER"      # 1: every switch runs with port ends as events (the same bytes, slower)


def eager_wanted() -> bool:
    """Whether the environment asks for eager switches."""
    return os.environ.get(EAGER_VARIABLE, "0") not in ("", "0")


def assemble(config: Config, *, eager: bool = False, foresee: Callable[[Projection], None] | None = None) -> Model:
    """The model of a configuration; InputError when its parts do not fit together.

    foresee : told, before any table of a large workload is made, what it is projected to come to; may refuse it.
    """
    fabric = fabrics.build(config.fabric, config.link_rules())
    names, nodes, hosts = fabric.names, fabric.nodes, fabric.hosts
    config.check_overrides([(names[i], int(nodes["rack"][i])) for i in range(hosts)],
                           [(names[i], int(nodes["tier"][i])) for i in range(hosts, len(nodes))])
    routes = build_routes(fabric)
    nicpar, nic_param = nic_parameters(config, fabric, routes.up_link)
    estimate = workloads.projected(config.workload, fabric.hosts, config.seed, fabric.servers) if foresee else None
    if foresee and estimate is not None:
        foresee(project_estimate(estimate.transfers, estimate.size_bytes, fabric, routes,
                                 Senders.of(nicpar, nic_param)))
    slowest_bps = int(fabric.links["rate_bps"][routes.up_link[:fabric.hosts]].min())
    workload = workloads.build(config.workload, fabric.hosts, config.seed, fabric.servers, slowest_bps)
    if not len(workload.ops) and workload.sweep is None:
        raise InputError("has no flows", where="workload")
    check_sizes(workload, nicpar["mss_bytes"][nic_param])
    swpar, switch_param, shared, buffers = switch_parameters(config, fabric)
    if any(table[name].any() for table in (nicpar, swpar) for name in ("pfc_0", "pfc_1")) or swpar["pfc_2"].any():
        shared[:] = True      # PFC frames may reach every switch
    swpar["eager"] = eager
    warnings = [*fabric.warnings, *workload.warnings, *config_warnings(config)]
    run_ps = config.stop_ps - config.workload_start_ps
    late = workloads.late_starts(workload, run_ps)
    if late:
        first = workload.ops["user_id"][late[0]]
        warnings.append(f"{len(late)} flows start after the run has stopped (first: id {first}) and never run")
    model = Model(fabric, routes, number_messages(workload), nicpar, nic_param, swpar, switch_param, seed=config.seed,
                 start_ps=config.workload_start_ps, trigger_delay_ps=config.trigger_delay_ps, shared=shared,
                 buffers=buffers, failed=failed_links(config, fabric), faults=fault_plan(config, fabric),
                 watch=watch_row(config), warnings=warnings, workload=workload)
    if workload.notices is None:
        return model
    # those of the first phase too: a part without phases foresees nothing
    return replace(model, notices=np.concatenate([workload.notices, notices_of(model)]))


def failed_links(config: Config, fabric: Fabric) -> np.ndarray:
    """bool[links]: those that FailedLinks names, both directions. InputError for a name that is no such link."""
    failed = np.zeros(len(fabric.links), bool)
    number = {name: i for i, name in enumerate(fabric.names)}
    for text in config.parameters.FailedLinks:
        ends = [number.get(name, -1) for name in text.split("--")]
        found = np.zeros(len(failed), bool)
        if len(ends) == 2 and min(ends) >= fabric.hosts:
            src, dst = fabric.links["src"], fabric.links["dst"]
            found = ((src == ends[0]) & (dst == ends[1])) | ((src == ends[1]) & (dst == ends[0]))
        if not found.any():
            raise InputError(f"{text!r} is no link between two switches; valid: two component names as A--B, "
                             f"e.g. {fabric.names[fabric.hosts]}--{fabric.names[-1]}",
                             where="SimulationParameters.FailedLinks")
        failed |= found
    return failed


def check_sizes(workload: Workload, mss_bytes: np.ndarray) -> None:
    """Refuse a message of more packets than PSNs. mss_bytes : RdmaDataMSS of each host."""
    packets = np.where(workload.ops["kind"] == SEND, workload.ops["size_bytes"], 0) // mss_bytes[workload.ops["host"]]
    if packets.max(initial=0) > MOST_PACKETS:
        worst = workload.ops[int(packets.argmax())]
        raise InputError(f"flow {worst['user_id']} of {worst['size_bytes']} B has more than {MOST_PACKETS} packets; "
                         "use a larger RdmaDataMSS or smaller messages", where="workload")


def nic_parameters(config: Config, fabric: Fabric, up_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """NICPAR rows and the row of each NIC; NICs with the same attributes and link rate share one."""
    rows: dict[tuple[int, int], int] = {}
    tables: list[np.ndarray] = []
    chosen = np.zeros(fabric.hosts, "i4")
    rates = fabric.links["rate_bps"][up_link]
    racks = fabric.nodes["rack"]
    for host in range(fabric.hosts):
        nic = config.nic_for(host, int(racks[host]), fabric.names[host])
        key = (id(nic), int(rates[host]))
        if key not in rows:
            config.check_link(nic, key[1], fabric.names[host])
            rows[key] = len(tables)
            tables.append(nic_row(nic, key[1], config.parameters))
        chosen[host] = rows[key]
    return np.concatenate(tables), chosen


def switch_parameters(config: Config, fabric: Fabric) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """SWPAR rows; by switch node id - hosts: the row of each, whether its shared buffer is counted, its BUFFER rows.

    A fabric of switches with and without the UET policy counts all: they class packets differently.
    """
    rows: dict[int, int] = {}
    tables: list[np.ndarray] = []
    pools: dict[tuple[int, int], np.ndarray] = {}
    count = len(fabric.nodes) - fabric.hosts
    chosen, shared = np.zeros(count, "i4"), np.zeros(count, bool)
    buffers = np.zeros((count, CLASSES), BUFFER)
    ports = np.bincount(fabric.links["src"], minlength=len(fabric.nodes))
    recorded = config.parameters.EnableSwitchBufferStats
    for k in range(count):
        node = fabric.hosts + k
        switch = config.switch_for(fabric.names[node], int(fabric.nodes["tier"][node]))
        if id(switch) not in rows:
            rows[id(switch)] = len(tables)
            tables.append(switch_row(switch, recorded))
        chosen[k] = rows[id(switch)]
        key = (id(switch), int(ports[node]))
        if key not in pools:
            config.check_switch(switch, key[1], fabric.names[node])
            pools[key] = buffer_rows(switch, key[1])
        buffers[k] = pools[key]
        shared[k] = needs_shared(switch, key[1], recorded) or switch.LoadBalancingMethod == "flowlet"
    table = np.concatenate(tables)
    if len(np.unique(table["uet_policy"])) > 1:
        shared[:] = True
    return table, chosen, shared, buffers
