"""chakra-perf: one row a transfer, in order of (time, operation)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from distsim.records.chakra.identity import TYPES, collective_ids
from distsim.records.chakra.run import ChakraRun, Graphed, app_name
from distsim.records.labels import NodeLabels, choose
from distsim.records.record_set import BATCH_ROWS
from distsim.records.row_limit import RowLimit
from distsim.records.schema import Columns, microseconds, seconds
from distsim.workload.graph import BARRIER
from distsim.workload.types import ROLE_SYNC

METRIC = "ChakraFCT"
SYNCHRONIZATION = "synchronization"


class Transfers:
    """Turns PERF rows into columns."""

    def __init__(self, what: Graphed) -> None:
        self._what = what
        self._apps = NodeLabels(app_name)
        instances = what.instances
        self._ids = np.concatenate([collective_ids(what), collective_ids(what, SYNCHRONIZATION), [-1]])
        self._group_size = np.concatenate([instances["group_size"], instances["group_size"], [-1]])
        rows = instances[["collective", "group_size", "size_bytes"]].tolist()
        self._paths = [_path(TYPES[kind], members, size) for kind, members, size in rows]
        self._paths += [_path(TYPES[BARRIER], members, 0) for _, members, _ in rows]

    def columns(self, rows: np.ndarray) -> Columns:
        """One row a PERF row, in the order given."""
        labels = self._what.labels[rows["op"]]
        synchronizes = labels["role"] == ROLE_SYNC
        none, count = labels["instance"] < 0, len(self._what.instances)
        which = np.where(none, 2 * count, labels["instance"] + count * synchronizes)
        sizes, size_of = np.unique(rows["length_bytes"], return_inverse=True)
        paths = (*self._paths, *(_path("Send", 0, size) for size in sizes.tolist()))
        return {
            "metric_name": METRIC,
            "sim_time_sec": seconds(rows["time_ps"]),
            "perf_metric_usec": microseconds(rows["time_ps"] - rows["start_ps"]),
            "metric_path": choose(paths, np.where(none, 2 * count + size_of, which)),
            "metric_aggregation_id": self._ids[which],
            "start_time_sec": seconds(rows["start_ps"]),
            "is_added_synchronization_flow": choose(("false", "true"), synchronizes.astype(np.int64)),
            "comm_tag": labels["tag"],
            "group_size": self._group_size[which],
            "flow_comm_size": rows["length_bytes"],
            "sending_app_name": self._apps.of(labels["rank"]),
            "receiving_app_name": self._apps.of(labels["peer"]),
        }


def _path(kind: str, members: int, size_bytes: int) -> str:
    return f"{METRIC}.{kind}.GroupSize{members}.CommSize{size_bytes}Bytes"


def transfer_batches(run: ChakraRun, what: Graphed, limit: RowLimit) -> Iterator[Columns]:
    """The rows of chakra-perf in batches, flows beside the ranks left out; `limit` counts by the sending NIC."""
    perf = run.perf[what.labels["rank"][run.perf["op"]] >= 0]
    rows = limit.cut_rows(perf[np.lexsort([perf["op"], perf["time_ps"]])])
    transfers = Transfers(what)
    for begin in range(0, len(rows), BATCH_ROWS):
        yield transfers.columns(rows[begin:begin + BATCH_ROWS])
