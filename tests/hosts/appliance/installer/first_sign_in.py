"""Signs the first administrator in with a real browser."""

import re

from playwright.sync_api import Page

PASSWORD = "four calm birds on a wing"


def enter(page: Page, url: str, output: str) -> None:
    """Signs in by the one-time secret that a run has printed."""
    found = re.search(r"One-time secret:\s+([0-9A-Z]{4}(?:-[0-9A-Z]{4}){3})", output)
    assert found is not None, output[-1500:]
    page.goto(f"{url}/first-administrator")
    for name, value in (("secret", found[1]), ("name", "ops"), ("password", PASSWORD)):
        page.locator(f"main [name='{name}']").fill(value)
    page.locator("main button[type=submit]").first.click()
    page.wait_for_url(re.compile(r"^(?!.*first-administrator)"))
