"""After a day with every kind of secret none of them stands in a log, a row, a file or a metric (S26)."""

import logging
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import structlog
from flask.testing import FlaskClient

from cluster.logging import configure_logging
from cluster.services.audit.log_lines import append_sealed_entries
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.services.nodes.node_tokens import create_node_token
from cluster.services.people import first_administrator
from portal import create_app
from tests.pages.portal.views.people.test_sign_in import COOKIE, post

CHOSEN = {
    "password": "canary battery of the chief 1",
    "weak": "canary5",
    "next password": "canary battery of the chief 2",
    "wrong password": "canary of somebody who guesses",
    "seoyeon's password": "canary battery of seoyeon 3",
    "bearer": "gc_1_canaryCanaryCanaryCanaryCanaryCanary",
    "metrics": "canary-of-the-metrics-token",
    "mail": "canary-of-the-mail-server",
    "webhook": "canary-of-the-webhook-secret",
    "key": "canary-of-the-secret-key-of-this-one",
}
"""What people and settings bring; what the portal makes itself is added on the way."""


@pytest.fixture
def cluster(light_cluster: Cluster) -> Cluster:
    settings = replace(
        light_cluster.settings,
        secret_key=CHOSEN["key"],
        metrics_token=CHOSEN["metrics"],
        mail_url=f"smtp://groundcrew:{CHOSEN['mail']}@mail.lab.example",
        webhook_secret=CHOSEN["webhook"],
    )
    return replace(light_cluster, settings=settings)


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """As the portal logs, so that the test reads what an administrator would; no logger keeps it afterwards."""
    before, lines = structlog.get_config(), StringIO()
    configure_logging(logging.DEBUG)
    structlog.configure(cache_logger_on_first_use=False, logger_factory=structlog.PrintLoggerFactory(lines))
    yield lines
    structlog.configure(**before)


def shown(page: str, pattern: str) -> str:
    found = re.search(pattern, page)
    assert found is not None, pattern
    return found[1]


def spend_a_day(cluster: Cluster, browser: FlaskClient) -> dict[str, str]:
    """Every way in, right and wrong; the secrets that were made on the way, by what they are."""
    made = {"first secret": first_administrator.issue_first_administrator_secret(cluster) or ""}
    first = {"secret": made["first secret"], "name": "hjkim"}
    post(browser, "/first-administrator", **first, password=CHOSEN["weak"])
    assert post(browser, "/first-administrator", **first, password=CHOSEN["password"]).status_code == 302
    cookie = browser.get_cookie(COOKIE)
    made["cookie"] = cookie.value if cookie else ""
    made_user = post(browser, "/users/new", name="seoyeon", full_name="", role="user")
    page = browser.get(made_user.location).text
    made["link"] = shown(page, r"/link/([\w-]{20,})")
    guest = browser.application.test_client()
    assert guest.get(f"/link/{made['link']}").status_code == 200
    post(guest, f"/link/{made['link']}", password=CHOSEN["weak"])
    assert post(guest, f"/link/{made['link']}", password=CHOSEN["seoyeon's password"]).status_code == 302
    assert guest.get(f"/link/{made['link']}").status_code == 404
    change = {"page": "/profile", "username": "hjkim", "password": CHOSEN["next password"]}
    assert post(browser, "/profile/password", **change, old=CHOSEN["wrong password"]).status_code == 422
    assert post(browser, "/profile/password", **change, old=CHOSEN["password"]).status_code == 303
    page = post(browser, "/profile/tokens", "/profile", token_name="laptop", scope="write", days="30").text
    made["token"] = shown(page, r'id="secret-text">([^<]+)<')
    made["node token"] = create_node_token(cluster, "w1", has_executor=False)
    call_by_program(browser, made)
    stranger = browser.application.test_client()
    post(stranger, "/sign-in", name="hjkim", password=CHOSEN["wrong password"])
    post(stranger, "/sign-in", name=CHOSEN["wrong password"], password="x")
    assert post(browser, "/sign-out", "/profile").status_code in (302, 303)
    return made


def call_by_program(browser: FlaskClient, made: dict[str, str]) -> None:
    """By tokens, also where they do not belong: in the address, and in one that leads nowhere."""
    program = browser.application.test_client()
    for token, status in ((made["token"], 200), (CHOSEN["bearer"], 401)):
        headers = {"Authorization": f"Bearer {token}"}
        assert program.get("/api/v1/jobs", headers=headers).status_code == status
    program.get(f"/api/v1/jobs?token={made['token']}")
    program.get(f"/nowhere/{made['token']}?password={CHOSEN['password']}")
    headers = {"Authorization": f"Bearer {made['node token']}"}
    assert program.post("/api/v1/heartbeats", json={"boot_id": ""}, headers=headers).status_code == 422
    assert (
        program.get("/metrics", headers={"Authorization": f"Bearer {CHOSEN['metrics']}"}).status_code == 200
    )


def everything_kept(cluster: Cluster, metrics: str) -> dict[str, str]:
    """Rows as a backup writes them, files, and what Prometheus reads."""
    cluster.clock.move(minutes=5)  # type: ignore[attr-defined]
    seal_entries(cluster)
    append_sealed_entries(cluster)
    path = cluster.store.url.database or ""
    with closing(sqlite3.connect(path)) as database:
        rows = "\n".join(database.iterdump())
    files = [file for file in cluster.settings.state_dir.rglob("*.log") if file.is_file()]
    assert files, "the access log has a file"
    return {"rows": rows, "metrics": metrics} | {str(file): Path(file).read_text() for file in files}


def test_no_secret_of_a_whole_day_is_left_anywhere(
    cluster: Cluster, logged: StringIO, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    app = create_app(cluster)
    made = spend_a_day(cluster, app.test_client())
    monkeypatch.setattr("portal.views.people.sign_in.sessions.sign_in", stumble)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    broken = post(app.test_client(), "/sign-in", name="hjkim", password=CHOSEN["password"])
    assert broken.status_code == 500
    headers = {"Authorization": f"Bearer {CHOSEN['metrics']}"}
    kept = everything_kept(cluster, app.test_client().get("/metrics", headers=headers).text)
    printed = capfd.readouterr()
    kept |= {"printed": logged.getvalue() + printed.out + printed.err, "page of the error": broken.text}
    assert '"route": "/link/<token>"' in kept["printed"] and "Traceback" in kept["printed"]
    everything = CHOSEN | made
    assert len(everything) == 15 and all(len(secret) >= 7 for secret in everything.values())
    found = [
        f"{what} in {where}"
        for what, secret in everything.items()
        for where, text in kept.items()
        if secret in text
    ]
    assert found == []


def stumble(*words: object, **more: object) -> None:
    """A bug that nobody foresaw, with the password among its arguments."""
    raise RuntimeError("stumbled")
