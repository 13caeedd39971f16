"""`distsim bandwidth`: what is printed, exit codes, manifests, gauges, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from measure_cases import HEADER, old_row, row

from distsim.cli import run_cli

ROOT = Path(__file__).parents[1]
MANIFEST = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: BandwidthMeasurement
metadata: {name: bw, namespace: team, labels: {nvcre.nvidia.com/workflow: nightly}}
spec:
  jobRef: {apiGroup: nvcre.nvidia.com, kind: Job, name: nccl-1}
  logProfileRef: nccl-bandwidth
  testType: all_reduce
"""
PROFILE = """apiVersion: nvcre.nvidia.com/v1alpha1
kind: LogProfile
metadata: {name: NAME}
spec:
  timestamp: {layout: x}
  patterns:
    bandwidthResult: {regex: '(?P<size>[0-9]+) [0-9]+ +float.*(?P<algBW>35)(?P<busBW>.15)'}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "launcher.log"
    rows = row(8, "1.00", "1.75") + row(16, "26.00", "45.50")
    path.write_text("h:1:1 [0] NCCL INFO Using network IB\n" + HEADER + rows)
    return str(path)


def bandwidth(*arguments: str) -> int:
    return run_cli(["bandwidth", *arguments])


def test_json_of_one_log_is_its_status(log: str, capfd: Capture) -> None:
    assert bandwidth(log, "-o", "json") == 0
    shown = capfd.readouterr()
    condition = {"reason": "JobSucceeded", "message": "Job succeeded"}
    assert json.loads(shown.out) == {
        "results": [{"sizeBytes": 8, "algBW": "1.00", "busBW": "1.75", "samples": 1},
                    {"sizeBytes": 16, "algBW": "26.00", "busBW": "45.50", "samples": 1}],
        "transport": ["IB"],
        "conditions": [{"type": "Measuring", "status": "False", **condition},
                       {"type": "Complete", "status": "True", **condition}]}
    assert shown.err == ""


def test_several_logs_give_one_named_object_each(log: str, tmp_path: Path, capfd: Capture) -> None:
    empty = tmp_path / "empty.log"
    empty.write_text("")
    assert bandwidth(log, str(empty), "-o", "json") == 0
    one, two = json.loads(capfd.readouterr().out)
    assert (one["log"], len(one["results"])) == (log, 2)
    assert (two["log"], two["results"], two["conditions"][1]["reason"]) == (str(empty), [], "NoDataCollected")
    assert bandwidth(log, str(empty), "-o", "yaml") == 0
    assert list(yaml.safe_load_all(capfd.readouterr().out)) == [one, two]


def test_the_table(log: str, capfd: Capture) -> None:
    assert bandwidth(log) == 0
    assert capfd.readouterr().out.splitlines() == [
        "SIZE (B)  ALGBW (GB/s)  BUSBW (GB/s)  SAMPLES",
        "       8          1.00          1.75        1",
        "      16         26.00         45.50        1",
        "transport: IB",
        "Complete: JobSucceeded: Job succeeded"]


def test_a_log_cannot_drive_the_terminal(tmp_path: Path, capfd: Capture) -> None:
    path = tmp_path / "log"
    path.write_text("NCCL INFO Using network \x1b[2JIB\n" + row(8, wrong="3"))
    assert bandwidth(str(path)) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[2:4] == ["transport: \\x1b[2JIB", "rows with wrong values: 1"]


def test_thresholds_decide_the_exit_code(log: str, capfd: Capture) -> None:
    bus = ("--threshold", "busBandwidthGBps=value >= 45")
    assert bandwidth(log, *bus, "--threshold", "algBandwidthGBps=value > 20") == 0
    assert capfd.readouterr().err == ""
    assert bandwidth(log, *bus, "--threshold", "algBandwidthGBps=value > 26.0", "-o", "json") == 4
    shown = capfd.readouterr()
    assert shown.err == (f'distsim: {log}: Threshold "algBandwidthGBps" violated: measured 26.0000, '
                         "expression: value > 26.0\n")
    assert [one["passed"] for one in json.loads(shown.out)["thresholds"]] == [True, False]


def test_thresholds_fail_closed(log: str, tmp_path: Path, capfd: Capture) -> None:
    always = ("--threshold", "busBandwidthGBps=value >= 0.0")
    assert bandwidth(log, *always, "--job-status", "failed") == 4
    assert "not evaluated, so it fails: JobFailed: Job failed" in capfd.readouterr().err
    for name, text in (("empty", ""), ("old", old_row()), ("long", row(8) + "x" * 2**21)):
        path = tmp_path / name
        path.write_text(text)
        assert bandwidth(str(path)) == 0
        assert bandwidth(str(path), *always) == 4
        assert bandwidth(log, str(path), *always) == 4


def test_a_failed_job_keeps_its_results(log: str, capfd: Capture) -> None:
    assert bandwidth(log, "--job-status", "failed", "-o", "json") == 0
    status = json.loads(capfd.readouterr().out)
    assert len(status["results"]) == 2
    assert status["conditions"][1]["reason"] == "JobFailed"


def test_hints_are_warnings_and_stand_in_the_status(tmp_path: Path, capfd: Capture) -> None:
    path = tmp_path / "log"
    path.write_text("[1,0]<stdout>:" + row(8))
    assert bandwidth(str(path), "-o", "json") == 0
    shown = capfd.readouterr()
    hint = "profile nccl-bandwidth matches no line, but line 1 is a row that --profile nccl-bandwidth-tagged reads"
    assert shown.err == f"distsim: warning: {path}: {hint}\n"
    assert json.loads(shown.out)["hints"] == [hint]
    assert bandwidth(str(path), "--profile", "nccl-bandwidth-tagged", "-o", "json") == 0
    assert json.loads(capfd.readouterr().out)["results"][0]["busBW"] == "2.50"


def test_rotation_is_an_option(log: str, capfd: Capture) -> None:
    assert bandwidth(log, "--container-log-max-size", "10Mi") == 0
    assert capfd.readouterr().err == ""
    assert bandwidth(log, "--container-log-max-size", "100", "-o", "json") == 0
    assert "2 rows in rotated files are not counted" in capfd.readouterr().err


@pytest.mark.parametrize(("arguments", "line"), [
    (["/none.log"], "/none.log: cannot be read: No such file or directory"),
    (["/"], "/: cannot be read: Is a directory"),
    ([], "give a LOG, or a BandwidthMeasurement with -f"),
    (["-", "-"], "the standard input (-) can be read only once"),
    (["LOG", "--profile", "nccl"], "no log profile 'nccl'; there are nccl-bandwidth, nccl-bandwidth-tagged, "
                                   "nccl-bandwidth-old, or give a YAML file"),
    (["LOG", "--threshold", "busBandwidthGBps=value"],
     "--threshold busBandwidthGBps: 'value' gives double, not true or false"),
    (["LOG", "--measurement-timeout", "5"],
     "--measurement-timeout: '5' is not a Go duration such as 90s, 10m or 1h30m"),
    (["LOG", "--container-log-max-size", "10MB"],
     "--container-log-max-size: '10MB' is not a size such as 10Mi, 64Ki or 1000000 (at least 1 byte)"),
    (["LOG", "--prometheus", "/none/x.prom"], "/none/x.prom: cannot be written: No such file or directory"),
    (["-f", "/none.yaml"], "/none.yaml: no such file"),
    (["LOG", "-o", "xml"], "Invalid value for '-o' / '--output': 'xml' is not one of 'table', 'json', 'yaml'."),
    (["LOG", "--job-status", "running"],
     "Invalid value for '--job-status': 'running' is not one of 'succeeded', 'failed'."),
])
def test_errors_are_one_line(arguments: list[str], line: str, log: str, capfd: Capture) -> None:
    assert bandwidth(*(log if word == "LOG" else word for word in arguments)) == 2
    shown = capfd.readouterr().err.splitlines()
    assert shown[0] == f"distsim: error: {line}"
    assert len(shown) == 1 or shown[1:] == ["Try 'distsim bandwidth --help'."]


def test_gauges(log: str, tmp_path: Path, capfd: Capture) -> None:
    path = tmp_path / "bw.prom"
    assert bandwidth(log, "--prometheus", str(path), "--test-type", "all_reduce") == 0
    lines = path.read_text().splitlines()
    assert "# TYPE nvcre_nccl_busbw_gbs gauge" in lines
    labels = f'job="",measurement="{log}",message_size_bytes="16",namespace="",nccl_test="all_reduce",workflow=""'
    assert f"nvcre_nccl_busbw_gbs{{{labels}}} 45.5" in lines
    assert f"nvcre_nccl_algbw_gbs{{{labels}}} 26.0" in lines
    assert sum(not line.startswith("#") for line in lines) == 4


def manifest(tmp_path: Path, text: str = MANIFEST) -> str:
    path = tmp_path / "bw.yaml"
    path.write_text(text)
    return str(path)


def test_a_manifest_alone_is_checked(tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path)
    assert bandwidth("-f", path) == 0
    assert capfd.readouterr().out == f"{path}: valid; bw: job nccl-1, profile nccl-bandwidth, every 60s\n"


def test_a_manifest_with_a_log_gains_its_status(log: str, tmp_path: Path, capfd: Capture) -> None:
    prom = tmp_path / "bw.prom"
    assert bandwidth("-f", manifest(tmp_path), log, "-o", "yaml", "--prometheus", str(prom),
                     "--threshold", "busBandwidthGBps=value >= 45") == 0
    shown = yaml.safe_load(capfd.readouterr().out)
    assert {key: shown[key] for key in ("apiVersion", "kind", "metadata", "spec")} == yaml.safe_load(MANIFEST)
    assert shown["status"]["results"][1]["busBW"] == "45.50"
    assert ('nvcre_nccl_busbw_gbs{job="nccl-1",measurement="bw",message_size_bytes="16",namespace="team",'
            'nccl_test="all_reduce",workflow="nightly"} 45.5') in prom.read_text()


def test_a_profile_beside_the_manifest_or_in_its_file(log: str, tmp_path: Path, capfd: Capture) -> None:
    """The profile takes 35 and .15 of the time column 35.15 for bandwidths."""
    wanted = MANIFEST.replace("logProfileRef: nccl-bandwidth", "logProfileRef: own")
    profile = tmp_path / "own.yaml"
    profile.write_text(PROFILE.replace("NAME", "own").replace("[0-9]+) [0-9]+", "[0-9]+) +[0-9]+"))
    for arguments in (["-f", manifest(tmp_path, wanted), "--profile", str(profile)],
                      ["-f", manifest(tmp_path, f"{profile.read_text()}---\n{wanted}")]):
        assert bandwidth(*arguments, log, "-o", "json") == 0
        (one, two) = json.loads(capfd.readouterr().out)["status"]["results"]
        assert (one["algBW"], one["busBW"], two["sizeBytes"]) == ("35.00", "0.15", 16)
    assert bandwidth("-f", manifest(tmp_path), "--profile", str(profile), log) == 2
    assert capfd.readouterr().err == ("distsim: error: --profile: the profile is named 'own', spec.logProfileRef is "
                                      "'nccl-bandwidth'\n")


def test_a_profile_that_does_not_resolve_leaves_the_logs_unavailable(log: str, tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, MANIFEST.replace("logProfileRef: nccl-bandwidth", "logProfileRef: own"))
    assert bandwidth("-f", path, log, "-o", "json", "--threshold", "busBandwidthGBps=true") == 4
    assert json.loads(capfd.readouterr().out)["status"]["conditions"][1] == {
        "type": "Complete", "status": "True", "reason": "LogsUnavailable",
        "message": "Job succeeded but its log could not be read in full (getting LogProfile own: not found); no "
                   "bandwidth data was parsed"}


def test_the_timeout_of_the_job_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distsim.measure.run_manifest import load_measurement

    job = "---\nkind: Job\nmetadata: {name: nccl-1}\nspec: {measurementTimeout: 10m}\n"
    assert load_measurement(manifest(tmp_path, MANIFEST + job)).timeout_s == 600
    assert load_measurement(manifest(tmp_path, MANIFEST + job.replace("nccl-1", "nccl-2"))).timeout_s is None
    assert load_measurement(manifest(tmp_path)).timeout_s is None
    waited: list[float] = []
    monkeypatch.setattr("distsim.measure.run_manifest.measure", lambda *_, timeout_s, **__: waited.append(timeout_s))
    loaded = load_measurement(manifest(tmp_path, MANIFEST + job))
    loaded.run("log", job="succeeded", timeout_s=None, rotate_bytes=None)
    loaded.run("log", job="succeeded", timeout_s=200.0, rotate_bytes=None)
    assert waited == [600, 200]


@pytest.mark.parametrize(("text", "said"), [
    (MANIFEST.replace("  logProfileRef: nccl-bandwidth\n", ""), ":4: spec.logProfileRef: this key is required: name"),
    (MANIFEST.replace("testType", "testtype"),
     ":7: spec.testtype: unknown key 'testtype'; nearest valid name: testType"),
    (MANIFEST + "  sampleInterval: 60\n", ":8: spec.sampleInterval: 60 is not text"),
    (MANIFEST + "  sampleInterval: 0s\n", ":8: spec.sampleInterval: '0s' is out of range; valid: more than 0s"),
    (MANIFEST + "  sampleInterval: fast\n", ":8: spec.sampleInterval: 'fast' is not a Go duration"),
    (MANIFEST.replace(", name: nccl-1", ""), ":5: spec.jobRef.name: this key is required: name of the job"),
    (MANIFEST.replace("v1alpha1", "v1"), ":1: apiVersion: 'nvcre.nvidia.com/v1' is not valid; valid values: "),
    (MANIFEST + "---\n" + MANIFEST, ": holds 2 BandwidthMeasurement documents; one is wanted"),
    ("kind: LogProfile\n", ":1: apiVersion: this key is required"),
    ("kind: Pod\n", ": holds a Pod; valid kinds: BandwidthMeasurement, LogProfile, Job"),
    ("name: x\n", ":1: kind: this key is required: kind of document"),
    ("- a\n", ":1: kind: this key is required: kind of document"),
    ("", ": the file is empty"), ("a: [1\n", ":2: broken YAML"),
    (MANIFEST + "status: {conditions: [{type: Complete, status: 'True'}]}\n",
     ":8: status: the measurement is Complete, which is final; take its status out to measure again"),
    (MANIFEST + "---\nkind: Job\nmetadata: {name: nccl-1}\nspec: {measurementTimeout: soon}\n",
     ":11: spec.measurementTimeout: 'soon' is not a Go duration"),
])
def test_a_wrong_manifest(text: str, said: str, tmp_path: Path, capfd: Capture) -> None:
    path = manifest(tmp_path, text)
    assert bandwidth("-f", path) == 2
    assert capfd.readouterr().err.startswith(f"distsim: error: {path}{said}")


@pytest.mark.parametrize(("arguments", "line"), [
    (["LOG", "LOG"], "a BandwidthMeasurement is run against one LOG"),
    (["--threshold", "busBandwidthGBps=true"], "without a LOG there is nothing to evaluate or to write"),
    (["LOG", "--test-type", "x"], "--test-type is spec.testType of the file given by -f"),
])
def test_wrong_use_of_a_manifest(arguments: list[str], line: str, log: str, tmp_path: Path, capfd: Capture) -> None:
    assert bandwidth("-f", manifest(tmp_path), *(log if word == "LOG" else word for word in arguments)) == 2
    assert capfd.readouterr().err.splitlines()[0] == f"distsim: error: {line}"


def streamed(size_bytes: int) -> tuple[int, int, int]:
    """Feed a log of that size to the standard input: exit code, samples, most memory of the process in KiB."""
    noise = (b"2026-08-06T14:10:21.110326865-07:00 node-1:530:530 [0] NCCL INFO Channel " + b"01/" * 900 + b"\n") * 20
    block = noise + row(8).encode()
    program = ("import sys; from distsim.cli import run_cli; "
               "code = run_cli(['bandwidth', '-', '-o', 'json']); "
               "peak = open('/proc/self/status').read().split('VmHWM:')[1].split()[0]; "  # not ru_maxrss: the parent's
               "print(code, peak, file=sys.stderr)")
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdin is not None
    for _ in range(size_bytes // len(block)):
        process.stdin.write(block)
    out, err = process.communicate()
    code, memory = map(int, err.split())
    return code, json.loads(out)["results"][0]["samples"], memory


def test_a_log_of_50_mb_is_streamed() -> None:
    """Blocks of 20 lines of 2,774 bytes and a row of 119."""
    code, samples, memory_kib = streamed(50_000_000)
    assert (code, samples) == (0, 50_000_000 // (20 * 2774 + 119))
    assert memory_kib < 120_000


@pytest.mark.slow
def test_a_log_of_2_gb_is_streamed_in_the_same_memory() -> None:
    code, _, memory_kib = streamed(2_000_000_000)
    assert code == 0
    assert memory_kib < 120_000


def test_measuring_needs_no_engine_and_help_nothing_at_all(log: str) -> None:
    program = ("import sys; from distsim.cli import run_cli; code = run_cli(sys.argv[1:]); "
               "names = ('numba', 'numpy', 'polars', 'mpi4py', 'celpy', 'prometheus_client', 're2', 'pydantic'); "
               "print(code, [m for m in names if m in sys.modules], [m for m in sys.modules if m in "
               "('distsim.engine', 'distsim.kernels', 'distsim.state')])")

    def loaded(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-c", program, "bandwidth", *arguments], capture_output=True, text=True,
                              check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
        return done.stdout.splitlines()[-1]

    assert loaded("--help") == "0 [] []"
    assert loaded(log) == "0 ['re2', 'pydantic'] []"
