"""The health check answers, and reports of browsers are logged."""

import pytest
from flask.testing import FlaskClient
from structlog.testing import capture_logs

from portal.views.health import parse_report


def test_browsers_report_what_the_policy_blocked_without_a_token(client: FlaskClient) -> None:
    assert client.post("/csp-report", json={"csp-report": {"blocked-uri": "inline"}}).status_code == 204
    assert client.post("/csp-report", data=b"\xff" * 100_000).status_code == 204


def test_nobody_writes_their_own_text_into_the_log_by_a_report(client: FlaskClient) -> None:
    sent = [b"let me be in your log" * 300, b'{"csp-report": {"blocked-uri": "inline", "else": "let me in"}}']
    with capture_logs() as logged:
        for content in sent:
            assert client.post("/csp-report", data=content).status_code == 204
    assert "let me" not in str(logged) and [line.get("blocked_uri") for line in logged].count("inline") == 1


def test_health_says_nothing_about_the_installation(client: FlaskClient) -> None:
    answer = client.get("/health")
    assert answer.status_code == 200
    assert set(answer.get_json()) == {"status", "version"}


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (
            b'{"csp-report": {"blocked-uri": "https://x.example/a?token=1", "line-number": 3, "sample": "let"}}',
            {"blocked_uri": "https://x.example/a", "line_number": "3"},
        ),
        (b'{"csp-report": {"document-uri": "' + b"a" * 900 + b'"}}', {"document_uri": "a" * 200}),
        (b'{"csp-report": []}', {}),
        (b'{"csp-report": 7}', {}),
        (b'["csp-report"]', {}),
        (b"\xff", {}),
        (b"[" * 8000, {}),
        (b"", {}),
    ],
)
def test_of_a_report_only_what_browsers_write_is_logged(content: bytes, fields: dict[str, str]) -> None:
    assert parse_report(content) == fields
