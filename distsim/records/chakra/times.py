"""When each operation started, was sent, was received and was done; and when each rank ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.records.chakra.run import ChakraRun, Graphed
from distsim.state.tables import O_DONE, O_SENT
from distsim.workload.graph import RECV
from distsim.workload.types import (
    JOIN,
    LOCAL_IN,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_LOCAL,
    ON_RECV_DONE,
    ON_SEND_DONE,
    ON_SENT,
    ROLE_BEGIN,
    ROLE_NODE,
    SEND,
)

NEVER = -1
_LATE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Times:
    """i8[ops], absolute ps, NEVER: not by the end of the run.

    began : it started; a receive (a JOIN) when all but its transfer had happened. sent : last byte of a SEND or LOCAL.
    received : all of a SEND or LOCAL at its receiver. done : a SEND or LOCAL acknowledged, else finished.
    """

    began: np.ndarray
    sent: np.ndarray
    received: np.ndarray
    done: np.ndarray


def op_times(run: ChakraRun, what: Graphed) -> Times:
    """The times of all operations, from the rows that the engine wrote and from what each operation waits for."""
    began, sent, done = np.full((3, len(what.ops)), NEVER, np.int64)
    began[run.oplog["op"]] = run.oplog["start_ps"]
    began[run.perf["op"]] = run.perf["start_ps"]
    for table, number in ((done, O_DONE), (sent, O_SENT)):
        rows = run.oplog[run.oplog["what"] == number]
        table[rows["op"]] = rows["time_ps"]
    done[run.perf["op"]] = run.perf["time_ps"]
    sent = np.where(sent == NEVER, done, sent)
    received = _receipts(what, began, done)
    done = np.where(what.ops["kind"] == LOCAL_IN, received, done)
    ready = _ready(run, what, Times(began, sent, received, done))
    began = np.where((began == NEVER) | (is_receive(what) & (ready != NEVER)), ready, began)
    return Times(began, sent, received, done)


def is_receive(what: Graphed) -> np.ndarray:
    """bool[ops]: JOINs that are receives of the trace."""
    return of_nodes(what, (RECV,)) & (what.ops["kind"] == JOIN)


def of_nodes(what: Graphed, kinds: tuple[int, ...]) -> np.ndarray:
    """bool[ops]: operations that are a node of the trace of one of these kinds (graph.NODES)."""
    node = what.labels["node"]
    of_trace = (what.labels["role"] == ROLE_NODE) & (node >= 0)
    return of_trace & np.isin(what.nodes["kind"], kinds)[node] if len(what.nodes) else of_trace


def entries(what: Graphed, times: Times, instance: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """i8[n]: when each rank entered the collective (i4[n] each), NEVER: not by the end of the run; 0: it takes no part.
    """
    begins = np.flatnonzero((what.labels["role"] == ROLE_BEGIN) & (what.labels["instance"] >= 0))
    place = what.labels["instance"][begins].astype(np.int64) * what.ranks + what.labels["rank"][begins]
    order = np.argsort(place, kind="stable")
    place, entered = np.append(place[order], NEVER), np.append(times.done[begins[order]], 0)
    wanted = instance.astype(np.int64) * what.ranks + rank
    at = np.searchsorted(place[:-1], wanted)
    return np.where(place[at] == wanted, entered[at], 0)


def taken(what: Graphed, times: Times) -> np.ndarray:
    """i8[ops]: when the receiver of a transfer of a collective had received it: it was in, and its rank had entered the
    collective. Of others as `received`."""
    entered = entries(what, times, what.labels["instance"], what.labels["peer"])
    never = (times.received == NEVER) | (entered == NEVER)
    return np.where(never, NEVER, np.maximum(times.received, entered))


def _receipts(what: Graphed, began: np.ndarray, done: np.ndarray) -> np.ndarray:
    """When transfers were in at their receiver; of a LOCAL_IN the same as of its LOCAL.

    The engine does not log that (but may for a LOCAL_IN). Taken is the start of the first operation that the receipt
    released, and for a SEND at the latest the acknowledgement.
    """
    edges, kind = what.edges, what.ops["kind"]
    received = np.where((kind == SEND) & (done != NEVER), done, _LATE)
    told = edges[(edges["when"] == ON_RECV_DONE) | (kind[edges["src"]] == LOCAL_IN)]
    told = told[began[told["dst"]] != NEVER]
    np.minimum.at(received, told["src"], (began - what.ops["delay_ps"])[told["dst"]])
    received = np.where((kind == LOCAL_IN) & (done != NEVER), done, received)
    halves = edges[edges["when"] == ON_LOCAL]
    received[halves["src"]] = received[halves["dst"]]
    return np.where(received == _LATE, NEVER, received)


def _ready(run: ChakraRun, what: Graphed, times: Times) -> np.ndarray:
    """i8[ops]: when the last (or, any_of, the k-th) of the notices that an operation waits for came, and its own delay
    was over; of a receive only those of its own rank. NEVER for one that had not come by the end of the run."""
    ops, kind = what.ops, what.ops["kind"]
    edges = what.edges[what.edges["when"] != ON_LOCAL]
    transferred = (edges["when"] == ON_RECV_DONE) | (kind[edges["src"]] == LOCAL_IN)
    edges = edges[~(transferred & is_receive(what)[edges["dst"]])]
    notice = np.full(len(edges), NEVER, np.int64)
    for when, at in ((ON_SEND_DONE, times.done), (ON_RECV_DONE, times.received), (ON_FIRE, times.done),
                     (ON_SENT, times.sent)):
        rows = edges["when"] == when
        notice[rows] = at[edges["src"][rows]]
    notice[notice == NEVER] = _LATE
    order = np.lexsort([notice, edges["dst"]])
    counts = np.bincount(edges["dst"], minlength=len(ops))
    need = np.where(ops["any_of"] > 0, np.minimum(ops["any_of"], counts), counts)
    last = np.cumsum(counts) - counts + need - 1
    ready = np.full(len(ops), run.start_ps, np.int64)
    some = counts > 0
    ready[some] = notice[order][last[some]]
    here = (ready != _LATE) & (kind != LOCAL_IN)
    ready = np.maximum(np.where(here, ready, 0), run.start_ps + ops["start_ps"]) + ops["delay_ps"]
    return np.where(here & (ready <= run.end_ps), ready, NEVER)


def rank_ends(run: ChakraRun, what: Graphed, times: Times) -> np.ndarray:
    """i8[ranks]: when each rank ended, NEVER for one that had not; one without nodes ends at once.

    A rank ends when all that it does is done, its transfers acknowledged, those that it received over the fabric too
    (scala-computing/docs, models/chakra-workload/workload-execution).
    """
    ends = np.full(what.ranks, run.start_ps, np.int64)
    open_ = np.zeros(what.ranks, bool)
    logged = (what.ops["flags"] & (LOG_OP | LOG_MESSAGE)) != 0
    for who, of in ((what.labels["rank"], logged), (what.labels["peer"], logged & (what.ops["kind"] == SEND))):
        rows = of & (who >= 0)
        np.maximum.at(ends, who[rows], times.done[rows])
        open_[who[rows & (times.done == NEVER)]] = True
    return np.where(open_, NEVER, ends)
