"""The `groundcrew` command against a portal that answers over a real socket."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from click.testing import CliRunner, Result
from werkzeug.serving import make_server

from portal.cli import main
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

    def invoke(*arguments: str, expected: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, list(arguments), input=stdin)
        assert result.exit_code == expected, (result.output, result.exception)
        return result

    # The portal's log would land in what the command has written: both share this process.
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield invoke
    structlog.reset_defaults()
    server.shutdown()
    thread.join(10)
    server.server_close()


def submit(run: Run, *arguments: str) -> int:
    result = run("job", "submit", "-t", "vision/digits-lenet", "-d", "digits", "-v", "epochs=2", *arguments)
    return int(result.stdout.strip().removeprefix("job-"))
