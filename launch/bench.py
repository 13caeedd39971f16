"""Measure the shipped cases: packet-hops a second, whole-process time, memory, exchange, compile and start-up time.

    python launch/bench.py --cases perm128,perm1024 --repeats 3 --ranks 1,2
    python launch/bench.py --cases perm128 --json

Every figure comes from `distsim run` in a child process: its run.json, its wall and CPU time. Times are medians over
the repeats; counts must be the same in all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import child

CASES = "perm128,perm1024,incast32,ring64"
TINY = "triggers"
IMPORTS = "import numba, polars, pydantic"
YARDSTICK = child.ROOT.parent / "shared" / "tools" / "yardstick.py"


def main() -> None:
    """Measure, then print a table or one JSON object."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="distsim-cache-") as cache:
        environment = {} if options.no_compile else {"DISTSIM_CACHE_DIR": cache}
        report: dict[str, Any] = {"cores": os.cpu_count()}
        report["compile_s"] = _compile_times(environment, options.no_compile)
        report["start"] = _start_times(environment, options.repeats)
        yardstick = _yardstick(options.yardstick)
        report["cases"] = {case: _case(case, options, environment, yardstick) for case in options.cases}
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        _print_table(report)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=lambda text: text.split(","), default=CASES.split(","),
                        help=f"names in configs/ or paths, with commas between them (default {CASES}; perm8192 takes "
                             "longer)")
    parser.add_argument("--repeats", type=_count, default=3, help="runs of each case (default 3)")
    parser.add_argument("--ranks", type=lambda text: [_count(part) for part in text.split(",")], default=[1],
                        help="rank counts, e.g. 1,2; the first one fills a case's own figures (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--no-compile", action="store_true",
                        help="leave out the cold compile and use the user's kernel cache")
    parser.add_argument("--yardstick", type=Path, default=YARDSTICK if YARDSTICK.is_file() else None,
                        help="a program that prints {\"128\": packet-hops a second, ...} with --json; ratios to it are "
                             "given for the cases perm<hosts>")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _compile_times(environment: dict[str, str], warm_only: bool) -> dict[str, float | None]:
    """Seconds that the kernels take to compile (None when not measured) and to load; leaves the cache warm."""
    cold, warm = (child.run(child.case_file(TINY), environment=environment).info["wall"]["compile_s"] for _ in range(2))
    return {"cold": None if warm_only else round(cold, 2), "warm": round(warm, 3)}


def _start_times(environment: dict[str, str], repeats: int) -> dict[str, float]:
    """Wall time of a tiny run with a warm cache, next to that of importing the libraries it stands on."""
    tiny = statistics.median(child.run(child.case_file(TINY), environment=environment).wall_s for _ in range(repeats))
    imports = []
    for _ in range(repeats):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", IMPORTS], check=True)
        imports.append(time.perf_counter() - begin)
    libraries = statistics.median(imports)
    return {"tiny_run_s": round(tiny, 3), "imports_s": round(libraries, 3), "ratio": round(tiny / libraries, 2)}


def _yardstick(program: Path | None) -> dict[str, float]:
    if program is None:
        return {}
    done = subprocess.run([sys.executable, str(program), "--json"], check=True, capture_output=True, text=True)
    return {hosts: float(rate) for hosts, rate in json.loads(done.stdout).items()}


def _case(case: str, options: argparse.Namespace, environment: dict[str, str],
          yardstick: dict[str, float]) -> dict[str, Any]:
    """Figures of one case, those of further rank counts under `ranks`."""
    by_ranks = {}
    for ranks in options.ranks:
        runs = [child.run(child.case_file(case), ranks=ranks, environment=environment) for _ in range(options.repeats)]
        by_ranks[ranks] = _figures(case, runs)
    figures = dict(by_ranks[options.ranks[0]])
    hosts = case.removeprefix("perm")
    if hosts in yardstick:
        figures["yardstick_ratio"] = round(figures["hops_per_s"] / yardstick[hosts], 3)
    if len(by_ranks) > 1:
        first = figures["hops_per_s"]
        figures["ranks"] = {str(ranks): found | {"speedup": round(found["hops_per_s"] / first, 2)}
                            for ranks, found in by_ranks.items()}
    return figures


def _figures(case: str, runs: list[child.Outcome]) -> dict[str, Any]:
    info = runs[0].info
    counts, flows, times = info["counts"], info["flows"], info["fct_us"]
    for other in runs[1:]:
        if (other.info["counts"], other.info["fct_us"]) != (counts, times):
            raise SystemExit(f"{case}: two runs of the same configuration differ")
    rate = statistics.median(run.info["hops_per_s"] for run in runs)
    return {
        "ranks_used": info["ranks"],
        "hops": counts["hops"], "hops_per_s": round(rate), "ns_per_hop": round(1e9 / rate, 1),
        "cpu_s": round(statistics.median(run.cpu_s for run in runs), 3),
        "wall_s": round(statistics.median(run.wall_s for run in runs), 3),
        "hot_s": round(statistics.median(run.info["wall"]["hot_s"] for run in runs), 4),
        "exchange_share": round(statistics.median(run.exchange_share for run in runs), 4),
        "peak_mb": round(max(run.peak_mb for run in runs), 1),
        "flows": flows["finished"], "unfinished": flows["unfinished"],
        "last_us": times["last"], "mean_fct_us": times["mean"],
        "retransmitted": counts["retransmitted"], "trimmed": counts["trimmed"],
    }


# Title, width, text of a cell.
COLUMNS: list[tuple[str, int, Callable[[dict[str, Any]], str]]] = [
    ("hops", 12, lambda row: f"{row['hops']:,}"),
    ("M hops/s", 10, lambda row: f"{row['hops_per_s'] / 1e6:.2f}"),
    ("ns/hop", 8, lambda row: f"{row['ns_per_hop']:.1f}"),
    ("exchange", 10, lambda row: f"{100 * row['exchange_share']:.1f} %"),
    ("speed-up", 10, lambda row: f"{row['speedup']:.2f}" if "speedup" in row else ""),
    ("CPU s", 8, lambda row: f"{row['cpu_s']:.2f}"),
    ("wall s", 8, lambda row: f"{row['wall_s']:.2f}"),
    ("MB", 7, lambda row: f"{row['peak_mb']:.0f}"),
    ("flows", 7, lambda row: f"{row['flows']}"),
    ("last us", 10, lambda row: f"{row['last_us']:.2f}"),
    ("mean us", 10, lambda row: f"{row['mean_fct_us']:.2f}"),
    ("rtx", 7, lambda row: f"{row['retransmitted']}"),
    ("trims", 7, lambda row: f"{row['trimmed']}"),
]


def _print_table(report: dict[str, Any]) -> None:
    print(f"{'case':<12}{'ranks':>6}" + "".join(f"{title:>{width}}" for title, width, _ in COLUMNS))
    for case, figures in report["cases"].items():
        for row in figures.get("ranks", {"": figures}).values():
            print(f"{case:<12}{row['ranks_used']:>6}" + "".join(f"{cell(row):>{width}}" for _, width, cell in COLUMNS))
    print()
    for case, figures in report["cases"].items():
        if "yardstick_ratio" in figures:
            print(f"{case}: {figures['yardstick_ratio']:.2f} of the yardstick")
        if figures["unfinished"]:
            print(f"{case}: {figures['unfinished']} flows unfinished")
    cold, warm = report["compile_s"]["cold"], report["compile_s"]["warm"]
    print(f"compile: {f'{cold:.1f} s cold, ' if cold is not None else ''}{warm:.2f} s from the cache")
    start = report["start"]
    print(f"start: a tiny run takes {start['tiny_run_s']:.2f} s, `{IMPORTS}` {start['imports_s']:.2f} s, "
          f"ratio {start['ratio']:.2f}")


if __name__ == "__main__":
    main()
