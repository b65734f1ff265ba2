"""What a page weighs in Chromium, cold and warm: requests, bytes over the wire, elements, first paint, interactive.

Cold is a browser that knows nothing, warm one that has had the page before. Interactive is the end of the handlers of
DOMContentLoaded, when all scripts of the page have run. Bytes are those that came over the connection, heads included.
"""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext

from tests.bench.portal_load.full_installation import FullInstallation, SignedInPerson, full_installation
from tests.bench.portal_load.portal_bench import CONTENDERS, SIZES, PortalBench, name_of_size
from tests.bench.portal_load.request_plan import jobs_of
from tests.browser.conftest import NO_CHROMIUM, find_chromium, launched

MEASURE = "W"
TITLE = "The weight of pages"
TIMES = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {paint: paint ? paint.startTime : page.domInteractive, interactive: page.domContentLoadedEventEnd,
          loaded: page.loadEventEnd, elements: document.getElementsByTagName("*").length};
}"""


@dataclass(frozen=True)
class PageLoad:
    """Times are seconds from the beginning of the navigation."""

    requests: int
    bytes: int
    elements: int
    paint: float
    interactive: float
    loaded: float


class NoChromium(OSError):
    """Says what to install."""


def run(bench: PortalBench) -> None:
    path = find_chromium()
    if path is None:
        raise NoChromium(NO_CHROMIUM)
    with launched(path) as browser:
        for kind in bench.databases:
            for size in SIZES:
                with full_installation(kind, size) as full:
                    measure(bench, CONTENDERS[kind], full, browser)


def measure(bench: PortalBench, contender: str, full: FullInstallation, browser: Browser) -> None:
    administrator = full.people()[0]
    pages = {"dashboard": "/", "job": f"/jobs/{jobs_of(full.cluster, administrator.workspace_id)[0]}"}
    for _ in range(bench.few(2, 5)):
        for name, path in pages.items():
            context = signed_in_context(browser, full, administrator)
            case = f"{name_of_size(full.size)}, {name}"
            note(bench, f"{case}, cold", contender, load_page(context, full, path))
            note(bench, f"{case}, warm", contender, load_page(context, full, path))
            context.close()


def signed_in_context(browser: Browser, full: FullInstallation, person: SignedInPerson) -> BrowserContext:
    name, _, value = person.cookie.partition("=")
    context = browser.new_context(locale="en-US", viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": name, "value": value, "url": f"http://127.0.0.1:{full.port}"}])
    return context


def load_page(context: BrowserContext, full: FullInstallation, path: str) -> PageLoad:
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    finished: list[Any] = []
    session.on("Network.loadingFinished", lambda event: finished.append(event))
    page.goto(f"http://127.0.0.1:{full.port}{path}", wait_until="load")
    page.wait_for_timeout(
        500
    )  # The stream begins after the page has loaded, and counts as a request that never ends.
    times = page.evaluate(TIMES)
    page.close()
    return PageLoad(
        len(finished),
        int(sum(event["encodedDataLength"] for event in finished)),
        times["elements"],
        times["paint"] / 1000,
        times["interactive"] / 1000,
        times["loaded"] / 1000,
    )


def note(bench: PortalBench, case: str, contender: str, found: PageLoad) -> None:
    ledger = bench.ledger
    ledger.value(MEASURE, f"{case}: requests", contender, "requests", found.requests)
    ledger.value(MEASURE, f"{case}: over the wire", contender, "kB", found.bytes / 1000)
    ledger.value(MEASURE, f"{case}: elements", contender, "elements", found.elements)
    ledger.value(MEASURE, f"{case}: first paint", contender, "s", found.paint)
    ledger.value(MEASURE, f"{case}: interactive", contender, "s", found.interactive)
    ledger.value(MEASURE, f"{case}: loaded", contender, "s", found.loaded)
