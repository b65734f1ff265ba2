"""The description of REST that people read says what the portal answers."""

from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.routes import ROUTES


def test_every_request_of_rest_is_described(lab: Lab) -> None:
    page = lab.browser(lab.seoyeon).get("/api").text
    described = [
        route for route in ROUTES if route.path.startswith("/api/v1/") and route.endpoint.startswith("api_")
    ]
    for route in described:
        path = route.path.replace("<int:", "{").replace("<path:", "{").replace("<", "{").replace(">", "}")
        assert f'<b class="mono">{route.method}</b> <code>{path}</code>' in page, route
    assert len(described) > 20
    assert "<code>time_limit_seconds</code>" in page and 'href="/api/v1/openapi.json"' in page


def test_the_usual_address_leads_there(lab: Lab) -> None:
    assert lab.app.test_client().get("/api/docs").location == "/api"
    assert 'href="/api"' in lab.browser(lab.seoyeon).get("/profile").text
    assert 'href="/api"' in lab.browser(lab.seoyeon).get("/help").text
