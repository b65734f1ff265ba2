"""The portal of a drill gets a secret of its own; one that ends at once is quoted."""

import subprocess
import sys
from pathlib import Path

import pytest

from cluster.services.context import Cluster
from worker.backups.errors import BackupBroken
from worker.backups.scratch_portal import portal_variables, stop_portal, wait_for_socket


def test_the_portal_of_a_drill_knows_no_secret_of_ours(
    light_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDCREW_SECRET_KEY", "ours")
    variables = portal_variables(light_cluster.settings, "sqlite:////scratch.db", tmp_path)
    assert variables["GROUNDCREW_SECRET_KEY"] not in ("ours", light_cluster.settings.secret_key)
    assert variables["GROUNDCREW_STATE_DIR"] == str(tmp_path)


def test_a_portal_that_ends_before_its_socket_is_there_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as output:
        portal = subprocess.Popen([sys.executable, "-c", "print('no such table')"], stdout=output)
        portal.wait()
    with pytest.raises(BackupBroken) as broken:
        wait_for_socket(tmp_path / "portal.sock", portal, log)
    assert broken.value.data["said"] == "no such table"


def test_a_portal_is_stopped() -> None:
    portal = subprocess.Popen(["sleep", "60"])
    stop_portal(portal)
    assert portal.wait() == -15
