"""Each path that other programs know leads to an endpoint of the portal, and each is written in one place."""

import re
from pathlib import Path

import pytest
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from cluster import portal_paths
from cluster.domain.alerts import Alert, AlertTopic, AlertUrgency
from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from portal import create_app
from portal.live.service import LOG_PATH
from tests.conftest import settings_for

ROOT = Path(__file__).parents[3]
PAGES = (
    portal_paths.HEALTH,
    portal_paths.METRICS,
    portal_paths.SIGN_IN,
    portal_paths.FIRST_ADMINISTRATOR,
    portal_paths.PROFILE,
    portal_paths.one_time_link("secret"),
    *portal_paths.DRILL_PAGES,
)
KNOWN_PATH = re.compile(
    r"""["'}](?:/health|/metrics|/stream|/sign-in|/first-administrator|/profile|/link/|/api/v1)(?=["'/{])"""
)


@pytest.fixture(scope="module")
def routes() -> MapAdapter:
    url = "sqlite:////nowhere/groundcrew.db"
    cluster = Cluster(Store(url), NullEventBus(), settings_for(url, Path("/nowhere")))
    return create_app(cluster, testing=True).url_map.bind("localhost")


def leads_somewhere(routes: MapAdapter, path: str, method: str = "GET") -> bool:
    try:
        routes.match(path, method)
    except HTTPException:
        return False
    return True


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_an_endpoint(routes: MapAdapter, path: str) -> None:
    assert leads_somewhere(routes, path)


@pytest.mark.parametrize("attempt", [None, 3])
def test_chunks_of_a_log_have_an_address_that_their_service_knows(attempt: int | None) -> None:
    assert LOG_PATH.fullmatch(portal_paths.log_chunks(7, attempt).partition("?")[0])


def test_agents_post_their_heartbeats_to_an_endpoint(routes: MapAdapter) -> None:
    assert leads_somewhere(routes, portal_paths.HEARTBEATS, "POST")


@pytest.mark.parametrize("is_administrator", [True, False])
@pytest.mark.parametrize("topic", AlertTopic)
def test_each_alert_leads_to_a_page(routes: MapAdapter, topic: AlertTopic, is_administrator: bool) -> None:
    alert = Alert(AlertUrgency.FAILED, topic, "attention.job_stuck", 7)
    assert leads_somewhere(routes, portal_paths.alert_path(alert, is_administrator))


def test_an_environment_that_no_operation_builds_has_no_page() -> None:
    alert = Alert(AlertUrgency.FAILED, AlertTopic.ENVIRONMENT, "attention.environment_failed", 0)
    assert portal_paths.alert_path(alert) == ""


@pytest.mark.parametrize("file", ["portal/layout/navigation.py", "portal/static/js/shortcuts.js"])
def test_the_menu_and_the_shortcuts_lead_to_pages(routes: MapAdapter, file: str) -> None:
    paths = set(re.findall(r'"(/[a-z-]*)"', (ROOT / file).read_text()))
    assert len(paths) > 5
    assert {path for path in paths if not leads_somewhere(routes, path)} == set()


def test_a_path_that_the_portal_has_not_is_found(routes: MapAdapter) -> None:
    assert not leads_somewhere(routes, "/nowhere")
    assert not leads_somewhere(routes, portal_paths.HEALTH, "POST")


def test_nginx_knows_the_same_cookie_and_stream() -> None:
    template = (ROOT / "roles/nginx/templates/groundcrew.conf.j2").read_text()
    cookie = portal_paths.session_cookie_name(8470).replace("8470", "{{ nginx_port }}")
    assert f"$cookie_{cookie}" in template
    assert f"location = {portal_paths.STREAM} " in template


def test_no_other_file_of_the_cluster_and_the_worker_writes_these_paths() -> None:
    written = {
        str(path.relative_to(ROOT))
        for package in ("cluster", "worker")
        for path in (ROOT / package).rglob("*.py")
        if KNOWN_PATH.search(path.read_text()) or "gc_session" in path.read_text()
    }
    assert written == {
        "cluster/portal_paths.py",
        # Sentences with the path in them, as the translators have it.
        "worker/bootstrap/korean.py",
        "worker/console/password_links.py",
        "worker/embedded/commands/up.py",
    }
