"""Each request has an id and one line in the log, without secrets."""

import json

import pytest
import structlog
from flask.testing import FlaskClient

from tests.pages.portal.filled_portal import House


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
