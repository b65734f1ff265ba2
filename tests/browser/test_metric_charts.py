"""Graphs of whatever a program logs, in the real browser."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from cluster.store.jobs import Job
from tests.browser.conftest import PageIn, served, signed_in
from tests.pages.portal.pages_lab import Lab, lab, one_portal

__all__ = ["lab", "one_portal"]

ROWS = 30
OTHERS = 14


@pytest.fixture
def base_url(lab: Lab) -> Iterator[str]:
    with served(lab.app) as url:
        yield url


@pytest.fixture
def job(lab: Lab) -> Job:
    """Logs a loss that is no number in the middle, a validation now and then, and OTHERS more metrics."""
    job = lab.a_running_job()
    with (lab.out(job) / "metrics.jsonl").open("w") as file:
        for step in range(1, ROWS + 1):
            scalars: dict[str, float | None] = {
                "train/loss": 3 / step if step != 15 else None,
                "bleu": step / 100,
            }
            scalars |= {f"layer/norm-{number:02}": step * number for number in range(OTHERS)}
            if step % 10 == 0:
                scalars["val/loss"] = 4 / step
            row = {"step": step, "time": step, "scalars": scalars}
            file.write(json.dumps(row | ({"not_finite": ["train/loss"]} if step == 15 else {})) + "\n")
    return job


def open_job(
    lab: Lab, job: Job, page_in: PageIn, base_url: str, language: str = "en", **dress: object
) -> Page:
    page = page_in(language, state=signed_in(lab.cluster, lab.seoyeon, base_url), **dress)
    page.goto(f"/jobs/{job.id}")
    page.wait_for_selector(".u-over")
    return page


def test_every_metric_is_drawn_and_the_rest_on_demand(
    lab: Lab, job: Job, page_in: PageIn, base_url: str
) -> None:
    page = open_job(lab, job, page_in, base_url)
    titles = page.locator(".charts h3:not(.chart-group)").all_inner_texts()
    assert titles[:3] == ["Loss", "bleu", "layer/norm-00"]
    assert page.locator(".chart-group").all_inner_texts() == ["layer"]
    assert page.locator("[data-chart]").count() == 12 and page.locator(".charts .empty").count() == 0
    expect(page.locator("[data-chart]").first).to_have_attribute(
        "aria-label", re.compile(r"^Loss: train 0.1, validation 0.1333$")
    )
    page.get_by_role("button", name="Show 4 more graphs").click()
    assert page.locator("[data-chart]").count() == OTHERS + 2
    expect(page.get_by_role("button", name="more graphs")).to_have_count(0)


def test_a_value_that_was_no_number_is_a_gap_and_a_rare_one_is_joined(
    lab: Lab, job: Job, page_in: PageIn, base_url: str
) -> None:
    """uPlot draws through undefined and leaves a gap at null."""
    page = open_job(lab, job, page_in, base_url)
    columns = page.evaluate(
        """async () => {
          const answer = await (await fetch(document.querySelector("[data-charts]").dataset.charts)).json();
          const [x, train, validation] = uPlot.join([answer.series["train/loss"], answer.series["val/loss"]]);
          const missing = validation.filter((y) => y === undefined).length;
          return [x.length, train.indexOf(null), missing, validation.indexOf(null)];
        }"""
    )
    assert columns == [ROWS, 14, ROWS - 3, -1]
