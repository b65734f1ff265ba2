"""The queue's page while very many jobs wait: in both languages and themes, at a desk and on a phone."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, StorageState, expect

from portal import create_app
from tests.browser.conftest import PageIn, served, signed_in
from tests.browser.long_queue import fill_cluster
from tests.browser.page_checks import assert_accessible, assert_fits
from tests.browser.page_list import TAKES_PICTURES, open_settled, take_picture
from tests.conftest import sqlite_cluster

COUNT = 100_000 if TAKES_PICTURES else 1_500
"""More than a thousand is already said so: with very many the page is as long and as quick."""


CASES = [("en", "light", 1440), ("ko", "dark", 390)]
if TAKES_PICTURES:
    CASES += [("ko", "dark", 1440), ("en", "light", 390)]


@pytest.fixture(scope="module")
def portal(
    tmp_path_factory: pytest.TempPathFactory, migrated_file: Path
) -> Iterator[tuple[str, StorageState]]:
    """(address, the administrator's cookies)."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("long")
        still = stack.enter_context(sqlite_cluster(folder, migrated_file))
        cluster = replace(still, clock=lambda: datetime.now(UTC))
        chief = fill_cluster(cluster, COUNT)
        url = stack.enter_context(served(create_app(cluster, testing=True)))
        yield url, signed_in(cluster, chief, url)


@pytest.fixture
def base_url(portal: tuple[str, StorageState]) -> str:
    return portal[0]


def looks_right(page: Page, language: str) -> None:
    expect(page.locator("html")).to_have_attribute("lang", language)
    more = "More than 1,000 jobs wait" if language == "en" else "1,000건 넘게 기다립니다"
    expect(page.locator(".page-truth")).to_contain_text(more)
    assert page.locator("table.lines").first.locator("tbody > tr").count() >= 50
    assert_fits(page)
    assert_accessible(page)


@pytest.mark.parametrize(("language", "theme", "width"), CASES)
def test_a_long_queue_is_as_readable_as_a_short_one(
    page_in: PageIn, portal: tuple[str, StorageState], language: str, theme: str, width: int
) -> None:
    page = page_in(language, theme, width=width, state=portal[1])
    open_settled(page, "/queue")
    looks_right(page, language)
    page.locator("td a.tool").nth(1).click()
    expect(page.locator("tr.detail")).to_be_visible()
    looks_right(page, language)
    if TAKES_PICTURES:
        name = f"queue-long.{language}.{theme}"
        take_picture(page, name if width == 1440 else f"{name}.390", None if width == 1440 else 2400)
