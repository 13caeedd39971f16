"""`distsim bandwidth`: what is printed, exit codes, manifests, gauges, memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml
from measure_cases import HEADER, old_row, row

from distsim.cli import run_cli

ROOT = Path(__file__).parents[1]
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


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "distsim", "bandwidth", *arguments], stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, **options)


def scraped(url: str, wanted: str) -> bool:
    """Whether the gauges come to hold a line within 20 s."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with urllib.request.urlopen(url, timeout=10) as answer:
            if wanted in answer.read().decode().splitlines():
                return True
        time.sleep(0.05)
    return False


def test_gauges_are_served_while_a_log_is_read_and_after_it() -> None:
    """The pipe stays open after the first row, whose provisional results are there; an interrupt ends the command."""
    process = start("-", "--metrics-port", "0", "--test-type", "alltoall", "--threshold", "busBandwidthGBps=value > 4",
                    "-o", "json", stdin=subprocess.PIPE)
    assert process.stdin and process.stderr and process.stdout
    said = process.stderr.readline()
    assert said.startswith("distsim: gauges at http://127.0.0.1:") and said.endswith("/metrics until interrupted\n")
    url = said.split()[3]
    labels = 'job="",measurement="-",message_size_bytes="8",namespace="",nccl_test="alltoall",workflow=""'
    process.stdin.write(row(8, "1.00", "2.00"))
    process.stdin.flush()
    assert scraped(url, f"nvcre_nccl_busbw_gbs{{{labels}}} 2.0")
    process.stdin.write(row(8, "1.00", "4.00"))
    process.stdin.close()
    process.stdin = None
    assert scraped(url, f"nvcre_nccl_busbw_gbs{{{labels}}} 3.0")
    out = "".join(iter(process.stdout.readline, "}\n")) + "}"
    assert json.loads(out)["results"][0]["samples"] == 2
    assert "violated: measured 3.0000" in process.stderr.readline()
    time.sleep(0.3)  # from its last line to its waiting
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 4


@pytest.mark.parametrize("address", ["x", "-1", "65536", ":9400", "localhost:", "1.5", "\u0663"])
def test_what_is_no_address_for_gauges(address: str, log: str, capfd: Capture) -> None:
    assert bandwidth(log, "--metrics-port", address) == 2
    assert capfd.readouterr().err == (f"distsim: error: --metrics-port: {address!r} is not [HOST:]PORT, e.g. 9400 or "
                                      "0.0.0.0:9400 (port 0 to 65535)\n")


# What other output may stand in a log: bytes that are no text, zeros, colours, carriage returns, and long lines.
NOISE = (b"2026-08-06T14:10:21.110326865-07:00 node-1:530:530 [0] NCCL INFO Channel " + b"01/" * 900 + b"\n") * 20 + (
    b"\x00\x00\xff\xfe garbage \x00\n\x1b[32mgreen\x1b[0m\r\n\r\n")
BLOCK = NOISE + row(8).replace("\n", "\r\n").encode()
MEASURE = ("import sys; from distsim.cli import run_cli; "
           "code = run_cli(['bandwidth', sys.argv[1], '-o', 'json']); "
           "peak = open('/proc/self/status').read().split('VmHWM:')[1].split()[0]; "  # not ru_maxrss: the parent's
           "print(code, peak, file=sys.stderr)")


def streamed(log: str, blocks: int = 0) -> tuple[int, int, int]:
    """Measure a log, or so many blocks by the standard input: exit code, samples, most memory in KiB."""
    process = subprocess.Popen([sys.executable, "-c", MEASURE, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert process.stdin is not None
    for _ in range(blocks):
        process.stdin.write(BLOCK)
    out, err = process.communicate()
    code, memory = map(int, err.split())
    return code, json.loads(out)["results"][0]["samples"], memory


def test_a_file_of_50_mb_needs_the_memory_of_a_small_one(tmp_path: Path) -> None:
    """Its last row ends without a newline. 8 MB more at most: pieces of 256 KiB, and what the allocator keeps."""
    blocks = 50_000_000 // len(BLOCK)
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(BLOCK)
    with large.open("wb") as file:
        for _ in range(blocks):
            file.write(BLOCK)
        file.write(row(8).rstrip("\n").encode())
    code, samples, least_kib = streamed(str(small))
    assert (code, samples) == (0, 1)
    code, samples, memory_kib = streamed(str(large))
    assert (code, samples) == (0, blocks + 1)
    assert memory_kib < least_kib + 8_000


@pytest.mark.slow
def test_a_log_of_2_gb_is_streamed_in_the_same_memory() -> None:
    """By a pipe, so that nothing is written to the disk."""
    least_kib = streamed("-", 1)[2]
    code, samples, memory_kib = streamed("-", 2_000_000_000 // len(BLOCK))
    assert (code, samples) == (0, 2_000_000_000 // len(BLOCK))
    assert memory_kib < least_kib + 8_000


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
