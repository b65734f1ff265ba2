"""A proved backup goes to the other machine the same night; what could not go is said, and goes the next night."""

import fcntl
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.domain.backups.problems import BackupProblem
from cluster.domain.errors import Unavailable
from cluster.services.backups.manifests import Backup, read_backups
from cluster.services.context import Cluster
from cluster.settings import Settings
from tests.recovery_key import RecoveryKey
from tests.recovery_key import recovery_key as recovery_key
from worker.backups import offsite_copies
from worker.backups.drill import drill_newest_backup
from worker.backups.dump import make_backup
from worker.backups.encryption import decrypted_backup
from worker.backups.offsite_copies import copy_backups_offsite
from worker.backups.retention import sha256_of_file

NOW = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)


@pytest.fixture
def settings(light_cluster: Cluster, tmp_path: Path) -> Settings:
    """With one proved backup, to be copied to a folder that is not there yet."""
    (light_cluster.settings.state_dir / "database").mkdir()
    found = replace(light_cluster.settings, backup_copy=str(tmp_path / "nas" / "groundcrew"))
    make_backup(found, NOW)
    drill_newest_backup(found, NOW)
    return found


def now() -> datetime:
    return NOW


def test_file_and_manifest_go_there_once(settings: Settings) -> None:
    target = Path(settings.backup_copy)
    target.mkdir(parents=True)
    (backup,) = read_backups(settings.backups)
    assert copy_backups_offsite(settings, now) == [backup.name]
    assert sha256_of_file(target / backup.name) == backup.sha256
    assert [each.restored_at for each in read_backups(target)] == [NOW]
    assert copy_backups_offsite(settings, now) == []
    assert read_backups(settings.backups)[0].copied_at == NOW


def test_a_place_that_is_away_is_said_and_tried_again(settings: Settings) -> None:
    with pytest.raises(Unavailable) as away:
        copy_backups_offsite(settings, now)
    assert away.value.code == "backup.not_copied" and away.value.data["place"] == settings.backup_copy
    (backup,) = read_backups(settings.backups)
    assert backup.copied_at is None and backup.restored_at is not None
    assert backup.copy_problem is not None and backup.copy_problem.code == "copying.failed"
    assert "failed" in backup.copy_problem.data["said"]
    make_backup(settings, NOW + timedelta(days=1))
    drill_newest_backup(settings, NOW + timedelta(days=1))
    Path(settings.backup_copy).mkdir(parents=True)
    assert copy_backups_offsite(settings, now) == sorted(each.name for each in read_backups(settings.backups))
    assert {each.copy_problem for each in read_backups(settings.backups)} == {None}


def test_without_rsync_it_says_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable) as missing:
        copy_backups_offsite(settings, now)
    assert missing.value.data["said"] == {"code": "copying.no_rsync", "data": {}}


def test_what_is_not_proved_stays_here(settings: Settings) -> None:
    Path(settings.backup_copy).mkdir(parents=True)
    make_backup(settings, NOW + timedelta(days=1))
    assert len(copy_backups_offsite(settings, now)) == 1


def test_without_a_place_nothing_is_copied(settings: Settings) -> None:
    assert copy_backups_offsite(replace(settings, backup_copy=""), now) == []


def test_a_slow_line_keeps_no_backup_waiting(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a file that was thrown away while it was being copied fail the others."""
    free = []

    def slow(_: Settings, backup: Backup) -> BackupProblem:
        with (settings.backups / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free.append(backup.name)
        (settings.backups / backup.name).unlink()
        return BackupProblem("copying.failed", {"exit_code": 23, "said": "link has gone away"})

    monkeypatch.setattr(offsite_copies, "copy_backup", slow)
    assert copy_backups_offsite(settings, now) == []
    assert free


def test_nothing_goes_to_another_machine_without_a_recovery_key(settings: Settings) -> None:
    with pytest.raises(Unavailable) as refused:
        copy_backups_offsite(replace(settings, backup_copy="backup@nas:/srv/groundcrew"), now)
    assert refused.value.data["said"]["code"] == "copying.no_recipient"


def test_a_key_that_is_none_is_said_and_nothing_is_copied(
    settings: Settings, recovery_key: RecoveryKey
) -> None:
    Path(settings.backup_copy).mkdir(parents=True)
    with pytest.raises(Unavailable) as refused:
        copy_backups_offsite(replace(settings, backup_recipient="age1nonsense"), now)
    assert refused.value.data["said"]["code"] == "copying.not_encrypted"
    assert list(Path(settings.backup_copy).iterdir()) == []


SSH = """#!/bin/sh
echo "$@" >> {told}
while [ "${{1#-}}" != "$1" ]; do shift 2; done
shift
exec "$@"
"""
"""Stands in for ssh: writes its words down, and does here what is asked of the other machine."""


def test_another_machine_is_asked_by_ssh_which_may_ask_nobody(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recovery_key: RecoveryKey
) -> None:
    (backup,) = read_backups(settings.backups)
    ssh, told, target = tmp_path / "ssh", tmp_path / "told", tmp_path / "far"
    ssh.write_text(SSH.format(told=told))
    ssh.chmod(0o755)
    target.mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    far = replace(settings, backup_copy=f"backup@nas:{target}", backup_recipient=recovery_key.recipient)
    assert copy_backups_offsite(far, now) == [backup.name]
    assert {each.name for each in target.iterdir()} == {f"{backup.name}.age", f"{backup.name}.json"}
    assert list(settings.backups.glob(".copy-*")) == []
    with decrypted_backup(target / f"{backup.name}.age", recovery_key.file) as plain:
        assert sha256_of_file(plain) == backup.sha256
        assert [each.restored_at for each in read_backups(plain.parent)] == [NOW]
    assert "BatchMode=yes" in told.read_text() and "-l backup nas rsync" in told.read_text()
