"""`distsim serve`: what is wrong is said in one line, exit code 2; Ctrl-C ends it well."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest
import server_cases as cases

from distsim.server import serve
from distsim.server.auth import host_name, is_loopback


def command(*arguments, token=""):
    return subprocess.run([sys.executable, "-m", "distsim", "serve", *map(str, arguments)], capture_output=True,
                          text=True, timeout=60, env={"PATH": "/usr/bin:/bin", "DISTSIM_API_TOKEN": token})


def refused(done, *said):
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("distsim: error: "), done.stderr
    for text in said:
        assert text in done.stderr, done.stderr


def test_a_directory_that_is_not_there(tmp_path):
    refused(command(tmp_path / "none"), "no such directory", f"mkdir -p {tmp_path / 'none'}")
    (tmp_path / "file").write_text("")
    refused(command(tmp_path / "file"), "is not a directory")


def test_a_port_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(command(tmp_path, "--port", port), f"127.0.0.1:{port}", "Address already in use", "choose another")


def test_a_host_that_is_none(tmp_path):
    refused(command(tmp_path, "--host", "no.such.host.invalid"), "--host", "no.such.host.invalid")
    refused(command(tmp_path, "--host", "203.0.113.7", "--port", 0, token="t"), "--host", "203.0.113.7")
    assert "0<=x<=65535" in command(tmp_path, "--port", "70000").stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_a_token(tmp_path, host):
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"cannot listen on {host} here")
    refused(command(tmp_path, "--host", host, "--port", 0), "DISTSIM_API_TOKEN")
    with cases.Server(tmp_path, "--host", host, token=cases.TOKEN) as server:
        port = server.url.rpartition(":")[2]
        at = f"http://[::1]:{port}" if ":" in host else f"http://127.0.0.1:{port}"
        assert server.client.get(f"{at}/api/v1/simulations").status_code == 200
        assert server.client.get(f"{at}/api/v1/simulations", headers={"Authorization": "x"}).status_code == 401


def test_one_server_a_directory(tmp_path):
    with cases.Server(tmp_path) as server:
        refused(command(tmp_path, "--port", 0), "another server has this directory", str(server.child.pid))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_well(tmp_path, number):
    server = cases.Server(tmp_path)
    assert server.client.get("/healthz").status_code == 200
    assert server.end(number) == 0


def test_a_directory_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / ".distsim-server").write_text("")
    refused(command(tmp_path, "--port", 0), ".distsim-server")


def test_the_command_costs_no_server_until_it_runs():
    program = ("import sys, distsim.cli.serve_command\n"
               "print([name for name in ('fastapi', 'uvicorn', 'polars') if name in sys.modules])")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_names_of_this_machine():
    assert [host_name(text) for text in ("a:1", "[::1]:2", "[::1]", "::1", "LOCALHOST", "1.2.3.4")] == [
        "a", "::1", "::1", "::1", "localhost", "1.2.3.4"]
    assert [is_loopback(text) for text in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "10.0.0.1", "x", "")] == [
        True, True, True, False, False, False, False]
    with serve.bound("localhost", 0) as listening:
        assert is_loopback(listening.getsockname()[0])
