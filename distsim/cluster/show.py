"""A cluster for `distsim cluster show`: as plain data, and as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from distsim.cluster.build import configuration, fabric_of
from distsim.cluster.types import Cluster, Node
from distsim.config.yaml_reader import Document
from distsim.fabric.summary import summary

MOST_ROWS = 32
_SHORT = 4


def plain(cluster: Cluster) -> dict[str, Any]:
    """Everything, as JSON and YAML can hold it."""
    return {
        "name": cluster.name, "platform": cluster.platform,
        "pools": [_pool(name, nodes) for name, nodes in pools(cluster).items()],
        "racks": [{"name": rack.name, "nodes": list(rack.nodes), "switches": list(rack.switches)}
                  for rack in cluster.racks],
        "rackLabel": cluster.rack_label,
        "queues": [{"name": queue.name, "weight": queue.weight, "priority": queue.priority}
                   for queue in cluster.queues],
        "workloads": cluster.workloads,
        "fabric": cluster.fabric, "fabricSummary": dict(fabric_lines(cluster)), "settings": cluster.settings,
        "nodes": [_node(node) for node in cluster.nodes],
    }


def table_lines(cluster: Cluster, all_nodes: bool = False) -> list[str]:
    """Lines for a terminal. all_nodes : a row for every node too, and every rack."""
    cordoned = [node.name for node in cluster.nodes if node.cordoned]
    nics = sum(len(node.nics) for node in cluster.nodes)
    lines = _aligned([
        ("cluster", f"{cluster.name}, platform {cluster.platform}"),
        ("nodes", f"{len(cluster.nodes)}, {sum(node.gpus for node in cluster.nodes)} chips, {nics} NICs"),
        *([("cordoned", span(cordoned))] if cordoned else []),
        *([("workloads", ", ".join(cluster.workloads))] if cluster.workloads else []),
    ])
    for name, nodes in pools(cluster).items():
        lines += ["", *_pool_lines(_pool(name, nodes))]
    shown = cluster.racks if all_nodes else cluster.racks[:MOST_ROWS]
    rows = [(rack.name, span(rack.nodes), span(rack.switches)) for rack in shown]
    lines += ["", *_aligned([("RACK", "NODES", "SWITCHES"), *rows])]
    if len(shown) < len(cluster.racks):
        lines.append(f"... {len(cluster.racks) - len(shown)} more (--nodes shows all)")
    queues = [(queue.name, str(queue.weight), str(queue.priority)) for queue in cluster.queues]
    lines += ["", *_aligned([("QUEUE", "WEIGHT", "PRIORITY"), *(queues or [("any", "", "")])])]
    if all_nodes:
        lines += ["", *_aligned([("NODE", "POOL", "RACK", "CHIPS", "HOSTS", "STATE"), *map(_row, cluster.nodes)])]
    return [*lines, "", "FABRIC", *_aligned(fabric_lines(cluster))]


def pools(cluster: Cluster) -> dict[str, list[Node]]:
    """The nodes by pool."""
    found: dict[str, list[Node]] = {}
    for node in cluster.nodes:
        found.setdefault(node.pool, []).append(node)
    return found


def fabric_lines(cluster: Cluster) -> list[tuple[str, str]]:
    """Label and value of what `distsim topology` says of the fabric."""
    nowhere = Document({}, {}, None)
    fabric = fabric_of(configuration(cluster.fabric, cluster.settings, nowhere), nowhere)
    wired = sum(len(node.nics) for node in cluster.nodes)
    free = [("free ports", str(fabric.hosts - wired))] if fabric.hosts > wired else []
    return [("kind", str(cluster.fabric["kind"])), *free, *summary(fabric)]


def span(names: Sequence[str], count: bool = True) -> str:
    """A few names, or the first, the last and how many there are."""
    if len(names) <= _SHORT:
        return " ".join(names)
    return f"{names[0]} .. {names[-1]}" + (f" ({len(names)})" if count else "")


def _pool(name: str, nodes: list[Node]) -> dict[str, Any]:
    """What the nodes of a pool have in common."""
    return {
        "name": name, "nodes": len(nodes), "names": span([node.name for node in nodes], count=False),
        "chips": _common(node.gpus for node in nodes), "nics": _common(len(node.nics) for node in nodes),
        "labels": _shared([node.labels for node in nodes]),
        "annotations": _shared([node.annotations for node in nodes]),
        "taints": [_taint(taint) for taint in nodes[0].taints if all(taint in node.taints for node in nodes)],
        "capacity": _shared([node.capacity for node in nodes]),
        "allocatable": _shared([node.resources for node in nodes]),
        "cordoned": sum(node.cordoned for node in nodes),
    }


def _pool_lines(pool: dict[str, Any]) -> list[str]:
    amounts = pool["capacity"]
    rows = [("POOL", pool["name"]), ("nodes", f"{pool['nodes']}: {pool['names']}"), ("chips", str(pool["chips"])),
            ("NICs", str(pool["nics"]))]
    rows += [("capacity", " ".join(f"{key}={amount}" for key, amount in amounts.items()))] if amounts else []
    if pool["allocatable"] != amounts:
        rows.append(("allocatable", " ".join(f"{key}={amount}" for key, amount in pool["allocatable"].items())))
    for word in ("labels", "annotations"):
        rows += [(word if first else "", f"{key}={value}")
                 for first, (key, value) in zip([True] + [False] * len(pool[word]), pool[word].items())]
    if pool["taints"]:
        rows.append(("taints", " ".join(pool["taints"])))
    return _aligned(rows)


def _node(node: Node) -> dict[str, Any]:
    return {"name": node.name, "pool": node.pool, "rack": node.rack, "platform": node.platform,
            "cordoned": node.cordoned, "chips": node.gpus, "nics": list(node.nics), "labels": node.labels,
            "annotations": node.annotations,
            "taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints],
            "capacity": node.capacity, "allocatable": node.resources}


def _row(node: Node) -> tuple[str, ...]:
    hosts = f"{node.nics[0]}-{node.nics[-1]}" if node.nics and node.nics == tuple(
        range(node.nics[0], node.nics[-1] + 1)) else ",".join(map(str, node.nics))
    state = ["cordoned"] if node.cordoned else []
    return (node.name, node.pool, node.rack, str(node.gpus), hosts or "-",
            " ".join([*state, *map(_taint, node.taints)]) or "-")


def _taint(taint: Any) -> str:
    """``key=value:NoSchedule``."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _common(values: Iterable[int]) -> int | str:
    """The value that all have, or ``8 (11 nodes), 1 (1 node)``."""
    counts = Counter(values)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{value} ({count} node{'s' if count > 1 else ''})" for value, count in counts.most_common())


def _shared(maps: list[dict[str, Any]]) -> dict[str, Any]:
    """The entries that all have."""
    return {key: value for key, value in maps[0].items() if all(key in one and one[key] == value for one in maps)}


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows]
