"""Every answer carries CSRF protection, headers, a request id, and errors in the reader's language."""

import json

import pytest
import structlog
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from portal import create_app
from tests.pages.portal.filled_portal import House
from tests.pages.portal.routes import ROUTES, Route, address
from tests.pages.portal.views.people.test_sign_in import token_of

WRITES = [route for route in ROUTES if route.method != "GET" and not route.is_api]


@pytest.mark.parametrize("route", [r for r in WRITES if r.endpoint != "health.csp_report"], ids=str)
@pytest.mark.parametrize("token", [None, "", "forged"])
def test_no_page_is_written_to_without_its_token(house: House, route: Route, token: str | None) -> None:
    client = house.visitor("administrator", is_strict=True)
    client.get("/profile")
    answer = client.open(
        address(house, route), method=route.method, data={} if token is None else {"csrf_token": token}
    )
    assert answer.status_code == 400
    assert "open for too long" in answer.text


def test_htmx_sends_the_token_in_a_header(house: House) -> None:
    client = house.visitor("owner", is_strict=True)
    headers = {"X-CSRFToken": token_of(client, "/profile")}
    answer = client.post("/profile/sessions/end-others", headers=headers)
    assert answer.status_code == 303


def test_browsers_report_what_the_policy_blocked_without_a_token(client: FlaskClient) -> None:
    assert client.post("/csp-report", json={"csp-report": {"blocked-uri": "inline"}}).status_code == 204
    assert client.post("/csp-report", data=b"\xff" * 100_000).status_code == 204


@pytest.mark.parametrize("path", ["/sign-in", "/health", "/static/app.css", "/nothing-here", "/api/v1/nodes"])
def test_every_answer_keeps_other_sites_out(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    answer.close()


def test_pages_are_kept_by_no_cache_and_static_files_are(client: FlaskClient) -> None:
    assert client.get("/sign-in").headers["Cache-Control"] == "no-store"
    answer = client.get("/static/app.css")
    assert "max-age=31536000" in answer.headers["Cache-Control"]
    answer.close()


def test_health_says_nothing_about_the_installation(client: FlaskClient) -> None:
    answer = client.get("/health")
    assert answer.status_code == 200
    assert set(answer.get_json()) == {"status", "version"}


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("from-nginx-1234", True), ("short", False), ("x" * 65, False), ("a b c d e f g", False)],
)
def test_a_proxys_request_id_is_kept_where_it_is_well_formed(
    client: FlaskClient, given: str, is_kept: bool
) -> None:
    answer = client.get("/health", headers={"X-Request-Id": given})
    assert (answer.headers["X-Request-Id"] == given) is is_kept
    assert 8 <= len(answer.headers["X-Request-Id"]) <= 64


def test_the_request_log_holds_no_secret(house: House) -> None:
    with structlog.testing.capture_logs() as lines:
        house.visitor("anonymous").get(f"/link/{house.link}?password=hush")
        house.visitor("anonymous").post(
            "/sign-in",
            data={"name": "seoyeon", "password": "hush hush"},
            headers={"Authorization": "Bearer hush"},
        )
        house.visitor("owner").get("/nodes")
    text = json.dumps(lines)
    assert house.link not in text and "hush" not in text and house.sessions["owner"] not in text
    last = lines[-1]
    assert (last["event"], last["user"], last["route"], last["status"]) == (
        "request",
        "seoyeon",
        "/nodes",
        200,
    )
    assert "seconds" in last and last["address"] == "127.0.0.1"


@pytest.mark.parametrize(("language", "word"), [("en", "nothing at this address"), ("ko", "이 주소에는")])
def test_errors_speak_the_readers_language(house: House, language: str, word: str) -> None:
    headers = {"Accept-Language": language}
    page = house.visitor("owner").get("/nothing-here", headers=headers)
    assert page.status_code == 404 and word in page.text and f'lang="{language}"' in page.text
    assert "seoyeon" in page.text, "the rail stays, so that the person can go on"
    rest = house.app.test_client().get("/api/v1/nothing", headers=headers)
    assert rest.status_code == 404 and word in rest.get_json()["detail"]


def test_a_bug_shows_its_number_and_nothing_of_the_code(light_cluster: Cluster) -> None:
    app = create_app(light_cluster)
    app.config["PROPAGATE_EXCEPTIONS"] = False

    def broken() -> str:
        raise RuntimeError("the secret inside")

    app.view_functions["health.health"] = broken
    with structlog.testing.capture_logs() as lines:
        answer = app.test_client().get("/health")
    assert answer.status_code == 500
    assert "the secret inside" not in answer.text and "Traceback" not in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    assert any(line["event"] == "bug" for line in lines)


def test_a_database_that_is_gone_still_gets_a_page(light_cluster: Cluster) -> None:
    app = create_app(light_cluster)
    client = app.test_client()
    client.set_cookie("gc_session_8470", "any")
    light_cluster.store.engine.dispose()
    (light_cluster.settings.state_dir / "groundcrew.db").write_bytes(b"no database at all" * 100)
    for path in ("/", "/sign-in", "/health", "/nodes"):
        answer = client.get(path)
        assert answer.status_code == 500
        assert answer.headers["X-Request-Id"] in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/nodes", 405),
        ("POST", "/", 405),
        ("GET", "/users/x", 404),
        ("GET", "/static/../app.py", 404),
    ],
)
def test_odd_requests_are_answered_with_a_page(house: House, method: str, path: str, status: int) -> None:
    answer = house.visitor("administrator").open(path, method=method)
    assert answer.status_code == status and "<html" in answer.text


def test_a_choice_of_language_and_theme_stays_with_the_person(house: House) -> None:
    browser = house.visitor("owner")
    assert browser.post("/language", data={"language": "ko", "next": "/nodes"}).location == "/nodes"
    browser.post("/theme", data={"theme": "dark"})
    other = house.visitor("owner")
    page = other.get("/", headers={"Accept-Language": "en"}).text
    assert 'lang="ko"' in page and 'data-bs-theme="dark"' in page
