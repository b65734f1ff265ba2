"""The rail leads administrators further than others."""

from tests.pages.portal.pages_lab import Lab


def test_the_rail_has_repairs_for_administrators_alone(lab: Lab) -> None:
    assert 'href="/repairs"' in lab.browser(lab.administrator).get("/").text
    assert 'href="/repairs"' not in lab.browser(lab.seoyeon).get("/").text
