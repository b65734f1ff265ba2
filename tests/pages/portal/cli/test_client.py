"""The command says what the portal answers."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result
from sqlalchemy import update
from werkzeug.serving import make_server

from cluster.store.users import ApiToken
from portal.cli import main
from portal.cli.client import EXIT_AUTH
from tests.pages.portal.rest_lab import Lab

Run = Callable[..., Result]


@pytest.fixture
def run(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    server = make_server("127.0.0.1", 0, lab.client.application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    token = lab.headers()["Authorization"].removeprefix("Bearer ")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GROUNDCREW_URL", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("GROUNDCREW_TOKEN", token)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*arguments: str, expected: int = 0) -> Result:
        result = CliRunner().invoke(main, list(arguments))
        assert result.exit_code == expected, result.output
        return result

    # The portal's log would land in what the command has written: both share this process.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield invoke
    structlog.reset_defaults()
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_a_token_that_was_revoked_is_said_to_be(run: Run, lab: Lab) -> None:
    run("job", "list")
    with lab.cluster.store.write() as session:
        session.execute(update(ApiToken).values(revoked_at=lab.cluster.clock()))
    said = run("job", "list", expected=EXIT_AUTH).stderr
    assert "This token was revoked: by hand, or because the password or the role" in said
    assert "groundcrew login" in said
