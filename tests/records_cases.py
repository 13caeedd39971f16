"""Small shards, counters and messages that the tests of the records share."""

import dataclasses

import numpy as np

from distsim.records import PORT_COUNTERS, Shard
from distsim.state.tables import COUNTERS, NO_SAMPLE_MAX, NO_SAMPLE_MIN, PERF, PFC, QUEUES

MS = 10**9  # picoseconds
ONE = {"time_ps": 2_064_240_000, "start_ps": 2_000_000_000, "length_bytes": 2_000_000, "user_id": 41, "node": 3,
       "dst": 7, "op": 5, "rtx_packets": 2}


def shard(directory="", nics=1, **changes):
    """`nics` NICs (node ids from 0) and one rack switch with a port down to each."""
    ids = np.arange(nics)
    one = Shard("sim", 0, 1, str(directory), ids, [f"NIC-{i}" for i in ids], np.ones(nics, bool),
                port_node_id=np.concatenate([ids, np.full(nics, nics)]), port_ifid=np.concatenate([0 * ids, ids]),
                port_tier=np.repeat([3, 2], nics), port_uplink=np.repeat([1, 0], nics),
                port_is_nic=np.repeat([True, False], nics), port_rate_bps=np.repeat([400, 800], nics) * 10**9,
                port_name=[f"NIC-{i}" for i in ids] + ["RackSwitch-0"] * nics, start_ps=2 * MS)
    return dataclasses.replace(one, **changes)


def counters(nics=1, **values):
    """COUNTERS after a reset of the extremes, with `values` set on every NIC."""
    out = np.zeros(nics, COUNTERS)
    for name in COUNTERS.names:
        if name.startswith("ivl_") and name.endswith("_min"):
            out[name] = NO_SAMPLE_MIN
        elif name.startswith("ivl_") and not name.startswith("ivl_max_"):
            out[name] = NO_SAMPLE_MAX
    for name, value in values.items():
        out[name] = value
    return out


def ports(**values):
    """PORT_COUNTERS of the two ports of a shard with one NIC."""
    out = np.zeros(2, PORT_COUNTERS)
    for name, value in values.items():
        out[name] = value
    return out


def table(dtype, *rows):
    """Rows of a structured dtype from mappings of field to value, 0 elsewhere."""
    out = np.zeros(len(rows), dtype)
    for index, values in enumerate(rows):
        for name, value in values.items():
            out[index][name] = value
    return out


def messages(*rows):
    """PERF rows."""
    return table(PERF, *rows)


def pauses(ports_=2):
    """PFC[ports, QUEUES] without a pause anywhere."""
    out = np.zeros((ports_, QUEUES), PFC)
    out["xoff_since_ps"] = out["occupied_since_ps"] = -1
    return out
