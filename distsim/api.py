"""Running simulations and reading their records from Python, a notebook for instance.

    import distsim
    run = distsim.run("configs/quickstart.yaml", "out", ranks=2)
    run.frame("perf"), run.summary(), run.info["status"]
    old = distsim.open("out")                 # lazy frames: old.frame("perf").collect(); also of a run that goes on
    old.summary("nd-stats"), old.series("nd-stats", tier="rack"), old.plot.completion_cdf()
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import EXIT_INPUT, EXIT_OK, EXIT_UNFINISHED, InputError, RunError

if TYPE_CHECKING:
    import polars as pl

    from distsim.results import Run as OpenedRun

ConfigSource = str | os.PathLike[str] | Mapping[str, Any]
Overrides = Mapping[str, Any] | Sequence[str]

PATIENCE_S = 10.0  # for a child that was interrupted


class Frames(Mapping[str, "pl.DataFrame"]):
    """The records of a run by name; each is read when it is first asked for."""

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        self._directory, self._names = directory, list(names)
        self._frames: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._names:
            raise KeyError(f"no {name!r} record; this run has {', '.join(self._names) or 'none'}")
        if name not in self._frames:
            from distsim.records import read_record

            self._frames[name] = read_record(self._directory, name)
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Run:
    """A run that `run` made.

    path : its directory. info : its run.json. exit_code : as the command's: 0 all flows finished, 3 some did not,
    130 interrupted, 1 failed. records : record name -> polars frame of all shards, read on first use.
    lines : the final table as text. results : the same run as `open` gives it, with series, plots and lazy frames.
    """

    def __init__(self, path: Path, info: dict[str, Any], exit_code: int, lines: Sequence[str] = ()) -> None:
        from distsim.records.files import record_files

        self.path, self.info, self.exit_code, self.lines = path, info, exit_code, list(lines)
        self.records = Frames(path, list(dict.fromkeys(file.record for file in record_files(path))))

    def frame(self, name: str) -> pl.DataFrame:
        """A record as a frame, shards one after the other; KeyError for one that this run has not."""
        return self.records[name]

    def lazy(self, name: str) -> pl.LazyFrame:
        """A record as a lazy frame, for records larger than memory."""
        from distsim.records.merge import scan_record

        return scan_record(self.path, name)

    @property
    def results(self) -> OpenedRun:
        """What `open` gives for this run's directory."""
        return open(self.path)

    @property
    def plot(self) -> Any:
        """Plots of the run: ``run.plot.completion_cdf()``."""
        return self.results.plot

    def summary(self, record: str | None = None, tier: int | str | None = None) -> Any:
        """Completion times (us), goodput (Gb/s) and flows, from the perf record, as a dict; of another record the
        figures of each of its columns, as a frame. See `distsim.results.Run.summary`."""
        found = self.results.summary(record, tier)
        return found if record is not None else {**found, "status": self.info.get("status")}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self.info.get('status')}, records: {', '.join(self.records) or 'none'})"


def open(path: str | os.PathLike[str]) -> OpenedRun:
    """The run that stands at a path, its directory or its run.json, also one that still goes on; InputError when there
    is none. Its frames are lazy: ``open("out").frame("perf").collect()``."""
    from distsim.results import open_run

    return open_run(path)


def run(config: ConfigSource, output: str | os.PathLike[str] | None = None, *, ranks: int = 1, seed: int | None = None,
        set: Overrides = (), overwrite: bool = False, yes: bool = False) -> Run:
    """Runs a configuration and waits for its end.

    config : path of a YAML file, or the same as a mapping (relative paths in it count from the working directory).
    output : directory for the records, created if need be; None makes a new temporary one, which is kept.
    ranks : 1 runs in this process; more start that many processes under mpirun, like ``distsim run --ranks``.
    seed, set : replace the seed, and single values: ``{"workload.size": "1MB"}`` or ``["workload.size=1MB"]``, as
    ``--seed`` and ``--set`` do.
    overwrite : replace a run that stands in `output`. yes : run however long it is projected to take.

    Raises InputError for a configuration or directory that cannot be used, RunError when the run breaks off. A run
    that ends with unfinished flows is returned, with exit code 3.
    """
    from distsim.config import from_dict, load

    if ranks < 1:
        raise InputError(f"ranks={ranks} is not a number of processes (1 or more)")
    changes = _assignments(set) + ([] if seed is None else [f"seed={seed}"])
    # Several ranks read the configuration again; it is checked here for the sake of the error.
    checked = from_dict(config, changes) if isinstance(config, Mapping) else load(os.fspath(config), changes)
    directory = Path(output) if output is not None else Path(tempfile.mkdtemp(prefix="distsim-"))
    if ranks == 1:
        return _run_here(checked, directory, overwrite, yes)
    with _ConfigFile(config) as path:
        return _run_ranks(child_command(path, directory, ranks, changes, overwrite, yes), directory, ranks)


class _ConfigFile:
    """A configuration as a file: the given one, or a mapping written to a hidden file of the working directory."""

    def __init__(self, config: ConfigSource) -> None:
        self._config = config
        self._written: str | None = None

    def __enter__(self) -> str:
        if not isinstance(self._config, Mapping):
            return os.fspath(self._config)
        import yaml

        text = yaml.safe_dump(dict(self._config), sort_keys=False)
        with tempfile.NamedTemporaryFile("w", dir=".", prefix=".distsim-", suffix=".yaml", delete=False) as file:
            self._written = file.name
            file.write(text)
        return self._written

    def __exit__(self, *exception: object) -> None:
        if self._written is not None:
            os.unlink(self._written)


def _assignments(overrides: Overrides) -> list[str]:
    """``path=value`` strings, values spelled as YAML."""
    if not isinstance(overrides, Mapping):
        return [overrides] if isinstance(overrides, str) else list(overrides)
    return [f"{path}={_yaml_value(value)}" for path, value in overrides.items()]


def _yaml_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    import yaml

    return str(yaml.safe_dump(value, default_flow_style=True, width=2**31)).removesuffix("\n...\n").strip()


def _run_here(config: Any, directory: Path, overwrite: bool, yes: bool) -> Run:
    from distsim.engine import run_config
    from distsim.limits import Limits

    result = run_config(config, directory, ranks_expected=1, quiet=True, overwrite=overwrite, limits=Limits(yes=yes))
    return Run(directory, result.info, result.exit_code, result.lines)


def _run_ranks(command: Sequence[str], directory: Path, ranks: int) -> Run:
    code, table, errors = _wait_for(command)
    if code in (EXIT_OK, EXIT_UNFINISHED):
        return Run(directory, open(directory).info, code, table.splitlines())
    said = errors.strip() or "it said nothing"
    if code == EXIT_INPUT:
        raise InputError(said)
    raise RunError(f"the run on {ranks} ranks ended with exit code {code}: {said}")


def _wait_for(command: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a child; Ctrl-C is passed on to it, so that it closes its files."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            table, errors = child.communicate()
        except BaseException:
            child.send_signal(signal.SIGINT)
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
    return child.returncode, table, errors


def child_command(path: str, directory: Path, ranks: int, assignments: Sequence[str], overwrite: bool,
                  yes: bool = False) -> list[str]:
    """The command line that runs a configuration on several ranks."""
    command = [sys.executable, "-m", "distsim", "run", path, "-o", str(directory), "--ranks", str(ranks), "--quiet"]
    for assignment in assignments:
        command += ["--set", assignment]
    return [*command, *["--overwrite"] * overwrite, *["--yes"] * yes]
