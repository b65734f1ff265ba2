"""The navigation of each person."""

import json

from tests.pages.portal.pages_lab import Lab


def test_a_fragment_tells_the_counts_that_the_rail_around_it_shows(lab: Lab) -> None:
    browser, ask = lab.browser(lab.seoyeon), {"HX-Request": "true"}
    fragment = browser.get("/jobs", headers=ask)
    assert json.loads(fragment.headers["Groundcrew-Counts"]) == {"/queue": "", "/jobs": ""}
    lab.a_running_job()
    fragment = browser.get("/jobs", headers=ask)
    assert json.loads(fragment.headers["Groundcrew-Counts"]) == {"/queue": "", "/jobs": "1"}
    assert "Groundcrew-Counts" not in browser.get("/jobs").headers, "a whole page has them in its rail"
