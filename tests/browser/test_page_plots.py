"""Plots that are zoomed, and the fabric with its slider; figures worked out from the CSV files."""

from __future__ import annotations

import csv

import browser_cases as cases
import pytest

pytestmark = pytest.mark.browser


def completion_times(runs):
    return [float(row["perf_metric_usec"]) for row in cases.rows_of(runs / "tiny", "perf")]


def open_plot(page, tiny, runs):
    cases.go(page, f"/simulations/{tiny}/plots")
    plane = page.locator("svg.plane").first
    plane.wait_for()
    least, most = min(completion_times(runs)), max(completion_times(runs))
    assert cases.view_of(plane) == pytest.approx((least, most))
    return plane, (least, most)


def test_a_plot_is_zoomed_by_wheel_drag_and_keys(page, tiny, runs):
    plane, full = open_plot(page, tiny, runs)
    box = plane.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -240)
    page.wait_for_function("([x]) => Number(document.querySelector('svg.plane').dataset.x0) > x", arg=list(full))
    wheeled = cases.view_of(plane)
    assert full[0] < wheeled[0] < wheeled[1] < full[1]
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_function("(x) => Number(document.querySelector('svg.plane').dataset.x0) < x", arg=wheeled[0])
    dragged = cases.view_of(plane)
    assert dragged[1] < wheeled[1]
    plane.press("0")
    page.wait_for_function("(x) => Number(document.querySelector('svg.plane').dataset.x1) > x", arg=dragged[1])
    assert cases.view_of(plane) == pytest.approx(full)
    for key in ("+", "+", "ArrowRight"):
        plane.press(key)
    page.wait_for_function("(x) => Number(document.querySelector('svg.plane').dataset.x0) > x", arg=full[0])
    page.wait_for_timeout(100)
    keyed = cases.view_of(plane)
    plane.press("ArrowLeft")
    page.wait_for_function("(x) => Number(document.querySelector('svg.plane').dataset.x0) < x", arg=keyed[0])
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("(x) => Number(document.querySelector('svg.plane').dataset.x1) > x", arg=keyed[1])
    assert cases.view_of(plane) == pytest.approx(full)


def test_every_plot_is_drawn_or_says_why_not(page, tiny):
    cases.go(page, f"/simulations/{tiny}/plots")
    plots = page.locator(".choices button")
    plots.first.wait_for()
    drawn = 0
    for place in range(plots.count()):
        plots.nth(place).click()
        page.locator(".plot-place svg.plane, .plot-place .notice").first.wait_for()
        assert page.locator(".plot-place .notice.error").count() == 0
        drawn += page.locator(".plot-place svg.plane").count() > 0
    assert drawn == 5  # no job that has a bandwidth, and no faults


def test_the_slider_moves_the_load_of_the_links(page, tiny, runs):
    ports = [row for row in cases.rows_of(runs / "tiny", "nd-stats") if row["component_name"] == "NIC-0"]
    ports.sort(key=lambda row: float(row["sim_time_sec"]))
    cases.go(page, f"/simulations/{tiny}/fabric")
    slider = page.get_by_label("Time", exact=True)
    slider.wait_for()
    assert int(slider.get_attribute("max")) == len(ports) - 1
    link = page.locator("g.link title", has_text="NIC-0 to RackSwitch-0")
    seen = set()
    slider.press("Home")
    for row in ports[:6]:
        assert f"{float(row['sim_time_sec']) * 1e3:g} ms" in slider.get_attribute("aria-valuetext")
        percent = float(f"{float(row['tx_link_percent_util']):.3g}")
        assert f"up {percent:g} %" in link.text_content()
        seen.add(percent)
        slider.press("ArrowRight")
    assert len(seen) > 1 and 0.0 in seen  # it was busy, and then it was not


def test_the_busiest_links_are_those_of_the_record(page, tiny, runs):
    rows = cases.rows_of(runs / "tiny", "nd-stats")
    first = min(float(row["sim_time_sec"]) for row in rows)
    most = max(float(row["tx_link_percent_util"]) for row in rows if float(row["sim_time_sec"]) == first)
    cases.go(page, f"/simulations/{tiny}/fabric")
    page.get_by_label("Time", exact=True).press("Home")
    cells = page.locator(".details tbody tr").first.locator("td").all_inner_texts()
    assert max(float(cells[4]), float(cells[5])) == float(f"{most:.3g}")


def test_nodes_of_the_fabric_are_reached_and_chosen_by_keys(page, tiny):
    cases.go(page, f"/simulations/{tiny}/fabric")
    nodes = page.locator("svg.fabric .node")
    nodes.first.wait_for()
    assert nodes.count() == 12 and page.locator('svg.fabric .node[tabindex="0"]').count() == 1
    page.locator('svg.fabric .node[tabindex="0"]').focus()
    page.keyboard.press("ArrowUp")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("RackSwitch-")
    page.keyboard.press("Enter")
    page.get_by_text(f"{focused}: 6 links").wait_for()  # four NICs, two spines
    assert page.locator("svg.fabric .link.dim").count() == 12 - 6
    page.keyboard.press("Escape")
    page.get_by_text("The busiest links").wait_for()


def test_what_a_plot_is_drawn_from_is_downloaded(page, tiny, runs, tmp_path):
    open_plot(page, tiny, runs)
    page.get_by_text("rows behind it").click()
    with page.expect_download() as wait:
        page.get_by_role("button", name="Download as CSV").click()
    wait.value.save_as(tmp_path / "plot.csv")
    with open(tmp_path / "plot.csv", newline="") as file:
        drawn = [float(row["completion_us"]) for row in csv.DictReader(file)]
    assert drawn == pytest.approx(sorted(completion_times(runs)))
