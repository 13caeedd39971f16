"""Starting runs on the page, watching and ending them; messages beside the lines."""

from __future__ import annotations

import re

import browser_cases as cases
import pytest
import server_cases

pytestmark = pytest.mark.browser


def write(page, text):
    page.get_by_label("Configuration (YAML)").fill(text)


def test_a_run_is_started_and_watched_until_it_has_finished(page, server):
    cases.go(page, "/new")
    write(page, cases.TINY.replace("simulation: tiny", "simulation: from-page"))
    page.get_by_text("Valid: 8 NICs, 4 switches, 8 flows").wait_for()
    assert page.get_by_label("Name").input_value() == "from-page"
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("heading", name="from-page").wait_for()
    page.locator(".badge", has_text="finished").wait_for(timeout=60_000)
    page.get_by_text("8 of 8").wait_for()
    identifier = re.search(r"sim_[a-z2-7]{26}", page.url)[0]
    told = server.client.get(f"/api/v1/simulations/{identifier}").json()
    assert told["status"] == "completed" and told["flows"]["finished"] == 8
    cases.go(page, "/runs")
    row = page.locator(f'tr[data-run="{identifier}"]')
    assert "finished" in row.inner_text() and "8 of 8" in row.inner_text()


def test_the_progress_of_a_run_is_shown_and_it_can_be_terminated(page, server):
    cases.go(page, "/new")
    write(page, server_cases.LONG.replace("simulation: middle", "simulation: endless"))
    page.get_by_label("Run even if it takes over a day").check()
    page.locator(".check-says .valid").wait_for()
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".badge", has_text="running").wait_for(timeout=60_000)
    shown = page.locator(".run-head .progress-text")
    shown.filter(has_text=re.compile(r"of 32 flows, .* simulated")).wait_for(timeout=60_000)
    before = shown.inner_text()
    page.wait_for_function("(before) => document.querySelector('.run-head .progress-text').textContent !== before",
                           arg=before, timeout=60_000)
    for tab in ("Plots", "Fabric", "Files", "Log", "Records"):  # all can be read while it goes on
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(600)
    page.get_by_text(re.compile("rows 1 to 50")).wait_for()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Terminate").click()
    page.locator(".badge", has_text="terminated").wait_for(timeout=60_000)
    page.get_by_text(re.compile("rows 1 to 50")).wait_for()  # its rows are kept


def test_the_list_is_searched_and_runs_are_deleted_after_a_question(page, server):
    name = "to-be-deleted"
    simulation = server_cases.started(server.client, cases.TINY, name)
    server_cases.wait_for(server.client, simulation, "completed")
    cases.go(page, "/runs")
    page.get_by_label("Search").fill("to-be-del")
    page.wait_for_function("() => document.querySelectorAll('tr[data-run]').length === 1")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete").click()
    assert page.locator(f'tr[data-run="{simulation}"]').is_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("No run fits.").wait_for()
    assert server.client.get(f"/api/v1/simulations/{simulation}").status_code == 404


def test_messages_stand_beside_their_lines(page):
    cases.go(page, "/new?config=quickstart")
    page.locator(".check-says .valid").wait_for()
    area = page.get_by_label("Configuration (YAML)")
    text = area.input_value()
    lines = text.split("\n")
    at = next(number for number, line in enumerate(lines, 1) if line.strip() == "racks: 8")
    area.fill(text.replace("racks: 8", "racks: many"))
    note = page.locator(f'.editor-note[data-line="{at}"]')
    note.wait_for()
    assert "many" in note.inner_text() and "a whole number" in note.inner_text()
    assert page.get_by_role("button", name="Start", exact=True).is_disabled()
    assert area.get_attribute("aria-invalid") == "true"
    number = page.locator(f'.editor-gutter [data-line="{at}"]')
    assert number.inner_text().endswith(str(at))
    assert abs(number.bounding_box()["y"] - note.bounding_box()["y"]) < 4  # on the same line, beside the text
    assert note.bounding_box()["x"] >= area.bounding_box()["x"] + area.bounding_box()["width"] - 1
    note.get_by_role("button").click()  # leads to the line
    begin = sum(len(line) + 1 for line in lines[:at - 1])
    assert area.evaluate("area => area.selectionStart") == begin
    area.fill(text)
    page.locator(".check-says .valid").wait_for()
    assert page.locator(".editor-note").count() == 0
    assert page.get_by_role("button", name="Start", exact=True).is_enabled()


def test_a_new_run_begins_with_the_configuration_of_another(page, tiny):
    cases.go(page, f"/simulations/{tiny}")
    page.get_by_role("link", name="New run from this one").click()
    page.get_by_text("Valid: 8 NICs, 4 switches, 8 flows").wait_for()
    assert "leaf-spine" in page.get_by_label("Configuration (YAML)").input_value()
