"""One `distsim run` as a child process, as a user would start it, and what it came to; for bench.py and scaling.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FINISHED, UNFINISHED = 0, 3  # exit codes of a run that ended by itself


@dataclass(frozen=True)
class Outcome:
    """info : content of run.json. wall_s, cpu_s : of the whole process, ranks included, seconds."""

    info: dict[str, Any]
    wall_s: float
    cpu_s: float

    @property
    def peak_mb(self) -> float:
        """Greatest resident size, summed over the ranks, MiB."""
        return float(sum(self.info["peak_memory_mb"]))

    @property
    def exchange_share(self) -> float:
        """Share of the loop's time that goes into the exchange between ranks (waiting for the slowest included)."""
        wall = self.info["wall"]
        busy = wall["hot_s"] + wall["exchange_s"]
        return float(wall["exchange_s"] / busy) if busy else 0.0


def case_file(case: str) -> Path:
    """The configuration of a case: a name in configs/ or a path; SystemExit with the valid names otherwise."""
    for path in (ROOT / "configs" / f"{case}.yaml", Path(case)):
        if path.is_file():
            return path
    names = sorted(path.stem for path in (ROOT / "configs").glob("*.yaml"))
    raise SystemExit(f"no case {case!r}; valid: {', '.join(names)}, or the path of a configuration")


def run(config: Path, *, ranks: int = 1, sets: Sequence[str] = (),
        environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a configuration quietly into a directory that is thrown away; SystemExit with its message when it fails."""
    with tempfile.TemporaryDirectory(prefix="distsim-") as folder:
        command = [sys.executable, "-m", "distsim", "run", str(config), "-o", f"{folder}/run", "--quiet"]
        command += [word for entry in sets for word in ("--set", entry)]
        command += ["--ranks", str(ranks)] if ranks > 1 else []
        begin = time.perf_counter()
        with (Path(folder) / "said").open("w+") as said:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                     env={**os.environ, **(environment or {})})
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            wall_s = time.perf_counter() - begin
            said.seek(0)
            if child.returncode not in (FINISHED, UNFINISHED):
                raise SystemExit(f"{' '.join(command)}: exit {child.returncode}\n{said.read().strip()}")
        info = json.loads(next(Path(folder).glob("run/*-run.json")).read_text())
    return Outcome(info, wall_s, usage.ru_utime + usage.ru_stime)
