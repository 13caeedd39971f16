"""Attributes of the plug-in: a process can have one plug-in file, so each file has a child, of plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attribute_cases import MONITOR_ONLY, PLUGIN

# A window of plug_a packets that stays, and one entropy value, plug_b.
HOOKS = """
def start(g, par, now_ps):
    g.cwnd_bytes = {factor} * par.plug_a * par.mtu_bytes

def on_ack(g, par, newly_bytes, marked, rtt_ps, penalty, restore, now_ps):
    return False

def on_nack(g, par, nominal_bytes, rtt_ps, now_ps):
    return False

def on_timeout(g, par, nominal_bytes):
    pass

def offer_rtt(g, par, rtt_ps):
    pass

def spray_start(g, par):
    pass

def spray_pick(g, par):
    return int(par.plug_b)

def spray_feedback(g, par, entropy, good):
    pass
"""
PROGRAM = """
import json, sys
from attribute_cases import run
found = {}
for name, changes in json.loads(sys.argv[1]).items():
    frame = run("one", changes).frame("uet-monitor")
    frame = frame.filter((frame["packet_type"] == "RUD_REQUEST") & (frame["FEP_ID"] == 0))
    found[name] = [sorted(set(frame[column].to_list())) for column in ("congestion_window", "entropy_value")]
print(json.dumps(found))
"""
BASE = {"File": "one.py", "CongestionControl": True, "Spraying": True, "Parameters": [4, 777, 0, 0]}
TABLE: dict[str, dict[str, Any]] = {
    PLUGIN + "File": {"File": "other.py"},
    PLUGIN + "CongestionControl": {"CongestionControl": False},
    PLUGIN + "Spraying": {"Spraying": False},
    PLUGIN + "Parameters": {"Parameters": [8, 888, 0, 0]},
}
PACKET = 4184.0
PORTS = list(range(256, 256 + 49))           # what Default Packet Spraying takes for 49 packets


def child(folder: Path, cases: dict[str, dict[str, Any]]) -> dict[str, list[list[float]]]:
    """By case: the windows and the entropy values that the data packets of NIC 0 went with."""
    wanted = {name: {**MONITOR_ONLY, **{PLUGIN + key: value for key, value in {**BASE, **changes}.items()}}
              for name, changes in cases.items()}
    for settings in wanted.values():
        settings[PLUGIN + "File"] = str(folder / settings[PLUGIN + "File"])
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(wanted)], capture_output=True, text=True,
                          cwd=Path(__file__).parent, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert done.returncode == 0, done.stderr
    found: dict[str, list[list[float]]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[float]]]:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "one.py").write_text(HOOKS.format(factor=1))
    (folder / "other.py").write_text(HOOKS.format(factor=2))
    same = {path: changes for path, changes in TABLE.items() if "File" not in changes}
    return child(folder, {"base": {}, **same}) | child(folder, {PLUGIN + "File": TABLE[PLUGIN + "File"]})


def test_plug_in(outcomes: dict[str, list[list[float]]]) -> None:
    assert outcomes["base"] == [[4 * PACKET], [777]]
    assert outcomes[PLUGIN + "File"] == [[8 * PACKET], [777]]
    assert outcomes[PLUGIN + "Parameters"] == [[8 * PACKET], [888]]
    assert outcomes[PLUGIN + "Spraying"] == [[4 * PACKET], PORTS]
    windows, values = outcomes[PLUGIN + "CongestionControl"]
    assert max(windows) == 450_000 and values == [777]      # NSCC starts with 1.5 bandwidth-delay products
