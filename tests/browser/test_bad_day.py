"""Administrators of servers see each trouble on a bad day: in both languages and themes, at a desk and on a phone."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, StorageState, expect

from portal import create_app
from tests.browser.bad_day import FULL, SILENT, fill_cluster, on_servers
from tests.browser.conftest import PageIn, served, signed_in
from tests.browser.page_checks import assert_accessible, assert_fits
from tests.browser.page_list import TAKES_PICTURES, open_settled, take_picture
from tests.conftest import sqlite_cluster


@dataclass(frozen=True)
class Day:
    url: str
    cookies: StorageState
    run_id: int


@pytest.fixture(scope="module")
def day(migrated_file: Path) -> Iterator[Day]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gc-")))
        still = stack.enter_context(sqlite_cluster(folder, migrated_file))
        cluster = on_servers(replace(still, clock=lambda: datetime.now(UTC)))
        chief, run_id = fill_cluster(cluster)
        url = stack.enter_context(served(create_app(cluster, testing=True)))
        yield Day(url, signed_in(cluster, chief, url), run_id)


@pytest.fixture
def base_url(day: Day) -> str:
    return day.url


PAGES = {
    "attention": ("/", ".sign"),
    "repair-nodes": ("/repairs/reboot-node?nodes=2&nodes=4", "form[data-typed]"),
    "repair-half": ("/repairs/runs/{run}", ".matrix td.bad"),
    "backups-damaged": ("/repairs/backups", "main tbody tr"),
}
"""Path, and what the page has to show on such a day."""
DRESSES = [("en", "light", 1440), ("ko", "dark", 1440), ("ko", "light", 390)]
CASES = [
    pytest.param(name, *dress, marks=[] if name == "attention" and dress[2] == 390 else pytest.mark.long)
    for name in PAGES
    for dress in DRESSES
]


@pytest.mark.parametrize(("name", "language", "theme", "width"), CASES)
def test_a_page_with_trouble_fits_and_can_be_used_by_everybody(
    page_in: PageIn, day: Day, name: str, language: str, theme: str, width: int
) -> None:
    path, shown = PAGES[name]
    page = page_in(language, theme, width=width, state=day.cookies)
    open_settled(page, path.format(run=day.run_id))
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator(shown).first).to_be_visible()
    assert_fits(page)
    assert_accessible(page)
    if TAKES_PICTURES:
        take_picture(page, ".".join([name, language, theme, *(["390"] if width == 390 else [])]))


@pytest.mark.long
def test_a_run_that_was_well_on_one_of_two_nodes_leads_to_the_other_one(page_in: PageIn, day: Day) -> None:
    page: Page = page_in(state=day.cookies)
    open_settled(page, f"/repairs/runs/{day.run_id}")
    page.get_by_role("link", name="Again on the failed nodes only").click()
    expect(page.get_by_role("checkbox", name=SILENT)).to_be_checked()
    expect(page.get_by_role("checkbox", name=FULL)).not_to_be_checked()
