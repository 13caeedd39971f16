"""The state of one rank: the tuple of tables that is every kernel's only argument."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import tables as t


class State(NamedTuple):
    """Tables of one rank (see `tables`): structured arrays when compiled, lists of row objects in the plain twin."""

    packets: Any      # PACKET
    ports: Any        # PORT, in order of (node row, ifid)
    queues: Any       # QUEUE, QUEUES rows a port
    pfc: Any          # PFC, row by row with `queues`
    shares: Any       # SHARE, row by row with `queues`
    buffers: Any      # BUFFER, CLASSES rows a switch
    buffer_stats: Any # BUFFER_STATS, BUFFER_KINDS rows a BUFFER row of a switch that records them
    flowlets: Any     # FLOWLET, slots of flow tables
    losses: Any       # LOSS, row by row with `ports`, then with `ins`; one row where nothing is ever lost
    survival: Any     # SURVIVAL
    ins: Any          # IN, in order of (node row, ifid); then departures, one a cut link; then notices, one a rank
    nodes: Any        # NODE, units contiguous
    next_ps: Any      # i8 a node: nothing happens there before; then one entry a rank for what leaves
    swpar: Any        # SWPAR
    nicpar: Any       # NICPAR
    nics: Any         # NICROW
    groups: Any       # GROUP
    group_hash: Any   # i4: first group of each bucket
    tx: Any           # TXPDC
    slots: Any        # SLOT, rings of TXPDC rows
    rings: Any        # RING, rings of NICs and groups
    rx: Any           # RXPDC
    words: Any        # WORD, rings of RXPDC rows
    rxmsg: Any        # RXMSG
    ops: Any          # OP
    edges: Any        # EDGE
    heap: Any         # PENDING, a heap a NIC
    counters: Any     # COUNTERS, one a NIC
    buff: Any         # BUFF, NIC_BUFFERS rows a NIC
    pcie: Any         # PCIE, PCIE_ENDS rows a NIC
    perf: Any         # PERF
    events: Any       # EVENT
    monitor: Any      # MONITOR
    service: Any      # MONITOR, one a NIC: the frame in service
    chosen: Any       # CHOSEN
    works: Any        # WORK, WORKS rows a NIC
    oplog: Any        # OPLOG
    watch: Any        # WATCH, one row
    pools: Any        # POOL
    clock: Any        # CLOCK, one row
    node_of_host: Any # i4 a host: its NODE row, -1 when on another rank
    host_leaf: Any    # i4 a host: column of its leaf switch in `route`
    host_port: Any    # i4 a host: PORT row from its leaf switch, -1 when that is on another rank
    route: Any        # i4: ECMP set by (switch, leaf column)
    flow_set: Any     # i4 by (switch, leaf column), of switches with flow tables: the set's number in the table, or -1
    set_begin: Any    # i4
    set_count: Any    # i4
    members: Any      # i4: PORT rows
    crc: Any          # i8: table of CRC-32, for the hash methods that need it
    keys: Any         # i8 scratch: the merge of in-links
    outbox: Any       # PACKET: what leaves for other ranks in this window
    inbox: Any        # PACKET: what came from them
    in_of_link: Any   # i4: IN row of each link of the fabric, -1 when it does not end here
    link_of_in: Any   # i4: link of each IN row, -1 for notices
    units: Any        # UNIT
    order: Any        # i4: node rows in the order they are visited (fuzz tests shuffle it within a unit)


_I4, _I8 = np.dtype("i4"), np.dtype("i8")
DTYPES: dict[str, np.dtype] = {
    "packets": t.PACKET, "ports": t.PORT, "queues": t.QUEUE, "pfc": t.PFC, "shares": t.SHARE, "buffers": t.BUFFER,
    "buffer_stats": t.BUFFER_STATS, "flowlets": t.FLOWLET, "losses": t.LOSS,
    "survival": t.SURVIVAL, "ins": t.IN, "nodes": t.NODE, "next_ps": _I8,
    "swpar": t.SWPAR, "nicpar": t.NICPAR, "nics": t.NICROW, "groups": t.GROUP, "group_hash": _I4, "tx": t.TXPDC,
    "slots": t.SLOT, "rings": t.RING, "rx": t.RXPDC, "words": t.WORD, "rxmsg": t.RXMSG, "ops": t.OP, "edges": t.EDGE,
    "heap": t.PENDING, "counters": t.COUNTERS, "buff": t.BUFF, "pcie": t.PCIE, "perf": t.PERF, "events": t.EVENT,
    "monitor": t.MONITOR, "service": t.MONITOR, "chosen": t.CHOSEN, "works": t.WORK, "oplog": t.OPLOG,
    "watch": t.WATCH, "pools": t.POOL,
    "clock": t.CLOCK, "node_of_host": _I4, "host_leaf": _I4, "host_port": _I4, "route": _I4, "flow_set": _I4,
    "set_begin": _I4, "set_count": _I4, "members": _I4, "crc": _I8, "keys": _I8, "outbox": t.PACKET,
    "inbox": t.PACKET, "in_of_link": _I4, "link_of_in": _I4, "units": t.UNIT, "order": _I4,
}
assert tuple(DTYPES) == State._fields
