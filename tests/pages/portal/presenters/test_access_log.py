"""Entries of the access log are filtered by day and written as CSV."""

from datetime import timedelta

from cluster.store.audit import add_audit_entry
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_access_log import fill, names


def test_the_day_is_that_of_the_installations_clock(lab: Lab) -> None:
    midnight = lab.cluster.clock().replace(hour=15, minute=0)
    for minutes in (-1, 0):
        with lab.cluster.store.write() as session:
            add_audit_entry(
                session, midnight + timedelta(minutes=minutes), actor_of(lab.manager), "job.stopped", 1
            )
    browser = lab.browser(lab.administrator)
    assert names(browser.get("/access-log?day=2026-11-21&format=csv").text) == ["job.stopped"]


def test_a_formula_in_an_entry_stays_text(lab: Lab) -> None:
    fill(lab)
    text = lab.browser(lab.administrator).get("/access-log?kind=job&format=csv").text
    assert "note==cmd()" in text and ",=cmd" not in text
