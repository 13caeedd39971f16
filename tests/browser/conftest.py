"""The page in headless Chromium: `./launch/test --browser`. Deselected wherever `-m` does not ask for `browser`."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))  # server_cases

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]
CHROMIUM = "DISTSIM_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 800, "height": 900}


def pytest_collection_modifyitems(config, items):
    """Leaves these tests out unless the expression of markers names them; where they cannot run, one says why."""
    here = [item for item in items if item.get_closest_marker("browser")]
    asked = "browser" in (config.option.markexpr or "")
    why = missing() if asked and here else ""
    if why:
        here.pop().add_marker(pytest.mark.skip(reason=why))
    if here and (why or not asked):
        config.hook.pytest_deselected(items=here)
        items[:] = [item for item in items if item not in here]


def chromium_path():
    """The browser's program, None if there is none."""
    path = os.environ.get(CHROMIUM) or next(filter(None, map(shutil.which, NAMES)), None)
    return path if path is not None and Path(path).exists() else None


def missing():
    """Why these tests cannot run; empty: they can."""
    if chromium_path() is None:
        return f"no Chromium here: install it (Debian: apt-get install chromium), or set {CHROMIUM} to its path"
    return "" if find_spec("playwright") else "no playwright here; ./launch/test --browser installs it"


@pytest.fixture(scope="session")
def chromium():
    """The browser, one for all tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS, headless=True)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A directory with one run, `tiny`."""
    import browser_cases as cases
    import server_cases

    directory = tmp_path_factory.mktemp("browser") / "runs"
    server_cases.make_run(directory / "tiny", cases.TINY)
    return directory


@pytest.fixture(scope="session")
def server(runs):
    """A server over `runs`."""
    import server_cases

    with server_cases.Server(runs) as found:
        yield found


@pytest.fixture
def page(chromium, server):
    """A page of the server; afterwards: it has said nothing on the console and asked nobody else."""
    import browser_cases as cases

    with cases.watched(chromium, server.url, WIDE) as found:
        yield found


@pytest.fixture(scope="session")
def tiny(server):
    """id of the run `tiny`."""
    found = server.client.get("/api/v1/page/runs").json()["runs"]
    return next(run["id"] for run in found if run["path"] == "tiny")
