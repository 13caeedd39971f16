"""What the tests of the page share: a small run, and a page whose console and requests are watched."""

from __future__ import annotations

import contextlib
import csv
from pathlib import Path

# A row every 10 us, so that the slider and the plots have something to show; all is sent after some 50 us.
TINY = """simulation: tiny
seed: 2
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 4, spines: 2}
workload: {kind: permutation, size: 2MB}
SimulationParameters: {NDStatsReportInterval: 0.00001, EnableSwitchBufferStats: true}
"""
LOADED = "networkidle"


@contextlib.contextmanager
def watched(chromium, url, size, **context):
    """A page; fails when it wrote to the console (errors and warnings), threw, or asked another host than the server.
    `allowed`: parts of messages that are expected."""
    said, strangers = [], []
    with contextlib.closing(chromium.new_context(viewport=size, accept_downloads=True, **context)) as found:
        page = found.new_page()
        page.set_default_timeout(20_000)
        page.allowed = []
        page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: strangers.append(request.url)
                if not request.url.startswith((url, "blob:", "data:")) else None)
        page.base = url
        yield page
        assert [text for text in said if not any(part in text for part in page.allowed)] == []
        assert strangers == []


def go(page, address):
    """Opens an address of the page (what stands behind #) and waits until it is quiet."""
    page.goto(f"{page.base}/#{address}")
    page.wait_for_load_state(LOADED)


def rows_of(directory: Path, record: str) -> list[dict[str, str]]:
    """The rows of a record with one shard."""
    [path] = directory.glob(f"*-{record}-0.csv")
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def view_of(plane):
    """What a plot shows of its x axis: (least, greatest)."""
    return float(plane.get_attribute("data-x0")), float(plane.get_attribute("data-x1"))
