"""The health check answers, and reports of browsers are logged."""

from flask.testing import FlaskClient


def test_browsers_report_what_the_policy_blocked_without_a_token(client: FlaskClient) -> None:
    assert client.post("/csp-report", json={"csp-report": {"blocked-uri": "inline"}}).status_code == 204
    assert client.post("/csp-report", data=b"\xff" * 100_000).status_code == 204


def test_health_says_nothing_about_the_installation(client: FlaskClient) -> None:
    answer = client.get("/health")
    assert answer.status_code == 200
    assert set(answer.get_json()) == {"status", "version"}
