"""Each page of the navigation has its howto, and each howto is there."""

from flask import Flask

from portal.layout.help_topics import TOPICS
from portal.layout.navigation import administrator_navigation, workspace_navigation
from portal.presenters.guidance.help_pages import help_names
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.routes import ROUTES

WITHOUT = {
    "static",
    "help",
    "command",
    "health",
    "metrics",
    "preferences",
    "first_administrator",
    "sign_in",
    "links",
    "notebook_gate",
}
"""Help itself, pages before sign-in, and what is no page."""


def test_every_page_has_a_howto_that_is_there() -> None:
    blueprints = {route.endpoint.split(".")[0] for route in ROUTES if not route.is_api}
    assert blueprints - WITHOUT - {"api-docs"} == set(TOPICS)
    assert set(TOPICS.values()) <= set(help_names())


def navigation_paths(app: Flask) -> set[str]:
    with app.test_request_context():
        groups = (
            *administrator_navigation("/", has_repairs=True),
            *workspace_navigation("/", (1, "vision-lab")),
        )
        return {item.href for group in groups for item in group.items}


def test_the_question_mark_of_each_page_of_the_rail_leads_to_it(lab: Lab) -> None:
    browser = lab.browser(lab.administrator)
    for path in sorted(navigation_paths(lab.app)):
        answer = browser.get(path)
        assert answer.status_code == 200 and 'class="help-link" href="/help/' in answer.text, path
