"""Flask alone behind the portal's own nginx and gunicorn: what the frame allows on this machine."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from flask import Flask

from cluster.settings import Settings
from tests.bench.bench_installation import wait_until
from tests.free_ports import free_port
from tests.installation import ROOT
from worker.bootstrap.paths import InstallationPaths
from worker.embedded.nginx import copy_static_files, ensure_nginx_configuration

APP = "tests.bench.portal_load.bare_flask:app"
CONFIGURATION = "python:tests.bench.portal_load.bare_gunicorn"
GUNICORN = (sys.executable, "-m", "gunicorn", "--config", CONFIGURATION, "--bind")
TEXT = "<!doctype html><title>bare</title><p>hello"
app = Flask(__name__)


@app.get("/")
def page() -> str:
    return TEXT


@contextmanager
def bare_flask(
    settings: Settings, served: str = APP, variables: Mapping[str, str] | None = None
) -> Iterator[int]:
    """The port of an nginx in front of it. `settings` are those of the installation beside which it runs, `variables`
    those that another app than this one needs.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gc-bare-")))
        folder.chmod(0o755)
        places = InstallationPaths(ROOT, folder, settings.cache_dir)
        bare = replace(settings, state_dir=folder, port=free_port())
        ensure_nginx_configuration(places, bare)
        copy_static_files(places, bare)
        gunicorn = [*GUNICORN, f"unix:{places.portal_socket}", served]
        stack.enter_context(running(gunicorn, folder, settings_variables(folder) | dict(variables or {})))
        wait_until(places.portal_socket.exists, 30, "gunicorn's socket")
        stack.enter_context(running(["/bin/sh", str(places.nginx_dir / "start")], folder, {}))
        wait_until(lambda: is_answering(bare.port), 30, "bare Flask")
        yield bare.port


def settings_variables(folder: Path) -> dict[str, str]:
    """What the portal's configuration of gunicorn wants to be told; bare Flask uses none of it."""
    return {
        "GROUNDCREW_STATE_DIR": str(folder),
        "GROUNDCREW_CACHE_DIR": str(folder),
        "GROUNDCREW_DATABASE_URL": "sqlite:////nonexistent",
        "GROUNDCREW_REDIS_URL": "unix:///nonexistent",
        "GROUNDCREW_SECRET_KEY": "none",
    }


def is_answering(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except HTTPError as answer:
        return answer.code == 405  # An app that takes only posts.
    except (URLError, OSError):
        return False


@contextmanager
def running(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **environment}
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)
