"""`distsim bandwidth`: bus bandwidth from logs of nccl-tests, and thresholds on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from distsim.measure.collect import Collector
    from distsim.measure.gauges import Series
    from distsim.measure.lifecycle import Measurement
    from distsim.measure.run_manifest import LoadedMeasurement
    from distsim.measure.threshold import Threshold, Verdict


@dataclass
class _Task:
    """What the command line asks for.

    measured, judged : what was measured, and the verdicts on each.
    live : gauges of what is being read, for a scrape.
    """

    form: str
    rules: list[Threshold]
    options: dict[str, Any]
    prometheus: str | None
    metrics: tuple[str, int] | None
    measured: list[Measurement] = field(default_factory=list)
    judged: list[list[Verdict]] = field(default_factory=list)
    live: list[Callable[[], Series]] = field(default_factory=list)

    def measure(self, run: Callable[..., Measurement], log: str, labels: dict[str, str]) -> Measurement:
        """Measure one log by `run`, judge it, and keep both; its gauges are there from the first line on."""
        from distsim.measure.gauges import Series

        seen: list[Collector] = []
        at = len(self.live)
        self.live.append(lambda: Series(results=seen[-1].results() if seen else [], **labels))
        measured = run(log, say=_say, watch=seen.append, **self.options)
        self.live[at] = lambda: Series(results=measured.status.results, **labels)
        self.measured.append(measured)
        self.judged.append([rule.judge(measured.status, measured.misread) for rule in self.rules])
        return measured

    def series(self) -> list[Series]:
        """Gauges of all that was measured or is being read."""
        return [one() for one in list(self.live)]


@click.command("bandwidth", short_help="Bus bandwidth from nccl-tests logs, and thresholds on it.")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("-f", "--file", "manifest", metavar="FILE",
              help="A BandwidthMeasurement (YAML) to run: against LOG, else against the run that jobRef names; without "
                   "either it is only checked.")
@click.option("--runs", default="runs", show_default=True, metavar="DIR",
              help="Where -f looks for the run: DIR/NAME of jobRef, the launcher's log in it.")
@click.option("--profile", metavar="NAME|FILE",
              help="Log profile: nccl-bandwidth (default), nccl-bandwidth-tagged, nccl-bandwidth-old, or a YAML file.")
@click.option("--threshold", "thresholds", multiple=True, metavar="KEY=CEL",
              help="e.g. 'busBandwidthGBps=value >= 45'. May be given several times.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table",
              show_default=True, help="json and yaml print the measurement's status.")
@click.option("--job-status", type=click.Choice(["succeeded", "failed"]),
              help="How the job ended; by default what -f says of it, else succeeded.")
@click.option("--test-type", default="", metavar="NAME",
              help="Collective, e.g. all_reduce: label nccl_test of the gauges.")
@click.option("--prometheus", metavar="FILE", help="Write the results as gauges to FILE (Prometheus text).")
@click.option("--metrics-port", metavar="[HOST:]PORT",
              help="Serve the gauges for a scrape, from the first line read until interrupted (HOST 127.0.0.1).")
@click.option("--container-log-max-size", metavar="SIZE",
              help="Read only what a node that rotates logs at SIZE (e.g. 10Mi) would have kept.")
@click.option("--measurement-timeout", metavar="DURATION",
              help="Try a log that cannot be read again for so long, at least 2m (a Go duration such as 10m).")
def command(logs: tuple[str, ...], manifest: str | None, runs: str, profile: str | None, thresholds: tuple[str, ...],
            form: str, job_status: str | None, test_type: str, prometheus: str | None, metrics_port: str | None,
            container_log_max_size: str | None, measurement_timeout: str | None) -> int:
    """Read each LOG (a log of nccl-tests or its -J report; - is the standard input) and average by message size.

    Exit codes: 0 the log was read and every threshold given holds, 4 a threshold is violated or could not be
    evaluated, 2 input error.
    """
    from distsim.measure.threshold import Threshold
    from distsim.measure.units import parse_duration_s, parse_size_bytes

    options = {"job": job_status, "timeout_s": _parsed("--measurement-timeout", measurement_timeout, parse_duration_s),
               "rotate_bytes": _parsed("--container-log-max-size", container_log_max_size, parse_size_bytes)}
    task = _Task(form, [Threshold(text) for text in thresholds], options, prometheus,
                 _parsed("--metrics-port", metrics_port, _address))
    if manifest is not None:
        if test_type:
            raise click.UsageError("--test-type is spec.testType of the file given by -f")
        return _run_manifest(task, manifest, logs, runs, profile)
    if not logs:
        raise click.UsageError("give a LOG, or a BandwidthMeasurement with -f")
    if logs.count("-") > 1:
        raise click.UsageError("the standard input (-) can be read only once")
    return _run_logs(task, logs, profile, test_type)


def _run_logs(task: _Task, logs: tuple[str, ...], profile_name: str | None, test_type: str) -> int:
    """Measure each log on its own."""
    from distsim.measure.lifecycle import JobStatus, measure
    from distsim.measure.profile import load_profile
    from distsim.measure.profile_names import STRICT

    profile = load_profile(profile_name or STRICT)
    task.options["job"] = JobStatus(task.options["job"] or "succeeded")

    def work() -> list[dict[str, Any]]:
        for log in logs:
            task.measure(lambda path, **options: measure(path, profile, **options), log,
                         {"measurement": log, "test_type": test_type})
        return [_status(one, verdicts, name=len(logs) > 1) for one, verdicts in zip(task.measured, task.judged)]

    return _served(task, work, name=len(logs) > 1)


def _run_manifest(task: _Task, path: str, logs: tuple[str, ...], runs: str, profile: str | None) -> int:
    """Run a BandwidthMeasurement: against the log that is given, or that of the run that jobRef names.

    Thresholds of the job in the file are judged after those of the command line.
    """
    from distsim.measure.run_manifest import load_measurement

    loaded = load_measurement(path, profile)
    if len(logs) > 1:
        raise click.UsageError("a BandwidthMeasurement is run against one LOG")
    log = logs[0] if logs else loaded.find_log(runs)
    task.rules.extend(loaded.job.thresholds)
    if log is None:
        if len(task.rules) > len(loaded.job.thresholds) or task.prometheus is not None or task.metrics is not None:
            raise click.UsageError(f"without a LOG, and with no run {runs}/{loaded.job_name}, there is nothing to "
                                   "evaluate or to write")
        click.echo(f"{path}: valid; {loaded.summary()}; not measured: no LOG, and no run "
                   f"{runs}/{loaded.job_name}")
        return 0
    return _served(task, lambda: _measured(task, loaded, log))


def _measured(task: _Task, loaded: LoadedMeasurement, log: str) -> list[dict[str, Any]]:
    """The BandwidthMeasurement with the status that it gained."""
    spec, metadata = loaded.manifest.spec, loaded.manifest.metadata
    measured = task.measure(loaded.run, log, {
        "measurement": metadata.name, "test_type": spec.testType, "namespace": metadata.namespace,
        "job": loaded.job_name, "workflow": loaded.job.workflow})
    return [{**loaded.document, "status": _status(measured, task.judged[0])}]


def _served(task: _Task, work: Callable[[], list[dict[str, Any]]], name: bool = False) -> int:
    """Measure, print, write the gauges; with --metrics-port serve them meanwhile, and then until interrupted."""
    from distsim.measure.gauges import GaugeServer, write_gauges
    from distsim.measure.threshold import EXIT_THRESHOLD

    server = GaugeServer(*task.metrics, task.series) if task.metrics is not None else None
    if server is not None:
        _say(f"gauges at {server.url} until interrupted")
    try:
        shown = work()
        _print(shown, task.form, [_table(one, name) for one in task.measured])
        _report(task.measured, task.judged)
        if task.prometheus is not None:
            write_gauges(task.prometheus, task.series())
        if server is not None:
            _wait_for_interrupt()
    finally:
        if server is not None:
            server.close()
    passed = all(verdict.passed for verdicts in task.judged for verdict in verdicts)
    return 0 if passed else EXIT_THRESHOLD


def _wait_for_interrupt() -> None:
    import sys
    import threading

    sys.stdout.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return


def _status(measured: Measurement, verdicts: list[Verdict], name: bool = False) -> dict[str, Any]:
    """The status as plain data, the log's name before it if there are several, and verdicts after it."""
    shown = {"log": measured.log, **measured.status.to_dict()} if name else measured.status.to_dict()
    if verdicts:
        shown["thresholds"] = [verdict.to_dict() for verdict in verdicts]
    return shown


def _table(measured: Measurement, name: bool = False) -> list[str]:
    from distsim.measure.show import table_lines

    return [*([f"{measured.log}:"] if name else []), *table_lines(measured.status)]


def _print(objects: list[dict[str, Any]], form: str, tables: list[list[str]]) -> None:
    """One object as it is; several as a JSON list, as YAML documents, or as tables with a blank line between."""
    if form == "json":
        import json

        click.echo(json.dumps(objects if len(objects) > 1 else objects[0], indent=2))
    elif form == "yaml":
        import yaml

        click.echo(yaml.safe_dump_all(objects, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo("\n\n".join("\n".join(lines) for lines in tables))


def _report(measured: list[Measurement], judged: list[list[Verdict]]) -> None:
    """Hints and failed thresholds, one line each, to the error output."""
    for one, verdicts in zip(measured, judged):
        for hint in one.status.hints:
            click.echo(f"distsim: warning: {one.log}: {hint}", err=True)
        for verdict in verdicts:
            if not verdict.passed:
                click.echo(f"distsim: {one.log}: {verdict.message}", err=True)


def _say(line: str) -> None:
    click.echo(f"distsim: {line}", err=True)


def _parsed(option: str, text: str | None, parse: Callable[[str], Any]) -> Any:
    from distsim.errors import InputError

    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise InputError(str(error), where=option) from None


def _address(text: str) -> tuple[str, int]:
    """Host and port of ``[HOST:]PORT``."""
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535 or (colon and not host):
        raise ValueError(f"{text!r} is not [HOST:]PORT, e.g. 9400 or 0.0.0.0:9400 (port 0 to 65535)")
    return host.strip("[]") or "127.0.0.1", int(port)
