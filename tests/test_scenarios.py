"""Behaviour as a whole: every number of the scripted scenarios (launch/scenarios.py) is what its docstring derives."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

LAUNCH = Path(__file__).resolve().parent.parent / "launch"
NAMES = ("lanes", "nic-pause", "lossless-incast", "failed-link", "quick-adapt", "flowlets")


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """launch/scenarios.py as a module; the path that it adds for its parts goes again."""
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("scenarios", LAUNCH / "scenarios.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


def test_every_scenario_is_tested(script: ModuleType) -> None:
    assert tuple(script.SCENARIOS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_numbers(script: ModuleType, name: str, tmp_path: Path) -> None:
    result = script.SCENARIOS[name](tmp_path)
    assert [number for number in result.numbers if not number.holds] == []
    assert all(len(time) == len(values) > 0 for panel in result.panels for time, values in panel.curves.values())


def test_a_number_that_does_not_hold_is_said(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    number = sys.modules["scenario_kit"].Number("packets lost", 3.0, 0.0, 0.0)

    def wrong(directory: Path) -> object:
        """Wrong on purpose."""
        return script.Result((number,), ())

    monkeypatch.setitem(script.SCENARIOS, "flowlets", wrong)
    monkeypatch.setattr(sys, "argv", ["scenarios.py", "flowlets", "--no-plots", "-o", str(tmp_path)])
    assert script.main() == 1
    said = capsys.readouterr()
    assert "packets lost             3   NOT as expected: 0" in said.out
    assert "not as expected: flowlets" in said.err


def test_without_matplotlib_the_numbers_are_printed(script: ModuleType, monkeypatch: pytest.MonkeyPatch,
                                                    tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(script, "has_matplotlib", lambda: False)
    monkeypatch.setattr(sys, "argv", ["scenarios.py", "flowlets", "-o", str(tmp_path)])
    assert script.main() == 0
    said = capsys.readouterr()
    assert "pip install matplotlib" in said.err
    assert "none over flowlet" in said.out
    assert list(tmp_path.glob("*.png")) == []
