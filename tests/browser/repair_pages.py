"""Repairs as an administrator asks for them: the list, the forecast, the click, and the run until its verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, expect

from tests.browser.journey import sign_in

VERDICTS = {
    "Verified": "verified",
    "Not verified": "not_verified",
    "Cancelled": "cancelled",
    "Did not run": "broken",
    "Looked ahead": "looked_ahead",
}
"""What the page says, and what the row has."""
ANY_VERDICT = re.compile(f"^({'|'.join(VERDICTS)})$")

RUN = re.compile(r"/repairs/runs/\d+$")


@dataclass
class RepairPages:
    """In English, in the browser of somebody who may repair."""

    page: Page

    def ask(
        self,
        repair: str,
        reason: str,
        hosts: Sequence[str] = (),
        is_dry_run: bool = False,
        is_typed: bool = False,
    ) -> int:
        """From the list by the forecast to the page of the run, whose number is given back.

        `hosts`: those to choose where the forecast leaves a choice; `is_typed`: the name that the page shows is typed.
        """
        self.open_forecast(repair, hosts)
        return self.run_forecast(reason, is_dry_run, is_typed)

    def run_forecast(self, reason: str, is_dry_run: bool = False, is_typed: bool = False) -> int:
        """The one that is open."""
        page = self.page
        page.get_by_label(re.compile("^Reason")).fill(reason)
        run = page.get_by_role("button", name="Run it")
        if is_typed:
            expect(run).to_be_disabled()
            name = page.locator("form[data-typed]").get_attribute("data-typed") or ""
            page.get_by_label(f"Type the name {name}").fill(name)
        expect(run).to_be_enabled()
        (page.get_by_role("button", name="Only look ahead") if is_dry_run else run).click()
        return self.stay()

    def stay(self) -> int:
        """On the page of the run: whatever comes from now on comes to it by itself."""
        self.page.wait_for_url(RUN)
        self.page.evaluate("() => window.neverLeft = true")
        return int(self.page.url.rpartition("/")[2])

    def open_forecast(self, repair: str, hosts: Sequence[str] = ()) -> None:
        page, address = self.page, f"/repairs/{repair}"
        page.goto("/repairs")
        line = page.get_by_role("listitem").filter(has=page.locator(f'a[href="{address}"]'))
        line.get_by_role("link", name="See preview").click()
        page.wait_for_url(re.compile(f"{address}$"))
        choose = page.get_by_role("button", name="Preview for these nodes")
        if not hosts or choose.count() == 0:
            return
        for choice in page.locator("label:has(input[name=nodes])").all():
            choice.get_by_role("checkbox").set_checked(choice.inner_text().strip() in hosts)
        choose.click()
        page.wait_for_url(re.compile(rf"{address}\?nodes="))

    def open_forecast_of_failed_nodes(self) -> None:
        """From the page of a run that ended well on some of its nodes only."""
        self.page.get_by_role("link", name="Again on the failed nodes only").click()
        self.page.wait_for_url(re.compile(r"/repairs/[a-z-]+\?nodes="))

    def follow(self, seconds: float) -> str:
        """The verdict, when the open page shows it. Nobody loads it anew: the portal may go and come meanwhile."""
        pill = self.page.locator("#repair-run .pill")
        expect(pill).to_have_text(ANY_VERDICT, timeout=seconds * 1000)
        assert self.page.evaluate("() => window.neverLeft")
        expect(self.page.locator("#repair-run .log-line").first).to_be_attached()
        return VERDICTS[pill.inner_text().strip()]


@contextmanager
def pages_of_repairs(browser: Browser, url: str, name: str = "ops") -> Iterator[RepairPages]:
    """Of whoever signs in with the password of all tests. The site's own authority is known to nobody outside of it."""
    with browser.new_context(base_url=url, ignore_https_errors=True, locale="en-US") as context:
        context.set_default_timeout(30_000)
        page = context.new_page()
        sign_in(page, name)
        yield RepairPages(page)
