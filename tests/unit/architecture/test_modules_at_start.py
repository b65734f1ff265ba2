"""A service that starts loads nothing that it may never need: each such library is memory of a process and time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.__main__ import SERVICES
from worker.bootstrap.paths import CLONE

SELDOM = ("alembic", "docker", "kubernetes", "mako", "psycopg")
"""Migrations, and the executors and the database that an installation may not have."""
OUTSIDE = ("httpx", "pygments", "rich")
"""What asks other servers, and what draws in a terminal. The task workers send messages, and share it all."""
STARTS = {
    **{name: f"import worker.__main__; worker.__main__.load({path!r})" for name, path in SERVICES.items()},
    "portal": "import portal.gunicorn, portal.wsgi",
}


@pytest.mark.parametrize("service", [name for name in STARTS if name != "repair-door"])
def test_a_service_starts_without_what_it_seldom_needs(service: str, tmp_path: Path) -> None:
    program = f"{STARTS[service]}; import json, sys; print(json.dumps([*sys.modules]))"
    settings = {
        "GROUNDCREW_STATE_DIR": str(tmp_path),
        "GROUNDCREW_CACHE_DIR": str(tmp_path),
        "GROUNDCREW_DATABASE_URL": f"sqlite:///{tmp_path}/none.db",
        "GROUNDCREW_REDIS_URL": f"unix://{tmp_path}/none.sock",
        "GROUNDCREW_SECRET_KEY": "s" * 32,
    }
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=CLONE,
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = set(json.loads(found.stdout))
    assert {"cluster", "structlog"} <= modules
    assert not modules.intersection(SELDOM)
    if service in ("agent", "portal", "scheduler"):
        assert not modules.intersection(OUTSIDE)
