"""The examples of distsim/scheduler/using.md, run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from distsim.cli.entry import run_cli

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "distsim/scheduler/using.md").read_text()
FILES = re.findall(r"^```(?:json|yaml) (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```console\n\$ distsim (.*?)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_there_are_examples() -> None:
    assert [name for name, _ in FILES] == ["tors.json", "large.yaml", "levels.yaml", "pairs.yaml"]
    assert len(COMMANDS) == 3


@pytest.mark.parametrize(("command", "output"), COMMANDS, ids=range(len(COMMANDS)))
def test_the_output_is_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str], command: str, output: str) -> None:
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    (tmp_path / "superpods.yaml").write_text((ROOT / "configs/superpods.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    code = run_cli(shlex.split(command))
    assert capsys.readouterr() == (output, "")
    assert code == (3 if "pending" in output.splitlines()[1] else 0)
