"""`ecn-pfc-stats`: one row a traffic class of a port every NDStatsReportInterval, once one of its counters is not zero.

Columns: scala-computing/docs, simulation-output-files, ECN/PFC Statistics; when a row is written and what a NIC counts:
models/scala-uet-nic/records. A NIC has classes 0 (data) and 1 (control), a switch port 0 to 2.

Decisions. The counters that decide whether there is a row are the frames sent and received and the marks. A pause lasts
from the frame that starts it until it is lifted or runs out; one in force at the row counts up to then, and for the
longest pause of an interval with all its length so far, also what lies before the interval. "egr_occ" is the part of a
pause in which packets of the class waited. `percent_xon` is the share of the interval in which the class was not
paused; `xoff_egr_occ_ratio` is total_xoff_time_egr_occ_usec over pfc_time_paused_usec, both since the start, 0 without
a pause. `job_id` is the simulation's name, as in perf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.nd_stats import NO_SUBTIER
from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, microseconds, seconds
from distsim.records.types import ND, Shard, Tick
from distsim.state.tables import CLASSES, NIC_CLASSES

FRAMES = {"pfcxoff_tx": "xoff_tx", "pfcxoff_rx": "xoff_rx", "pfcxon_tx": "xon_tx", "pfcxon_rx": "xon_rx"}
COUNTED = (*FRAMES.values(), "ecn_marks")

SCHEMA = RecordSchema(
    name="ecn-pfc-stats",
    row_for="each traffic class of a NIC or switch port, once one of its counters is not zero",
    written="every NDStatsReportInterval",
    switch="EnablePFCECNStatsLogging",
    default=True,
    global_switch=True,
    order=("sim_time_sec", "node_id", "ifid", "priority"),
    clock=ND,
    component="node_id",
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("node_id", INT, "", "node id of the component"),
        Column("component_name", TEXT, "", "name of the NIC or switch"),
        Column("component_type", TEXT, "", "NIC or Switch"),
        Column("ifid", INT, "", "interface index on the component, from 0"),
        Column("uldl", TEXT, "", "ul: towards the spines; dl: away from them"),
        Column("tier", INT, "", "0 spine, 1 fabric, 2 rack, 3 NIC"),
        Column("subtier", INT, "", f"always {NO_SUBTIER}: none"),
        Column("priority", INT, "", "traffic class"),
        Column("pfcxoff_tx", INT, "frames", "pauses sent for the class since the start"),
        Column("pfcxoff_rx", INT, "frames", "pauses received for it since the start"),
        Column("pfcxon_tx", INT, "frames", "XON frames sent for it since the start"),
        Column("pfcxon_rx", INT, "frames", "XON frames received for it since the start"),
        Column("pfc_time_paused_usec", FLOAT, "us", "time that the class was paused by its peer, since the start"),
        Column("interval_total_time_xoff_usec", FLOAT, "us", "the same since the previous row"),
        Column("interval_max_time_xoff_usec", FLOAT, "us", "longest pause that ended in the interval or is in force"),
        Column("interval_total_time_xoff_egr_occ_usec", FLOAT, "us", "part of it with packets waiting"),
        Column("interval_max_time_xoff_egr_occ_usec", FLOAT, "us", "the longest such time"),
        Column("total_xoff_time_egr_occ_usec", FLOAT, "us", "time paused with packets waiting, since the start"),
        Column("percent_xon", FLOAT, "%", "share of the interval in which the class was not paused"),
        Column("xoff_egr_occ_ratio", FLOAT, "", "share of pfc_time_paused_usec with packets waiting; 0: no pause"),
        Column("pkts_ecn_marked", INT, "packets", "packets marked in this class since the start; a NIC marks none"),
    ),
)


class EcnPfcStats(Record):
    """Keeps the times paused at the previous tick."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        classes = np.where(np.asarray(shard.port_is_nic, bool), NIC_CLASSES, CLASSES)
        port = np.repeat(np.arange(len(classes)), classes)
        self._at = port, np.arange(len(port)) - np.repeat(np.cumsum(classes) - classes, classes)
        self._xoff_ps = np.zeros(len(port), np.int64)
        self._occupied_ps = np.zeros(len(port), np.int64)
        self._previous_ps = shard.start_ps

    def on_tick(self, tick: Tick) -> Columns | None:
        """One row a port and class with a counter that is not zero, in order of (node id, ifid, class)."""
        if not len(tick.pfc):
            return None
        pfc = tick.pfc[self._at]
        xoff_ps, longest_ps = _paused(pfc, "", "xoff", tick.time_ps)
        occupied_ps, longest_occupied_ps = _paused(pfc, "_occupied", "occupied", tick.time_ps)
        elapsed_ps = tick.time_ps - self._previous_ps
        interval_ps, interval_occupied_ps = xoff_ps - self._xoff_ps, occupied_ps - self._occupied_ps
        self._previous_ps, self._xoff_ps, self._occupied_ps = tick.time_ps, xoff_ps, occupied_ps
        rows = np.flatnonzero(np.any([pfc[name] != 0 for name in COUNTED], axis=0))
        if not len(rows):
            return None
        figures = {
            "pfc_time_paused_usec": microseconds(xoff_ps),
            "interval_total_time_xoff_usec": microseconds(interval_ps),
            "interval_max_time_xoff_usec": microseconds(longest_ps),
            "interval_total_time_xoff_egr_occ_usec": microseconds(interval_occupied_ps),
            "interval_max_time_xoff_egr_occ_usec": microseconds(longest_occupied_ps),
            "total_xoff_time_egr_occ_usec": microseconds(occupied_ps),
            "percent_xon": 100 * (elapsed_ps - interval_ps) / elapsed_ps,
            "xoff_egr_occ_ratio": occupied_ps / np.maximum(xoff_ps, 1),
            "pkts_ecn_marked": pfc["ecn_marks"],
            **{column: pfc[field] for column, field in FRAMES.items()},
        }
        return {"sim_time_sec": seconds(tick.time_ps), **self._who(rows),
                **{name: values[rows] for name, values in figures.items()}}

    def _who(self, rows: np.ndarray) -> dict[str, Any]:
        shard, port = self._shard, self._at[0][rows]
        return {
            "job_id": shard.simulation,
            "node_id": np.asarray(shard.port_node_id)[port],
            "component_name": [shard.port_name[row] for row in port.tolist()],
            "component_type": np.where(np.asarray(shard.port_is_nic, bool)[port], "NIC", "Switch"),
            "ifid": np.asarray(shard.port_ifid)[port],
            "uldl": np.where(np.asarray(shard.port_uplink, bool)[port], "ul", "dl"),
            "tier": np.asarray(shard.port_tier)[port],
            "subtier": NO_SUBTIER,
            "priority": self._at[1][rows],
        }


def _paused(pfc: np.ndarray, longest: str, since: str, time_ps: int) -> tuple[np.ndarray, np.ndarray]:
    """Time paused since the start and longest pause since the previous row, with the pause in force at `time_ps`."""
    begin_ps = pfc[f"{since}_since_ps"]
    in_force_ps = np.where(begin_ps >= 0, np.maximum(np.minimum(time_ps, pfc["pause_end_ps"]) - begin_ps, 0), 0)
    return pfc[f"{since}_ps"] + in_force_ps, np.maximum(pfc[f"ivl_longest{longest}_ps"], in_force_ps)
