"""chakra-completion-stats and chakra-cdf: how far each rank got, and how far the run had got at each instant."""

from __future__ import annotations

import numpy as np

from distsim.records.chakra.parts import Parts
from distsim.records.chakra.run import ChakraRun, annotated_name
from distsim.records.chakra.times import NEVER
from distsim.records.schema import Columns, microseconds, seconds


def completion(run: ChakraRun, parts: Parts, ends: np.ndarray) -> Columns:
    """One row a rank, in order. ends : i8[ranks], NEVER for one that the end of the run stopped."""
    ranks = len(ends)
    sends, receives, computed = parts.sends, parts.receives, parts.computations
    until = np.where(ends == NEVER, run.end_ps, ends)
    return {
        "metric_path": "ChakraGenerator.ChakraApp",
        "chakra_app_logical_id": np.arange(ranks),
        "chakra_trace_completion_time_us": microseconds(until - run.start_ps),
        "chakra_full_payload_bytes_sent": _sum(sends, "size_bytes", ranks, "sent_ps"),
        "chakra_full_payload_bytes_received": _sum(receives, "size_bytes", ranks),
        "num_chakra_sends_completed": _count(sends, ranks, "sent_ps"),
        "num_chakra_receives_completed": _count(receives, ranks),
        "num_chakra_sends_fully_acked": _count(sends, ranks),
        "num_chakra_computations_completed": _count(computed, ranks),
        "total_chakra_computation_time_us": microseconds(_sum(computed, "duration_ps", ranks)),
        "post_annotated_results_path": [annotated_name(run, rank) if run.annotate else None for rank in range(ranks)],
    }


def _count(rows: np.ndarray, ranks: int, when: str = "done_ps") -> np.ndarray:
    """i8[ranks]: PART rows of each that have the time `when`."""
    return np.bincount(rows["rank"][rows[when] != NEVER], minlength=ranks)


def _sum(rows: np.ndarray, field: str, ranks: int, when: str = "done_ps") -> np.ndarray:
    """i8[ranks]: sum of a field over the same."""
    done = rows[when] != NEVER
    total = np.zeros(ranks, np.int64)
    np.add.at(total, rows["rank"][done], rows[field][done])
    return total


def cdf(run: ChakraRun, parts: Parts, ends: np.ndarray) -> Columns:
    """One row an interval, from one interval after the start to one after the last rank's end, or to the stop.

    What happens at the instant of a row counts. A fraction of nothing (a run without computations) is 0.
    """
    last_ps = run.end_ps if (ends == NEVER).any() else int(ends.max(initial=run.start_ps)) + run.interval_ps
    at_ps = run.start_ps + np.arange(1, (last_ps - run.start_ps) // run.interval_ps + 1) * run.interval_ps
    sends, receives, computed = parts.sends, parts.receives, parts.computations
    one_each = np.ones(max(len(sends), len(receives), len(computed)), np.int64)
    return {
        "sim_time_sec": seconds(at_ps),
        "CDF_send_bytes": _fraction(sends["sent_ps"], sends["size_bytes"], at_ps),
        "CDF_chakra_sends_completed": _fraction(sends["sent_ps"], one_each, at_ps),
        "CDF_chakra_receives_completed": _fraction(receives["done_ps"], one_each, at_ps),
        "CDF_chakra_sends_fully_acked": _fraction(sends["done_ps"], one_each, at_ps),
        "CDF_chakra_computations_completed": _fraction(computed["done_ps"], one_each, at_ps),
    }


def _fraction(done_ps: np.ndarray, weight: np.ndarray, at_ps: np.ndarray) -> np.ndarray:
    """f8[instants]: what had been done by each, of all. done_ps : NEVER for what was not; weight : its part."""
    weight = weight[:len(done_ps)]
    order = np.argsort(done_ps, kind="stable")
    order = order[done_ps[order] != NEVER]
    done = np.concatenate([[0], np.cumsum(weight[order])])
    return np.asarray(done[np.searchsorted(done_ps[order], at_ps, side="right")] / max(int(weight.sum()), 1))
