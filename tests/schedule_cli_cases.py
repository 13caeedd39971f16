"""Files for the tests of `distsim schedule`, and a way to run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distsim.cli.entry import run_cli

SUPERPODS = str(Path(__file__).parents[1] / "configs" / "superpods.yaml")
CHIP = "huawei.com/Ascend910"


def job_text(name: str = "job", pods: int = 2, chips: int = 8, labels: str = "", annotations: str = "", spec: str = "",
             pod: str = "") -> str:
    """A VolcanoJob whose gang is all of its pods. labels, annotations : in flow style; spec, pod : lines."""
    return (f"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {name}, labels: {{{labels}}}, "
            f"annotations: {{{annotations}}}}}\nspec:\n{spec}  minAvailable: {pods}\n  tasks:\n"
            f"    - name: worker\n      replicas: {pods}\n      template:\n        spec:\n{pod}          containers:\n"
            f"            - {{name: c, image: trainer, resources: {{requests: {{{CHIP}: {chips}}}}}}}\n")


def tor_json(tors: int = 4, per_tor: int = 4) -> str:
    """A basic-tor-node-cm: node 10.0.0.{per_tor * t + s} hangs off switch t as slice s, with 8 chips."""
    return json.dumps({"version": "1.0", "tor_count": per_tor, "server_list": [
        {"tor_id": t, "tor_ip": f"10.1.0.{t}", "server": [
            {"server_ip": f"10.0.0.{per_tor * t + s}", "npu_count": 8, "slice_id": s} for s in range(per_tor)]}
        for t in range(tors)]})


def address(numbers: list[int]) -> list[str]:
    """Names of the nodes of `tor_json` by number."""
    return [f"10.0.0.{number}" for number in numbers]


def write(folder: Path, **texts: str) -> dict[str, str]:
    """Files of these texts, .yaml each; their paths by name."""
    paths = {name: folder / f"{name}.yaml" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    return {name: str(path) for name, path in paths.items()}


def schedule(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and error output of `distsim schedule`."""
    code = run_cli(["schedule", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The report as JSON."""
    _, out, err = schedule(capsys, *arguments, "--report", "json")
    assert out, err
    found: dict[str, Any] = json.loads(out)
    return found
