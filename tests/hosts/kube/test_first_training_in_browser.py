"""The first training as an administrator sees it: chosen by clicks, watched in the browser until it has ended.

Over TLS as nginx of the master serves it, from pods on two workers. From the click on nobody loads a page again.
"""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.journey import fill, sign_in
from tests.browser.page_checks import Watch
from tests.browser.page_recorder import Seen, seen_on, watch
from tests.hosts.kube.scenarios.gangs import GOOD, UNITS
from tests.hosts.kube.scenarios.gangs import pilot as pilot
from tests.hosts.kube.scenarios.portal_user import Pilot, measured

pytestmark = pytest.mark.long
LANDS_WITHIN_MS = 300_000
AT_LEAST = 4
"""So many looks at a graph or a log that grows differ from one another."""
ACCURACY = re.compile(r"validation ([\d.]+) %")


@pytest.fixture
def context(browser: Browser, pilot: Pilot) -> Iterator[BrowserContext]:
    """The installation's own authority is known to nobody outside of it; all else a page may not do is watched."""
    with browser.new_context(base_url=pilot.url, ignore_https_errors=True, locale="en-US") as context:
        context.set_default_timeout(30_000)
        watched = Watch(pilot.url)
        watched.begin(context)
        yield context
        assert watched.problems == []


def test_a_first_training_over_two_workers_is_watched_until_it_has_finished(
    pilot: Pilot, context: BrowserContext
) -> None:
    page = context.new_page()
    sign_in(page, "ops")
    since = time.monotonic()
    job = submit(page, pilot)
    watch(page)
    log = context.new_page()
    log.goto(f"/jobs/{job}?tab=log")
    watch(log)

    expect(page.locator("#job-head .pill")).to_have_text("Running", timeout=LANDS_WITHIN_MS)
    measured("LeNet by clicks, MPIJob over two workers: the page says running", time.monotonic() - since)
    says_where(page, pilot)
    expect(page.locator("#job-head .pill")).to_have_text("Finished", timeout=LANDS_WITHIN_MS)
    measured("LeNet by clicks, MPIJob over two workers: the page says finished", time.monotonic() - since)
    expect(log.locator(".log-line", has_text=f"Rank 0 of {UNITS} ends with weights")).to_be_attached()
    expect(page.locator("#job-head")).to_contain_text(re.compile(r"Best validation\s*\d+(\.\d+)? %"))

    head, tail = seen_on(page), seen_on(log)
    assert head.states[-3:] == ["Starting", "Running", "Finished"], head.states
    assert head.graphs.keys() >= {
        f"graph-{name}" for name in ("loss", "accuracy", "learning_rate", "images_per_second")
    }
    for graph in ("graph-loss", "graph-accuracy"):
        assert len(head.graphs[graph]) >= AT_LEAST, head.graphs
    assert len(tail.lines) >= AT_LEAST and tail.lines == sorted(tail.lines), tail.lines
    assert_rung(head, "metrics")
    assert_rung(tail, "log")
    assert float(page_says(page, "accuracy")) >= 100 * GOOD


def submit(page: Page, pilot: Pilot) -> int:
    """From the list of trainings to the page of the job."""
    page.goto(f"/workspaces/{pilot.made['workspace']}/trainings")
    page.get_by_role("link", name="New job of lenet").click()
    values = {"name": "watched", "dataset": str(pilot.made["digits"]), "units": str(UNITS)}
    fill(page, values | {"variables.epochs": "20"})
    page.get_by_role("button", name="Make 1 job").click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    return int(page.url.rpartition("/")[2])


def says_where(page: Page, pilot: Pilot) -> None:
    """Both workers, and how much of the job is on each."""
    sheet = page.locator("#job-sheet")
    for name in ("w1", "w2"):
        node = pilot.cluster.bed.hosts[name].name
        expect(sheet).to_contain_text(re.compile(rf"{re.escape(node)}\s+2 CPU slots"))
        expect(page.locator("#job-head .page-truth")).to_contain_text(node)


def assert_rung(seen: Seen, name: str) -> None:
    """It was the stream that brought it, and not a question that the page asks now and then."""
    assert seen.rings.get(name, 0) >= AT_LEAST, seen.rings


def page_says(page: Page, graph: str) -> str:
    found = ACCURACY.search(page.locator(f"#{graph}").get_attribute("aria-label") or "")
    assert found, graph
    return found[1]
