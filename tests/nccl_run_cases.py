"""Runs of nccl-tests from a configuration to its files, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from distsim.config import from_dict
from distsim.engine import Result, run_config

PAYLOAD_GBPS = 50 * 4096 / 4202           # 48.74: what 400 Gb/s carry in packets of 4096 B and 106 B of headers


def settings(command: str, workload: dict[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """A configuration: two racks of four NICs that never block, without records of packets."""
    return {"simulation": "bench", "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4},
            "workload": {"kind": "nccl-tests", "command": command, **(workload or {})}, **sections}


def simulate(folder: Path, command: str, workload: dict[str, Any] | None = None, **sections: Any) -> Result:
    return run_config(from_dict(settings(command, workload, **sections), []), folder, quiet=True)


def write(folder: Path, command: str, workload: dict[str, Any] | None = None, **sections: Any) -> Path:
    """The same as a file."""
    path = folder / "bench.yaml"
    path.write_text(yaml.safe_dump(settings(command, workload, **sections)))
    return path


def log_lines(folder: Path) -> list[str]:
    return (folder / "bench-launcher.log").read_text().splitlines()


def table(folder: Path) -> list[list[str]]:
    """The log's rows as words: size, count, type, redop, root, time, algbw, busbw, wrong and four of in-place."""
    return [line.split() for line in log_lines(folder) if line[:12].strip().isdigit()]


def report(folder: Path, name: str = "report.json") -> dict[str, Any]:
    """The -J file: times to the picosecond."""
    found: dict[str, Any] = json.loads((folder / f"bench-nccl-tests-{name}").read_text())
    return found


def times_us(folder: Path) -> list[tuple[float, float]]:
    """(out-of-place, in-place) of each row of the -J file, microseconds."""
    return [(row["out_of_place"]["time"], row["in_place"]["time"]) for row in report(folder)["results"]]
