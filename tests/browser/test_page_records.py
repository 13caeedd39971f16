"""The table of a record against its file, and downloads against what stands on disk."""

from __future__ import annotations

import csv
import re

import browser_cases as cases
import polars as pl
import pytest

pytestmark = pytest.mark.browser
RECORD = "nd-stats"


def open_records(page, tiny):
    cases.go(page, f"/simulations/{tiny}/records")
    page.get_by_label("Record", exact=True).select_option(RECORD)
    page.get_by_text(re.compile(r"rows 1 to \d+ of")).wait_for()


def shown(page):
    """The table as rows of texts by column."""
    names = [text.split(" (")[0].split()[0] for text in page.locator(".rows thead th").all_inner_texts()]
    return [dict(zip(names, row.locator("td").all_inner_texts(), strict=True))
            for row in page.locator(".rows tbody tr").all()]


def test_the_table_is_filtered_sorted_and_paged(page, tiny, runs):
    rows = [row for row in cases.rows_of(runs / "tiny", RECORD) if "rackswitch-1" in row["component_name"].lower()
            and float(row["tx_rate_Gbps"]) > 0]
    assert rows
    open_records(page, tiny)
    page.get_by_label("Value").fill("rackswitch-1")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_label("Column").select_option("tx_rate_Gbps")
    page.get_by_label("Comparison").select_option(">")
    page.get_by_label("Value").fill("0")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_text(f"of {len(rows)}").wait_for()
    assert page.locator(".chips li").count() == 2
    page.get_by_label("Rows a page").select_option("20")
    page.get_by_text(f"rows 1 to 20 of {len(rows)}").wait_for()
    found = shown(page)
    assert [(one["component_name"], one["ifid"]) for one in found] == [
        (row["component_name"], row["ifid"]) for row in rows[:20]]
    assert [float(one["tx_rate_Gbps"]) for one in found] == pytest.approx([float(row["tx_rate_Gbps"])
                                                                            for row in rows[:20]])
    page.get_by_role("button", name="Next page").click()
    page.get_by_text(re.compile("rows 21 to")).wait_for()
    assert float(shown(page)[0]["tx_rate_Gbps"]) == pytest.approx(float(rows[20]["tx_rate_Gbps"]))
    header = page.locator("th button", has_text="tx_rate_Gbps")
    header.click()
    page.locator('th[aria-sort="ascending"]').wait_for()
    page.locator("th button", has_text="tx_rate_Gbps").click()
    page.locator('th[aria-sort="descending"]').wait_for()
    most = sorted((float(row["tx_rate_Gbps"]) for row in rows), reverse=True)[:20]
    assert [float(one["tx_rate_Gbps"]) for one in shown(page)] == pytest.approx(most)
    page.get_by_role("button", name="Remove the filter tx_rate_Gbps > 0").click()
    page.get_by_text(re.compile("of 600")).wait_for()


def test_a_filter_that_is_none_is_answered_in_one_line(page, tiny):
    page.allowed = ["400 (Bad Request)"]
    open_records(page, tiny)
    page.get_by_label("Column").select_option("tier")
    page.get_by_label("Comparison").select_option("<")
    page.get_by_label("Value").fill("two")
    page.get_by_role("button", name="Add filter").click()
    page.get_by_text("tier holds numbers, and 'two' is none").wait_for()


def downloaded(page, button, path):
    with page.expect_download() as wait:
        page.get_by_role("button", name=button).click()
    wait.value.save_as(path)
    return wait.value.suggested_filename


def test_downloads_are_the_files(page, tiny, runs, tmp_path):
    open_records(page, tiny)
    name = downloaded(page, "Download CSV", tmp_path / "record.csv")
    original = runs / "tiny" / name
    assert (tmp_path / "record.csv").read_bytes() == original.read_bytes()
    downloaded(page, "Download run.json", tmp_path / "run.json")
    assert (tmp_path / "run.json").read_bytes() == (runs / "tiny" / "tiny-run.json").read_bytes()
    name = downloaded(page, "Download Parquet", tmp_path / "record.parquet")
    assert name.startswith(f"tiny-{RECORD}") and name.endswith(".parquet")
    frame = pl.read_parquet(tmp_path / "record.parquet")
    with open(original, newline="") as file:
        rows = list(csv.DictReader(file))
    assert frame.columns == list(rows[0]) and frame.height == len(rows)
    assert frame["total_packets_tx"].sum() == sum(int(row["total_packets_tx"]) for row in rows)


def test_the_files_of_a_run_are_listed_and_downloaded(page, tiny, runs, tmp_path):
    cases.go(page, f"/simulations/{tiny}/files")
    page.locator("tbody tr").first.wait_for()
    names = page.locator("tbody th").all_inner_texts()
    assert sorted(names) == sorted(path.name for path in (runs / "tiny").iterdir() if not path.name.startswith("."))
    downloaded(page, "Download tiny-perf-0.csv", tmp_path / "perf.csv")
    assert (tmp_path / "perf.csv").read_bytes() == (runs / "tiny" / "tiny-perf-0.csv").read_bytes()
