"""A user's congestion control or spraying: where its file is, and what it must define."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from distsim.config import Config, from_dict, load
from distsim.config.plugin_file import CONGESTION_CONTROL, SPRAYING
from distsim.errors import InputError

BASE: dict[str, Any] = {"simulation": "t1", "fabric": {"kind": "leaf-spine"}, "workload": {"kind": "permutation"}}
PLACE = "nic.TransportProcessingLayers.Plugin."
CONFIGS = Path(__file__).parents[1] / "configs"


def source(hooks: dict[str, tuple[str, ...]]) -> str:
    return "".join(f"def {name}({', '.join(parameters)}):\n    return 0\n\n" for name, parameters in hooks.items())


def config(folder: Path, nic: dict[str, Any], *sets: str, **more: Any) -> Config:
    return from_dict({**BASE, "nic": {"TransportProcessingLayers": {"Plugin": nic}}, **more}, sets, folder=folder)


def problem(*args: Any, **more: Any) -> str:
    with pytest.raises(InputError) as caught:
        config(*args, **more)
    assert len(getattr(caught.value, "problems", [0])) == 1
    return f"{caught.value.where}: {caught.value.message}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "both.py").write_text(source({**CONGESTION_CONTROL, **SPRAYING}))
    (tmp_path / "spray.py").write_text(source(SPRAYING))
    return tmp_path


def test_none_by_default(folder: Path) -> None:
    assert config(folder, {}).plugin_file is None
    assert config(folder, {"File": "both.py"}).plugin_file is None          # named, not used


def test_the_file_is_found_from_the_configuration_s_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = config(folder, {"File": "spray.py", "Spraying": True, "Parameters": [1, -0.5, 0, 0]})
    assert made.plugin_file == str(folder / "spray.py")
    assert made.nic.TransportProcessingLayers.Plugin.Parameters == (1.0, -0.5, 0.0, 0.0)
    (folder / "c.yaml").write_text(yaml.safe_dump({**BASE, "nic_overrides": [{"racks": [1], "set": {
        "TransportProcessingLayers": {"Plugin": {"File": "both.py", "CongestionControl": True}}}}]}))
    assert load(folder / "c.yaml").plugin_file == str(folder / "both.py")
    monkeypatch.chdir(folder)
    assert config(Path("/"), {"Spraying": True}, PLACE + "File=spray.py").plugin_file == str(folder / "spray.py")


def test_the_digest_counts_the_content(folder: Path) -> None:
    plugin = {"File": "spray.py", "Spraying": True}
    before = config(folder, plugin).digest()
    assert config(folder, {**plugin, "File": str(folder / "spray.py")}).digest() == before
    (folder / "spray.py").write_text("# changed\n" + source(SPRAYING))
    assert config(folder, plugin).digest() != before


def test_what_is_refused(folder: Path) -> None:
    file = PLACE + "File"
    assert problem(folder, {"Spraying": True}) == (
        f"{file}: CongestionControl or Spraying is true; name the Python file that has the hooks")
    assert problem(folder, {"File": "none.py"}) == f"{file}: {folder}/none.py: no such file"
    with pytest.raises(InputError) as caught:
        config(folder, {"File": "spray.py", "CongestionControl": True})
    assert len(getattr(caught.value, "problems", [])) == len(CONGESTION_CONTROL) == 5
    (folder / "bad.py").write_text("x = 1\ndef spray_start(:\n")
    assert problem(folder, {"File": "bad.py", "Spraying": True}) == (
        f"{file}: {folder}/bad.py:2: not Python: invalid syntax")
    assert problem(folder, {"Parameters": [1, 2]}) == (
        f"{PLACE}Parameters: [1, 2] is not a list of 4 numbers, e.g. [0.5, 0, 0, 0]")


@pytest.mark.parametrize("name", [*CONGESTION_CONTROL, *SPRAYING])
def test_every_hook_is_needed_with_its_arguments(folder: Path, name: str) -> None:
    hooks = {**CONGESTION_CONTROL, **SPRAYING}
    signature = f"{name}({', '.join(hooks[name])})"
    plugin = {"File": "mine.py", "CongestionControl": True, "Spraying": True}
    (folder / "mine.py").write_text(source({other: hooks[other] for other in hooks if other != name}))
    message = problem(folder, plugin)
    assert message == f"{PLACE}File: {folder}/mine.py: has no function {signature}"
    count = len(hooks[name])
    (folder / "mine.py").write_text(source({**hooks, name: (*hooks[name], "more")}))
    assert f": {name} must take {count} arguments: {signature}" in problem(folder, plugin)
    (folder / "mine.py").write_text(source({**hooks, name: (*hooks[name], "*more")}))
    assert f": {name} must take {count} arguments: {signature}" in problem(folder, plugin)


def test_one_file_a_configuration(folder: Path) -> None:
    def override(file: str) -> dict[str, Any]:
        return {"racks": [1], "set": {"TransportProcessingLayers": {"Plugin": {"File": file, "Spraying": True}}}}

    config(folder, {"File": "spray.py", "Spraying": True}, nic_overrides=[override("spray.py")])
    with pytest.raises(InputError, match=r"nic_overrides\.1\.set\.TransportProcessingLayers\.Plugin\.File: .*both\.py: "
                                         r"a configuration has one plug-in file, and .*spray\.py is already named"):
        config(folder, {}, nic_overrides=[override("spray.py"), override("both.py")])


def run(hooks: dict[str, Any], name: str, *args: Any) -> Any:
    return hooks[name](*args)


class Row:
    """A GROUP or NICPAR row in plain Python."""

    def __init__(self, **fields: float):
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a plug-in may not use {name}")


def test_the_shipped_example() -> None:
    """AIMD by hand: 100,000 B + 4,184 x 4,184 / 100,000 = 100,175.06 B; a mark halves it, once a round trip."""
    text = (CONFIGS / "my_spraying.py").read_text()
    hooks: dict[str, Any] = {}
    exec(compile(text, "my_spraying.py", "exec"), hooks)
    par = Row(mtu_bytes=4184.0, max_window_bytes=450_000.0, base_rtt_ps=6_000_000, plug_a=1.0, plug_b=0.5)
    g = Row(cwnd_bytes=0.0, dst=5, incarnation=0, state_b=0.0, state_c=0, state_d=0)
    run(hooks, "start", g, par, 1_000)
    assert g.cwnd_bytes == 450_000
    g.cwnd_bytes = 100_000.0
    assert run(hooks, "on_ack", g, par, 4184, False, 1, 0, False, 2_000) is False
    assert g.cwnd_bytes == pytest.approx(100_175.05856)
    run(hooks, "on_ack", g, par, 4184, True, -1, 0, False, 6_001_000)
    assert g.cwnd_bytes == pytest.approx(100_175.05856)           # less than a round trip after the start
    run(hooks, "on_ack", g, par, 4184, True, -1, 0, False, 6_001_001)
    assert g.cwnd_bytes == pytest.approx(50_087.52928)
    run(hooks, "on_nack", g, par, 4184, -1, 7_000_000)
    assert g.cwnd_bytes == pytest.approx(45_903.52928)
    run(hooks, "on_timeout", g, par, 4184)
    assert g.cwnd_bytes == 4184
    run(hooks, "offer_rtt", g, par, 1)
    run(hooks, "spray_start", g, par)
    seen = [run(hooks, "spray_pick", g, par) for _ in range(2000)]
    assert min(seen) >= 0 and max(seen) <= 65_535 and len(set(seen)) > 1900
    state = g.state_d
    bad = run(hooks, "spray_pick", g, par)
    g.state_d = state
    run(hooks, "spray_feedback", g, par, bad, 1)
    run(hooks, "spray_feedback", g, par, bad, 0)
    assert run(hooks, "spray_pick", g, par) == (bad + 1) & 0xFFFF


def test_the_shipped_configurations_are_valid() -> None:
    runs = [path for path in sorted(CONFIGS.glob("*.yaml")) if "\nsimulation:" in path.read_text()]
    assert len(runs) > 10                         # the others are clusters
    for path in runs:
        assert load(path).simulation == path.stem
    assert load(CONFIGS / "plugin.yaml").plugin_file == str(CONFIGS / "my_spraying.py")
