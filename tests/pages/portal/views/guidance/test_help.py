"""Help is shown in the reader's language and searched."""

import pytest

from tests.pages.portal.pages_lab import Lab


@pytest.mark.parametrize("language", ["en", "ko"])
def test_help_is_shown_in_the_readers_language(lab: Lab, language: str) -> None:
    browser = lab.browser(lab.seoyeon, language)
    assert f'class="panel panel-body prose" lang="{language}"' in browser.get("/help/jobs").text
    assert "아직 영어로만 있습니다" not in browser.get("/help/upgrades").text


@pytest.mark.parametrize("name", ["nonesuch", "..%2Fqueue", "first-training.ko", "prometheus-alerts.yml"])
def test_there_are_no_other_pages(lab: Lab, name: str) -> None:
    assert lab.browser(lab.seoyeon).get(f"/help/{name}").status_code == 404


def test_help_is_searched(lab: Lab) -> None:
    found = lab.browser(lab.seoyeon).get("/help?q=GROUNDCREW_DATASET").text
    assert 'href="/help/datasets"><b>' in found
    assert "No page has these words." in lab.browser(lab.seoyeon).get("/help?q=<nonesuch>").text
