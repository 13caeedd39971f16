"""Small clusters for tests, and what their fabrics say."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from distsim.cluster import Cluster, load_cluster
from distsim.cluster.build import configuration, fabric_of
from distsim.config.yaml_reader import Document
from distsim.fabric.types import Fabric


def load_text(tmp_path: Path, text: str, name: str = "cluster.yaml", **files: str) -> Cluster:
    """The cluster of a text; `files` are written beside it (two underscores in a name stand for the dot)."""
    for other, content in files.items():
        (tmp_path / other.replace("__", ".")).write_text(textwrap.dedent(content))
    path = tmp_path / name
    path.write_text(textwrap.dedent(text))
    return load_cluster(str(path))


def fabric(cluster: Cluster) -> Fabric:
    """The built fabric of a cluster."""
    nowhere = Document({}, {}, None)
    return fabric_of(configuration(cluster.fabric, cluster.settings, nowhere), nowhere)


def leaf_names(built: Fabric, hosts: Any) -> list[str]:
    """Names of the switches that hosts hang off, by the links of the built fabric."""
    found = []
    for host in hosts:
        (row,) = np.flatnonzero(built.links["src"] == host)
        found.append(built.names[built.links["dst"][row]])
    return found


def rates(built: Fabric) -> dict[tuple[str, str], int]:
    """Gbit/s of every upward link, by the names of its ends."""
    up = built.links[built.links["uplink"] == 1]
    return {(built.names[link["src"]], built.names[link["dst"]]): int(link["rate_bps"]) // 10**9 for link in up}
