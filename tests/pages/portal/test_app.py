"""Every answer carries CSRF protection, headers, a request id, and errors in the reader's language."""

import pytest
import structlog
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from portal import create_app
from tests.pages.portal.filled_portal import House


def test_pages_are_kept_by_no_cache_and_static_files_are(client: FlaskClient) -> None:
    assert client.get("/sign-in").headers["Cache-Control"] == "no-store"
    answer = client.get("/static/app.css")
    assert "max-age=31536000" in answer.headers["Cache-Control"]
    answer.close()


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
