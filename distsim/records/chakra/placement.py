"""chakra-capable-hosts, chakra-mapping and chakra-apps: where the ranks run."""

from __future__ import annotations

import numpy as np

from distsim.fabric.address import ip_text
from distsim.records.chakra.run import ChakraRun, Graphed, app_name
from distsim.records.chakra.schemas import MAPPING, SCALE_UP_COLUMNS
from distsim.records.labels import filled
from distsim.records.schema import Columns


def capable_hosts(run: ChakraRun) -> Columns:
    """One row a host of the fabric, in order of its number."""
    return {"Host": np.arange(len(run.owner)), "ChakraCapable": "true"}


def mapping(run: ChakraRun, what: Graphed) -> Columns:
    """One row a rank, in order; the columns of scale-up groups only when there are any."""
    host = np.asarray(what.placement, np.int64)
    columns: dict[str, object] = {
        "ChakraId": np.arange(what.ranks), "Hostname": [run.names[h] for h in host.tolist()], "NicNodeID": host,
        "ServerNodeID": host, "ServerID": host, "Core": np.asarray(run.owner, np.int64)[host],
        "IPAddress": [ip_text(h) for h in host.tolist()]}
    if run.scale_up_group is not None:
        subgroup = run.scale_up_group if run.scale_up_subgroup is None else run.scale_up_subgroup
        some = run.scale_up_group >= 0
        for column, values in zip(MAPPING.columns[-SCALE_UP_COLUMNS:], (run.scale_up_group, subgroup), strict=True):
            columns[column.name] = filled(np.asarray(values, np.int64), some)
    return columns


def apps(run: ChakraRun, what: Graphed) -> Columns:
    """One row a rank, in order."""
    return {"AppName": [app_name(rank) for rank in range(what.ranks)],
            "Core": np.asarray(run.owner, np.int64)[what.placement]}
