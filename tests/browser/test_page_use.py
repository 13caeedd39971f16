"""Whom the page lets in, the keyboard, sizes and looks."""

from __future__ import annotations

from pathlib import Path

import browser_cases as cases
import pytest
import server_cases
from conftest import NARROW, WIDE

pytestmark = pytest.mark.browser
TABS = ("summary", "plots", "fabric", "records", "files", "log")
LEAST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture(scope="module")
def guarded(runs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("guarded") / "runs"
    server_cases.make_run(directory / "tiny", cases.TINY)
    with server_cases.Server(directory, token=server_cases.TOKEN) as found:
        yield found


def test_a_token_is_asked_for_and_kept_in_the_tab(chromium, guarded, tmp_path):
    with cases.watched(chromium, guarded.url, WIDE) as page:
        page.allowed = ["401 (Unauthorized)"]
        page.goto(f"{guarded.url}/")
        field = page.get_by_role("textbox", name="Token")
        field.fill("wrong")
        page.get_by_role("button", name="Use it").click()
        page.get_by_text("That is not the token.").wait_for()
        field.fill(server_cases.TOKEN)
        page.get_by_role("button", name="Use it").click()
        page.get_by_role("link", name="tiny").click()
        page.get_by_role("tab", name="Files").click()
        with page.expect_download() as wait:
            page.get_by_role("button", name="Download tiny-perf-0.csv").click()
        wait.value.save_as(tmp_path / "perf.csv")
        assert (tmp_path / "perf.csv").read_bytes() == (guarded.runs / "tiny" / "tiny-perf-0.csv").read_bytes()
        assert page.evaluate("sessionStorage.getItem('distsim.token')") == server_cases.TOKEN
        assert server_cases.TOKEN not in page.evaluate("JSON.stringify(localStorage)") + page.url
        page.reload()
        page.get_by_role("tab", name="Files").wait_for()
        other = page.context.new_page()  # another tab knows nothing
        other.goto(f"{guarded.url}/")
        other.get_by_role("textbox", name="Token").wait_for()


def test_the_keyboard_reaches_everything_in_order(page, tiny):
    cases.go(page, "/runs")
    page.get_by_role("link", name="tiny", exact=True).wait_for()
    names = []
    for _ in range(40):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent || document.activeElement.tagName"))
    assert names[:5] == ["Skip to the content", "distsim", "Runs", "Start a run", "Look: system"]
    assert "tiny" in names
    cases.go(page, f"/simulations/{tiny}")
    tab = page.get_by_role("tab", name="Summary")
    tab.focus()
    for name in ("Plots", "Fabric", "Records", "Files", "Log", "Summary"):
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(name) => document.activeElement.textContent === name", arg=name)
        assert page.get_by_role("tab", name=name).get_attribute("aria-selected") == "true"


def test_the_skip_link_leads_to_the_content(page):
    cases.go(page, "/new")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.url.endswith("#/new")


def test_every_control_has_a_name(page, tiny):
    for address in ("/runs", "/new", *(f"/simulations/{tiny}/{tab}" for tab in TABS)):
        cases.go(page, address)
        nameless = page.evaluate("""() => [...document.querySelectorAll("button, input, select, textarea, a, progress")]
            .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels?.length || e.title))
            .map((e) => e.outerHTML)""")
        assert nameless == [], address


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["1280", "800"])
@pytest.mark.parametrize("look", ["light", "dark"])
def test_it_fits_and_can_be_read(chromium, server, tiny, size, look):
    with cases.watched(chromium, server.url, size, color_scheme=look) as page:
        for address in ("/runs", "/new?config=quickstart", *(f"/simulations/{tiny}/{tab}" for tab in TABS)):
            cases.go(page, address)
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], address
            assert page.evaluate(CONTRAST, LEAST_CONTRAST) == [], address


def test_a_look_is_chosen_and_kept(page):
    cases.go(page, "/runs")
    for name in ("light", "dark", "system"):
        page.get_by_role("button", name="Look:").click()
        page.get_by_role("button", name=f"Look: {name}").wait_for()
        assert page.evaluate("document.documentElement.dataset.look") == name
        page.reload()
        page.get_by_role("button", name=f"Look: {name}").wait_for()


def test_styles_and_scripts_are_its_own_files(page, server):
    answer = server.client.get("/")
    assert "<script>" not in answer.text and "style=" not in answer.text and "http://" not in answer.text
    page.goto(f"{page.base}/")
    page.get_by_role("heading", name="Runs").wait_for()
    kinds = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).origin)")
    assert set(kinds) == {server.url}
