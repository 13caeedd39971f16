"""Plots as figures: axes, files, colours; and as a command, in a notebook, where something is missing."""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import polars as pl
import pytest
from plot_cases import shipped_runs  # noqa: F401

import distsim.results
from distsim.cli.entry import run_cli
from distsim.errors import InputError
from distsim.results import open_run
from distsim.results.plots import PLOTS, Choice, NotInRun, plot_named, plots_of
from distsim.results.plots.style import HEAT, PALETTE, size_text

DRAWN_OF = {"completion-cdf": "features", "bandwidth": "nccl-tests64", "utilisation": "features",
            "port-heatmap": "features", "windows": "features", "bottlenecks": "features", "losses": "faults"}


def data(run, name, **choice):
    return plot_named(name).data_of(run, Choice(**choice))


@pytest.mark.parametrize("name, record, switch", [
    ("completion-cdf", "perf", "it is always written"),
    ("utilisation", "nd-stats", "SimulationParameters.EnableNetDeviceStatLogging: true turns it on"),
    ("bottlenecks", "nd-stats", "SimulationParameters.EnableNetDeviceStatLogging: true turns it on"),
    ("windows", "uet-transport-stats", "EnableTransportStats: true, an attribute of the NIC, turns it on"),
    ("port-heatmap", "scala-switch-agg-buff-stats", "SimulationParameters.EnableSwitchBufferStats: true turns it on"),
    ("bandwidth", "launcher's log", "workloads of kind nccl-tests, collective, chakra or simai have"),
    ("losses", "faults", "a section `faults` in the configuration makes links lose")])
def test_a_plot_without_its_record_says_which_and_what_turns_it_on(shipped, tmp_path, name, record, switch):
    run = shipped("features")
    (tmp_path / "features-run.json").write_text((run.directory / "features-run.json").read_text())
    with pytest.raises(NotInRun) as error:
        data(open_run(tmp_path), name)
    assert name in str(error.value) and record in str(error.value) and switch in str(error.value)
    assert "\n" not in str(error.value) and error.value.exit_code == 2


def test_a_record_without_rows_is_said_to_have_none(shipped):
    with pytest.raises(NotInRun, match="record perf has no rows"):
        data(shipped("training16"), "completion-cdf")


@pytest.mark.parametrize("name, choice, said", [
    ("windows", {"nodes": ("NIC-99",)}, "no node 'NIC-99' in this record; there are NIC-0, NIC-1"),
    ("windows", {"flows": ("32.0.0.9:77",)}, "no packets of the chosen flows"),
    ("losses", {"nodes": ("NIC-0",)}, "plot losses takes no --node; it takes --top"),
    ("bandwidth", {"flows": ("1",)}, "plot bandwidth takes no --flow; it takes no choice")])
def test_a_choice_that_cannot_be_followed_is_refused(shipped, name, choice, said):
    with pytest.raises(InputError, match=re.escape(said)):
        data(shipped("features"), name, **choice)


def test_flows_need_the_packets(shipped):
    with pytest.raises(NotInRun, match="uet-monitor, which this run has not; EnableUETMonitor: true"):
        data(shipped("faults"), "windows", flows=("32.0.0.1:1",))


def test_an_unknown_plot_is_refused_with_the_names():
    with pytest.raises(InputError, match="no plot 'cdf'; there are completion-cdf, bandwidth, utilisation"):
        plot_named("cdf")


@pytest.mark.parametrize("name", [plot.name for plot in PLOTS])
def test_axes_have_units_and_the_title_is_the_run(shipped, name):
    run = shipped(DRAWN_OF[name])
    plot = plot_named(name)
    figure = plot.figure(plot.data_of(run), run.name)
    assert figure.get_suptitle() == f"{run.name}: {plot.title}"
    labels = [label for axes in figure.axes for label in (axes.get_xlabel(), axes.get_ylabel()) if label]
    with_units = [label for label in labels if re.search(r"\((us|ms|s|ns|%|GB/s|KB|GB, on the wire|count)\)$", label)]
    bare = {"size", "share of messages", "KB", "packets", "frames", "% of the time"}  # bars of colours have the unit
    assert with_units and set(labels) - set(with_units) <= bare
    assert figure.get_figwidth() * 25.4 < 175  # mm: fits the width of a page
    texts = figure.findobj(lambda one: hasattr(one, "get_fontsize") and one.get_text())
    sizes = {text.get_fontsize() for text in texts}
    assert min(sizes) >= 6


@pytest.mark.parametrize("name", [plot.name for plot in PLOTS])
def test_figures_are_written_as_png_and_svg_alike_every_time(shipped, tmp_path, name):
    run = shipped(DRAWN_OF[name])
    plot = plot_named(name)
    for kind in ("png", "svg"):
        first, second = (tmp_path / f"{n}.{kind}" for n in "ab")
        plot.figure(plot.data_of(run), run.name).save(first)
        plot.figure(plot.data_of(run), run.name).save(second)
        assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag.endswith("}svg")


def test_figures_draw_what_is_in_the_frame(shipped):
    run = shipped("features")
    plot = plot_named("completion-cdf")
    frame = plot.data_of(run)
    drawn = plot.figure(frame, "x").axes[0].lines[0]
    assert drawn.get_ydata()[1:].tolist() == frame["fraction"].to_list()
    assert max(drawn.get_xdata()) == frame["completion_us"][-1]
    plot = plot_named("bottlenecks")
    frame = plot.data_of(run)
    assert sorted(bar.get_width() for bar in plot.figure(frame, "x").axes[0].patches) == sorted(frame["sent_GB"])
    plot = plot_named("port-heatmap")
    frame = plot.data_of(run).filter(pl.col("what") == "packets marked (ECN)")
    (mesh,) = plot.figure(frame, "x").axes[0].collections
    assert mesh.get_array().sum() == frame["value"].sum()


def test_a_flow_of_nothing_and_one_interval_are_drawn_too(shipped):
    for run, name in (("faults", "port-heatmap"), ("nccl-tests64", "utilisation"), ("nccl-tests64", "windows")):
        plot = plot_named(name)
        figure = plot.figure(plot.data_of(shipped(run)), "x")
        assert figure.picture("png").startswith(b"\x89PNG") and figure.figure.axes


def test_a_kind_of_file_that_figures_are_not_written_as(shipped, tmp_path):
    figure = plots_of(shipped("features")).utilisation()
    with pytest.raises(InputError, match="cannot write a figure as pdf; valid: png, svg"):
        figure.save(tmp_path / "x.pdf")
    with pytest.raises(InputError, match="cannot be written"):
        figure.save(tmp_path / "none" / "x.png")


def linear(colour: str) -> list[float]:
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(rgb: list[float]) -> list[float]:
    """CIELAB, D65, of linear sRGB."""
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(one * max(part, 0) for one, part in zip(row, rgb)) / white
           for row, white in zip(matrix, (0.9505, 1.0, 1.089))]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


# Machado, Oliveira and Fernandes (2009), severity 1.0.
SEEN_BY = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900))}


@pytest.mark.parametrize("eyes", SEEN_BY)
def test_the_first_colours_are_told_apart_by_all_eyes(eyes):
    seen = [lab([sum(one * part for one, part in zip(row, linear(colour))) for row in SEEN_BY[eyes]])
            for colour in PALETTE[:4]]
    assert min(math.dist(one, two) for place, one in enumerate(seen) for two in seen[:place]) > 12  # 2.3 is just seen
    white = lab([1.0, 1.0, 1.0])
    assert all(math.dist(one, white) > 35 for one in seen)


def test_the_heat_map_reads_in_grey():
    import matplotlib

    lightness = [lab(linear("#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in colour[:3]))))[0]
                 for colour in matplotlib.colormaps[HEAT](range(0, 256, 8))]
    assert all(one > two for one, two in itertools.pairwise(lightness))


def test_sizes_are_written_in_the_units_that_fit():
    assert [size_text(size) for size in (8, 1024, 2**20, 64 * 2**20, 2**30, 4_000_000, 1000)] == [
        "8 B", "1 KiB", "1 MiB", "64 MiB", "1 GiB", "4 MB", "1 KB"]


def test_the_command_writes_files_and_lists_plots(shipped, tmp_path, capsys):
    run = shipped("features")
    assert run_cli(["results", "plot", str(run.directory), "windows", "bottlenecks", "-o", str(tmp_path / "new"),
                    "--node", "NIC-*", "--format", "svg"]) == 0
    names = [f"features-{name}.svg" for name in ("windows", "bottlenecks")]
    assert capsys.readouterr().out.split() == [str(tmp_path / "new" / name) for name in names]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    assert run_cli(["results", "plot", str(run.directory)]) == 0
    listed = capsys.readouterr().out
    assert all(plot.name in listed and plot.summary in listed for plot in PLOTS) and "run.json has no faults" in listed


def test_all_plots_leave_out_what_the_run_has_not(shipped, tmp_path, capsys):
    run = shipped("features")
    assert run_cli(["results", "plot", str(run.directory), "--all", "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    there = {plot.name for plot in PLOTS} - {"bandwidth", "losses"}
    assert {path.name for path in tmp_path.iterdir()} == {f"features-{name}.png" for name in there}
    assert "left out: plot losses: run.json has no faults" in said.err and len(said.err.splitlines()) == 2


@pytest.mark.parametrize("arguments, said", [
    (["losses"], "plot losses: run.json has no faults"), (["nothing"], "no plot 'nothing'"),
    (["windows", "--node", "X"], "no node 'X'"), (["windows", "losses"], "plot losses")])
def test_a_named_plot_that_cannot_be_drawn_is_an_error_and_nothing_is_written(shipped, tmp_path, capsys, arguments,
                                                                              said):
    assert run_cli(["results", "plot", str(shipped("features").directory), *arguments, "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1 and not list(tmp_path.iterdir())


def test_a_notebook_has_them_as_methods(shipped):
    run = shipped("features")
    assert {plot.identifier for plot in PLOTS} <= set(dir(run.plot))
    assert run.plot.windows(node=[0, "NIC-1"], top=2)._repr_png_().startswith(b"\x89PNG")
    assert run.plot.data("windows", node=3).equals(run.plot.windows.data(node="3"), null_equal=True)
    assert "run.plot.port_heatmap()" in run.plot._repr_html_() and "windows" in repr(run.plot)
    assert "faults" in run.plot.losses.why_not() and run.plot.windows.why_not() == ""
    with pytest.raises(AttributeError, match="no plot 'cdf'"):
        _ = run.plot.cdf


def test_matplotlib_is_loaded_only_to_draw_and_the_engine_never(shipped):
    program = ("import sys; from distsim.results import open_run; from distsim.results.plots import PLOTS, NotInRun\n"
               f"run = open_run({str(shipped('features').directory)!r}); run.plot.windows.data()\n"
               "def loaded(): return [name for name in ('matplotlib', 'matplotlib.pyplot', 'numba', 'mpi4py', "
               "'distsim.engine', 'distsim.kernels') if name in sys.modules]\n"
               "print(loaded()); run.plot.windows(); print(loaded())")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[]", "['matplotlib']"]


def test_the_example_notebook_runs_and_shows_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = json.loads((Path(distsim.results.__file__).parent / "example.ipynb").read_text())
    assert book["nbformat"] == 4 and len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    names, shown = {}, {}
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        if last is not None:
            shown[cell["id"]] = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
    assert "example" in shown["run"]._repr_html_() and "<table" in shown["frames"]._repr_html_()
    assert shown["summary"]["flows"] == 24 and shown["timeline"] == [("messages", 24, 24)]
    for name in ("cdf", "utilisation", "windows"):
        assert shown[name]._repr_png_().startswith(b"\x89PNG")
    assert (tmp_path / "example-ports.svg").stat().st_size > 1000 and (tmp_path / "example.pftrace").exists()
