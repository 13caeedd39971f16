"""Small clusters and runs for the tests of a WorkloadRun on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from distsim.cluster import Cluster, Node, Taint, load_cluster
from distsim.cluster.labels import GPU_PRESENT, GPU_PRODUCT, HOSTNAME
from distsim.workloadrun.load import load_workloadrun
from distsim.workloadrun.plan import Plan, make_plan

RACK = "topology.kubernetes.io/rack"
H100, A100, GB200 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-40GB", "NVIDIA-GB200"


def node(name: str, gpus: int = 8, product: str = H100, **labels: str) -> Node:
    """A node with the labels that the GPU Operator sets; underscores in `labels` keys stand as they are."""
    own = {HOSTNAME: name, GPU_PRESENT: "true", **({GPU_PRODUCT: product} if product else {}), **labels}
    return Node(name, own, {}, (), gpus, (), False, "pool", {"nvidia.com/gpu": gpus})


def changed(one: Node, **fields: Any) -> Node:
    """A node with other fields; labels of None are taken away."""
    from dataclasses import replace

    labels = {key: value for key, value in {**one.labels, **fields.pop("labels", {})}.items() if value is not None}
    return replace(one, labels=labels, **fields)


def tainted(one: Node, key: str, value: str = "", effect: str = "NoSchedule") -> Node:
    """A node with a further taint."""
    return changed(one, taints=(*one.taints, Taint(key, value, effect)))


def nodes(count: int, **options: Any) -> list[Node]:
    """node00, node01, ..."""
    return [node(f"node{at:02d}", **options) for at in range(count)]


def cluster_file(folder: Path, name: str = "cluster", *, count: int = 8, gpus: int = 2, per_rack: int = 2,
                 links: list[dict[str, Any]] | None = None, **more: Any) -> str:
    """A cluster file of racks; the path."""
    network = {"kind": "rack", "nodes_per_rack": per_rack, **({"links": links} if links else {})}
    pool = {"name": "gpu", "count": count, "names": "node{00}", "chips": {"product": H100, "count": gpus},
            "nics": {"count": gpus, "rate": "400Gbps"}}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({"name": name, "pools": [pool], "network": network, **more}, sort_keys=False))
    return str(path)


def run_file(folder: Path, name: str = "run", args: str = "-b 64K -e 64K -n 1 -w 0", **spec: Any) -> str:
    """A WorkloadRun of an all_reduce_perf_mpi that takes a fraction of a second; the path."""
    given: dict[str, Any] = {
        "image": "nccl", "numNodes": 2, "gpusPerNode": 2,
        "framework": {"mpi": {"binary": "/opt/all_reduce_perf_mpi", "args": args.split(), "mpirunPath": "mpirun"}},
        "bandwidthMeasurement": {"logProfileRef": "nccl-bandwidth", "testType": "all_reduce"}, **spec}
    given = {key: value for key, value in given.items() if value is not None}
    document = {"apiVersion": "nvcre.nvidia.com/v1alpha1", "kind": "WorkloadRun", "metadata": {"name": name},
                "spec": given}
    path = folder / f"{name}.run.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return str(path)


def plan_of(folder: Path, cluster: dict[str, Any] | None = None, **spec: Any) -> Plan:
    """The plan of such a run on such a cluster."""
    found: Cluster = load_cluster(cluster_file(folder, **(cluster or {})))
    return make_plan(load_workloadrun(run_file(folder, **spec)), found)
