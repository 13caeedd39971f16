"""The chakra records: their files and columns, as in scala-computing/docs, models/chakra-workload/records.

The documented simulator writes most of them once a process, each with the ranks of that process. Ours write a row for
every rank of the run into shard 0, so that they do not depend on how many processes ran it; only `Core` does.
"""

from __future__ import annotations

from distsim.records.schema import FLOAT, INT, TEXT, Column, RecordSchema

CORE = Column("Core", INT, "", "process of the simulator that ran it")
SCALE_UP_COLUMNS = 2      # of chakra-mapping, its last ones: only with a mapping file that has scale-up groups


def _schema(name: str, row_for: str, written: str, order: tuple[str, ...], columns: tuple[Column, ...],
            by_process: tuple[str, ...] = ()) -> RecordSchema:
    return RecordSchema(name=name, columns=columns, row_for=row_for, written=written, switch="", default=True,
                        global_switch=True, order=order, whole_run=True, by_process=by_process)


CAPABLE_HOSTS = _schema(
    "chakra-capable-hosts", "each server, one a NIC", "once", ("Host",), (
        Column("Host", INT, "", "id of the server"),
        Column("ChakraCapable", TEXT, "", "always true: every NIC can run a rank (the name is ours)"),
    ))

MAPPING = _schema(
    "chakra-mapping", "each rank", "once", ("ChakraId",), (
        Column("ChakraId", INT, "", "the rank"),
        Column("Hostname", TEXT, "", "name of its server, which is its NIC's"),
        Column("NicNodeID", INT, "", "node id of its NIC"),
        Column("ServerNodeID", INT, "", "node id of its server: its NIC's, the two are one node"),
        Column("ServerID", INT, "", "id of its server"),
        CORE,
        Column("IPAddress", TEXT, "", "IPv4 address of its NIC"),
        Column("ScaleUpGroupId", INT, "", "its scale-up group, empty: none; no column without scale-up groups"),
        Column("ScaleUpSubgroupId", INT, "", "its subgroup, empty: none; no column without scale-up groups"),
    ), by_process=("Core",))

APPS = _schema(
    "chakra-apps", "each rank", "once", ("AppName",), (
        Column("AppName", TEXT, "", "ChakraApp-<rank>"), CORE), by_process=("Core",))

PERF = _schema(
    "chakra-perf", "each transfer between two ranks that was acknowledged", "at the end of the run",
    ("sim_time_sec", "start_time_sec", "sending_app_name", "receiving_app_name", "comm_tag"), (
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("metric_name", TEXT, "", "ChakraFCT: completion time of a transfer"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the acknowledgement"),
        Column("perf_metric_usec", FLOAT, "us", "from the start of the send to the acknowledgement"),
        Column("metric_path", TEXT, "", "ChakraFCT.<collective>.GroupSize<N>.CommSize<S>Bytes; without a collective "
                                        "ChakraFCT.Send.GroupSize0.CommSize<bytes>Bytes"),
        Column("metric_aggregation_id", INT, "", "id shared by the transfers of a collective, and by those of the "
                                                 "barrier before it; -1: a send of the trace"),
        Column("start_time_sec", FLOAT, "s", "simulation time at which the send started"),
        Column("is_added_synchronization_flow", TEXT, "", "true: of a barrier that was put before a collective"),
        Column("comm_tag", INT, "", "communication tag"),
        Column("group_size", INT, "", "ranks of the process group; -1: a send of the trace"),
        Column("flow_comm_size", INT, "B", "size of the transfer"),
        Column("sending_app_name", TEXT, "", "ChakraApp-<rank> of the sender"),
        Column("receiving_app_name", TEXT, "", "ChakraApp-<rank> of the receiver"),
    ))

COMPLETION = _schema(
    "chakra-completion-stats", "each rank", "at the end of the run", ("chakra_app_logical_id",), (
        Column("metric_path", TEXT, "", "ChakraGenerator.ChakraApp"),
        Column("chakra_app_logical_id", INT, "", "the rank"),
        Column("chakra_trace_completion_time_us", FLOAT, "us", "from the start to the rank's end, or to the stop"),
        Column("chakra_full_payload_bytes_sent", INT, "B", "size of its sends whose last byte was sent"),
        Column("chakra_full_payload_bytes_received", INT, "B", "size of its receives that finished"),
        Column("num_chakra_sends_completed", INT, "count", "sends whose last byte was sent"),
        Column("num_chakra_receives_completed", INT, "count", "receives that finished"),
        Column("num_chakra_sends_fully_acked", INT, "count", "sends that were acknowledged"),
        Column("num_chakra_computations_completed", INT, "count", "computations that finished"),
        Column("total_chakra_computation_time_us", FLOAT, "us", "sum of their durations in the trace"),
        Column("post_annotated_results_path", TEXT, "", "post_annotated/<prefix>.<rank>.json; empty: not written"),
    ))

CDF = _schema(
    "chakra-cdf", "each report interval, up to one interval after the last rank's end", "every BeaconReportInterval",
    ("sim_time_sec",), (
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("CDF_send_bytes", FLOAT, "", "bytes of completed sends, of the run's"),
        Column("CDF_chakra_sends_completed", FLOAT, "", "sends whose last byte was sent, of the run's"),
        Column("CDF_chakra_receives_completed", FLOAT, "", "receives that finished, of the run's"),
        Column("CDF_chakra_sends_fully_acked", FLOAT, "", "sends that were acknowledged, of the run's"),
        Column("CDF_chakra_computations_completed", FLOAT, "", "computations that finished, of the run's"),
    ))

COLLECTIVES = _schema(
    "chakra-comm-collective-stats", "each collective that a rank entered", "at the end of the run",
    ("simulation_start_time_us", "collective_hash"), (
        Column("collective_hash", INT, "", "id of the collective, as metric_aggregation_id in chakra-perf"),
        Column("comm_type", TEXT, "", "AllReduce, Reduce, AllGather, Gather, Scatter, Broadcast, AllToAll, "
                                      "ReduceScatter, ReduceScatterBlock or Barrier"),
        Column("comm_size", INT, "B", "size in the trace"),
        Column("pg_name", TEXT, "", "name of the process group"),
        Column("pg_size", INT, "", "its ranks"),
        Column("simulation_start_time_us", FLOAT, "us", "latest or earliest start among the ranks"),
        Column("simulation_end_time_us", FLOAT, "us", "last acknowledgement or receive; empty: none"),
        Column("use_max_as_collective_start_time", INT, "", "1: the start is the latest, 0: the earliest"),
        Column("is_valid", INT, "", "0: no rank finished it"),
    ))

STATISTICS = ("mean", "p50", "p99", "p99_9", "p100")
PERCENTILES = _schema(
    "chakra-comm-collective-percentiles-stats", "each type, size and group size of collectives",
    "at the end of the run", ("comm_type", "expansion_algo", "comm_size", "pg_size"), (
        Column("comm_type", TEXT, "", "as in chakra-comm-collective-stats"),
        Column("expansion_algo", TEXT, "", "algorithm that it was expanded with"),
        Column("comm_size", INT, "B", "size in the trace"),
        Column("pg_size", INT, "", "ranks of the process group"),
        Column("count", INT, "count", "collectives that every rank of their group finished"),
        *(Column(f"{name}_run_time_us", FLOAT, "us", f"{name} of their run times: end minus start; percentiles by "
                                                     "nearest rank") for name in STATISTICS),
        *(Column(f"{name}_ideal_ratio", TEXT, "", f"{name}_run_time_us over the ideal time of the algorithm at the "
                                                  "rate of the slowest NIC; NA: none") for name in STATISTICS),
    ))

SCHEMAS = (CAPABLE_HOSTS, MAPPING, APPS, PERF, COMPLETION, CDF, COLLECTIVES, PERCENTILES)
