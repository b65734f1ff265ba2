"""`make up` says how root opens the SSH door, if packages are all that it lacks."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.event_bus import NullEventBus
from cluster.services.context import Cluster
from cluster.store.engine import Store
from tests.conftest import settings_for
from worker.embedded.commands import up

BOTH = ["openssh-server", "libnss-extrausers"]


@pytest.mark.parametrize(
    ("missing", "user", "port", "said"),
    [
        (BOTH, 0, 2222, "apt-get install openssh-server libnss-extrausers"),
        (BOTH[1:], 0, 2222, "apt-get install libnss-extrausers"),
        ([], 0, 2222, ""),
        (BOTH, 1000, 2222, ""),
        (BOTH, 0, 0, ""),
    ],
)
def test_a_closed_door_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    missing: list[str],
    user: int,
    port: int,
    said: str,
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(up, "missing_packages", lambda: missing)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    url = f"sqlite:///{tmp_path}/groundcrew.db"
    settings = replace(settings_for(url, tmp_path), ssh_port=port)
    up.print_closed_door(Cluster(Store(url), NullEventBus(), settings))
    shown = capsys.readouterr().out
    assert (said in shown and len(shown.splitlines()) == 1) if said else shown == ""
