"""`distsim bandwidth`: bus bandwidth from logs of nccl-tests, and thresholds on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from distsim.measure.gauges import Series
    from distsim.measure.lifecycle import Measurement
    from distsim.measure.threshold import Threshold, Verdict


@click.command("bandwidth", short_help="Bus bandwidth from nccl-tests logs, and thresholds on it.")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@click.option("-f", "--file", "manifest", metavar="FILE",
              help="A BandwidthMeasurement (YAML); with one LOG it is run against it, without it is only checked.")
@click.option("--profile", metavar="NAME|FILE",
              help="Log profile: nccl-bandwidth (default), nccl-bandwidth-tagged, nccl-bandwidth-old, or a YAML file.")
@click.option("--threshold", "thresholds", multiple=True, metavar="KEY=CEL",
              help="e.g. 'busBandwidthGBps=value >= 45'. May be given several times.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table",
              show_default=True, help="json and yaml print the measurement's status.")
@click.option("--job-status", type=click.Choice(["succeeded", "failed"]), default="succeeded", show_default=True,
              help="How the job ended.")
@click.option("--test-type", default="", metavar="NAME",
              help="Collective, e.g. all_reduce: label nccl_test of the gauges.")
@click.option("--prometheus", metavar="FILE", help="Write the results as gauges to FILE (Prometheus text).")
@click.option("--container-log-max-size", metavar="SIZE",
              help="Read only what a node that rotates logs at SIZE (e.g. 10Mi) would have kept.")
@click.option("--measurement-timeout", metavar="DURATION",
              help="Try a log that cannot be read again for so long, at least 2m (a Go duration such as 10m).")
def command(logs: tuple[str, ...], manifest: str | None, profile: str | None, thresholds: tuple[str, ...], form: str,
            job_status: str, test_type: str, prometheus: str | None, container_log_max_size: str | None,
            measurement_timeout: str | None) -> int:
    """Read each LOG (a log of nccl-tests or its -J report; - is the standard input) and average by message size.

    Exit codes: 0 the log was read and every threshold given holds, 4 a threshold is violated or could not be
    evaluated, 2 input error.
    """
    from distsim.measure.threshold import EXIT_THRESHOLD, Threshold
    from distsim.measure.units import parse_duration_s, parse_size_bytes

    rules = [Threshold(text) for text in thresholds]
    options = {"job": job_status, "profile": profile,
               "timeout_s": _parsed("--measurement-timeout", measurement_timeout, parse_duration_s),
               "rotate_bytes": _parsed("--container-log-max-size", container_log_max_size, parse_size_bytes)}
    if manifest is not None:
        if test_type:
            raise click.UsageError("--test-type is spec.testType of the file given by -f")
        return _run_manifest(manifest, logs, options, rules, form, prometheus)
    if not logs:
        raise click.UsageError("give a LOG, or a BandwidthMeasurement with -f")
    if logs.count("-") > 1:
        raise click.UsageError("the standard input (-) can be read only once")
    measured = _measure(logs, options)
    judged = [_judge(one, rules) for one in measured]
    _print([_status(one, verdicts, name=len(logs) > 1) for one, verdicts in zip(measured, judged)], form,
           [_table(one, name=len(logs) > 1) for one in measured])
    _report(measured, judged)
    if prometheus is not None:
        from distsim.measure.gauges import Series

        _write(prometheus, [Series(one.log, one.status.results, test_type) for one in measured])
    return 0 if _all_pass(judged) else EXIT_THRESHOLD


def _run_manifest(path: str, logs: tuple[str, ...], options: dict[str, Any], rules: list[Threshold], form: str,
                  prometheus: str | None) -> int:
    from distsim.measure.gauges import Series
    from distsim.measure.run_manifest import load_measurement
    from distsim.measure.threshold import EXIT_THRESHOLD

    loaded = load_measurement(path, options.pop("profile"))
    if len(logs) > 1:
        raise click.UsageError("a BandwidthMeasurement is run against one LOG")
    if not logs:
        if rules or prometheus is not None:
            raise click.UsageError("without a LOG there is nothing to evaluate or to write")
        click.echo(f"{path}: valid; {loaded.summary()}")
        return 0
    measured = loaded.run(logs[0], say=_say, **options)
    verdicts = _judge(measured, rules)
    shown = {**loaded.document, "status": _status(measured, verdicts)}
    _print([shown], form, [_table(measured)])
    _report([measured], [verdicts])
    if prometheus is not None:
        spec, metadata = loaded.manifest.spec, loaded.manifest.metadata
        _write(prometheus, [Series(metadata.name, measured.status.results, spec.testType, metadata.namespace,
                                   spec.jobRef.name if spec.jobRef else "", loaded.workflow)])
    return 0 if _all_pass([verdicts]) else EXIT_THRESHOLD


def _measure(logs: tuple[str, ...], options: dict[str, Any]) -> list[Measurement]:
    from distsim.measure.lifecycle import JobStatus, measure
    from distsim.measure.profile import STRICT, load_profile

    profile = load_profile(options["profile"] or STRICT)
    return [measure(log, profile, job=JobStatus(options["job"]), say=_say, timeout_s=options["timeout_s"],
                    rotate_bytes=options["rotate_bytes"]) for log in logs]


def _judge(measured: Measurement, rules: list[Threshold]) -> list[Verdict]:
    return [rule.judge(measured.status, measured.misread) for rule in rules]


def _all_pass(judged: list[list[Verdict]]) -> bool:
    return all(verdict.passed for verdicts in judged for verdict in verdicts)


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


def _write(path: str, series: list[Series]) -> None:
    from distsim.measure.gauges import write_gauges

    write_gauges(path, series)


def _say(line: str) -> None:
    click.echo(f"distsim: {line}", err=True)


def _parsed(option: str, text: str | None, parse: Any) -> Any:
    from distsim.errors import InputError

    try:
        return None if text is None else parse(text)
    except ValueError as error:
        raise InputError(str(error), where=option) from None
