"""Every answer keeps other sites out."""

import pytest
from flask.testing import FlaskClient


@pytest.mark.parametrize("path", ["/sign-in", "/health", "/static/app.css", "/nothing-here", "/api/v1/nodes"])
def test_every_answer_keeps_other_sites_out(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    answer.close()
