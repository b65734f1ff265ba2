"""Measures in chromium the time from the click on a repair to the frame in which a cell of its matrix shows.

The page itself takes both times, by the one clock that its documents share, so that nothing of Playwright is in them.
"""

from playwright.sync_api import Page

from tests.browser.repair_pages import RepairPages

WATCH = """
(() => {
  const now = () => performance.timeOrigin + performance.now();
  addEventListener("click", (event) => {
    if (event.target.closest("form.confirm-body button")) sessionStorage.setItem("clicked", now());
  }, true);
  const look = new MutationObserver(() => {
    if (!document.querySelector("#repair-run .matrix td.cell:not(.quiet)")) return;
    look.disconnect();
    // What is painted in a frame has been seen when the next one begins.
    requestAnimationFrame(() => requestAnimationFrame(() => { window.seenAt = now(); }));
  });
  look.observe(document, { subtree: true, childList: true, attributes: true });
})();
"""
"""Runs in every page before its own scripts."""
WITHIN_MS = 120_000


def watch(page: Page) -> None:
    page.add_init_script(WATCH)


def click(pages: RepairPages, repair: str) -> float:
    """Seconds until the first event is on the page; the run is followed to its verdict."""
    pages.ask(repair, "measured")
    page = pages.page
    page.wait_for_function("() => window.seenAt", timeout=WITHIN_MS)
    milliseconds: float = page.evaluate("() => window.seenAt - Number(sessionStorage.getItem('clicked'))")
    assert pages.follow(WITHIN_MS / 1000) == "verified"
    return milliseconds / 1000
