"""Every response has the headers that keep browsers from running or framing what is not ours."""

from flask import Flask

from portal.web import security_headers


def test_headers_are_set_unless_a_view_sets_its_own() -> None:
    app = Flask(__name__)
    security_headers.init_app(app)
    app.add_url_rule("/", "home", lambda: "")
    app.add_url_rule("/kept", "kept", lambda: ("", {"Cache-Control": "max-age=60"}))
    client = app.test_client()
    plain = client.get("/").headers
    assert "script-src 'self'" in plain["Content-Security-Policy"]
    assert plain["X-Content-Type-Options"] == "nosniff"
    assert plain["Cache-Control"] == "no-store"
    assert "Strict-Transport-Security" not in plain
    assert client.get("/kept").headers["Cache-Control"] == "max-age=60"
    assert "max-age" in client.get("/", base_url="https://portal").headers["Strict-Transport-Security"]
