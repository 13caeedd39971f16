"""The pictures of the README, made when DISTSIM_SCREENSHOTS names a folder for them."""

from __future__ import annotations

import os
from pathlib import Path

import browser_cases as cases
import pytest
import server_cases

FOLDER = os.environ.get("DISTSIM_SCREENSHOTS", "")
pytestmark = [pytest.mark.browser,
              pytest.mark.skipif(not FOLDER, reason="DISTSIM_SCREENSHOTS names no folder for the README's pictures")]
SIZE, SMALL, COLOURS = {"width": 1280, "height": 800}, (960, 600), 128
# A permutation, and an incast into one NIC in the middle of it; a row every 5 us.
SHOWN = """simulation: incast-in-permutation
seed: 4
fabric: {kind: leaf-spine, racks: 4, nics_per_rack: 8, spines: 4}
workload:
  kind: several
  parts:
    - {kind: permutation, size: 3MB}
    - {kind: incast, receiver: 5, senders: 12, size: 200KB, start: 20us}
SimulationParameters: {StartTime: 0, ClientStartOffset: 0, RunTime: 0.00016, NDStatsReportInterval: 0.000005,
                       EnableSwitchBufferStats: true}
switch: {SharedBufferManager: {BufferStatsReportInterval: 5us}}
"""
# Its messages end one after the other, all through the run.
GOING = """simulation: allreduce-4gib
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 16}
workload: {kind: collective, collective: all_reduce, algorithm: ring, size: 4GiB}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    runs = tmp_path_factory.mktemp("pictures") / "runs"
    configs = Path(__file__).parents[2] / "configs"
    for name in ("allreduce64", "faults"):
        server_cases.make_run(runs / name, (configs / f"{name}.yaml").read_text())
    server_cases.make_run(runs / "incast-in-permutation", SHOWN)
    with server_cases.Server(runs) as found:
        yield found


def picture(chromium, site, name, address, look="light", prepare=None):
    """Opens an address, prepares what is shown, and writes a small picture."""
    from PIL import Image

    path = Path(FOLDER) / f"{name}.png"
    with cases.watched(chromium, site.url, SIZE, color_scheme=look) as page:
        cases.go(page, address)
        if prepare is not None:
            prepare(page)
        page.wait_for_timeout(800)
        page.screenshot(path=path)
    whole = Image.open(path).convert("RGB").resize(SMALL, Image.Resampling.LANCZOS)
    whole.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < 100_000


def test_pictures(chromium, site):
    listed = site.client.get("/api/v1/page/runs").json()["runs"]
    run = next(f"/simulations/{one['id']}" for one in listed if one["name"] == "incast-in-permutation")
    going = server_cases.started(site.client, GOING, "allreduce-4gib")
    server_cases.wait_for(site.client, going, "running")
    picture(chromium, site, "runs", "/runs", prepare=wait_for_progress)
    site.client.post(f"/api/v1/simulations/{going}/terminate")
    picture(chromium, site, "summary", f"{run}/summary")
    picture(chromium, site, "plots", f"{run}/plots", prepare=choose_heat_map)
    picture(chromium, site, "fabric", f"{run}/fabric", "dark", move_slider)
    picture(chromium, site, "records", f"{run}/records", prepare=add_filter)
    picture(chromium, site, "new", "/new?config=quickstart", prepare=spoil)
    server_cases.wait_for(site.client, going, "terminated")


def wait_for_progress(page):
    page.locator("progress[value]").first.wait_for(timeout=60_000)


def move_slider(page):
    page.get_by_label("Time", exact=True).fill("17")


def choose_heat_map(page):
    page.get_by_role("button", name="queues, marks").click()
    page.locator("svg.plane").first.hover()


def add_filter(page):
    page.get_by_label("Value").fill("SpineSwitch-2")
    page.get_by_role("button", name="Add filter").click()


def spoil(page):
    area = page.get_by_label("Configuration (YAML)")
    page.locator(".check-says .valid").wait_for()
    area.fill(area.input_value().replace("racks: 8", "racks: many").replace("size: 1MB", "size: 1XB"))
    page.locator(".editor-note").first.wait_for()
    area.evaluate("area => { area.scrollTop = 0; }")
