"""The records of a run: `{simulation}-{record}-{shard}.csv` and `{simulation}-run.json`. See README.md."""

from distsim.records.mark import hold, release
from distsim.records.merge import merge, read_record
from distsim.records.nd_stats import port_counters
from distsim.records.record_set import RecordSet, open_records
from distsim.records.registry import COMPARED, RECORDS
from distsim.records.row_limit import limit_warnings
from distsim.records.run_json import claim_directory, read_run_json, run_json_path, write_run_json
from distsim.records.schema import Record, RecordSchema
from distsim.records.types import PORT_COUNTERS, Shard, Tick

__all__ = [
    "COMPARED", "PORT_COUNTERS", "RECORDS", "Record", "RecordSchema", "RecordSet", "Shard", "Tick", "claim_directory",
    "hold", "limit_warnings", "merge", "open_records", "port_counters", "read_record", "read_run_json", "release",
    "run_json_path", "write_run_json",
]
