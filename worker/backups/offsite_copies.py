"""Copy verified backups to another machine by rsync. A failed copy is repeated the next night."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.domain.backups.problems import BackupProblem
from cluster.domain.errors import Unavailable
from cluster.services.backups.etcd_manifests import EtcdBackup, read_etcd_backups
from cluster.services.backups.manifests import Backup, manifest_path, read_backups
from cluster.settings import Settings
from worker.backups.dump import hold_backup_lock
from worker.backups.dump_files import read_manifest_values, write_backup_manifest
from worker.backups.encryption import EncryptionFailed, encrypted_copy

RSYNC = ("rsync", "--times", "--chmod=F600", "--partial-dir=.unfinished", "--timeout=120")
BY_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20"
"""BatchMode refuses a password and an unknown host key, because nobody sits at a terminal to answer."""
RSYNC_TIMEOUT = 4 * 3600
LAST_WORDS = 300


def copy_backups_offsite(settings: Settings, now: Callable[[], datetime]) -> list[str]:
    """Copies the backups that were not copied before, oldest first, and returns their names. Raises Unavailable for
    the first that fails.

    The manifest is copied after the file, because neither counts without the other on the other machine too.
    """
    done: list[str] = []
    if not settings.backup_copy:
        return done
    for backup in list_due_copies(settings):
        # No lock is held during a slow copy: a backup that is deleted meanwhile is just not copied.
        problem = copy_backup(settings, backup)
        if problem and not (settings.backups / backup.name).exists():
            continue
        why = asdict(problem) if problem else None
        update_manifest(
            settings, backup, {"copied_at": None if why else now().isoformat(), "copy_problem": why}
        )
        if why:
            raise Unavailable("backup.not_copied", name=backup.name, place=settings.backup_copy, said=why)
        done.append(backup.name)
    return done


def list_due_copies(settings: Settings) -> list[Backup | EtcdBackup]:
    with hold_backup_lock(settings):
        found: list[Backup | EtcdBackup] = [
            *read_backups(settings.backups),
            *read_etcd_backups(settings.backups),
        ]
        owed = [each for each in found if each.restored_at is not None and each.copied_at is None]
        return sorted(owed, key=lambda each: each.made_at)


def copy_backup(settings: Settings, backup: Backup | EtcdBackup) -> BackupProblem | None:
    """Returns None if the copy succeeded. A backup that is not encrypted is not copied to another machine."""
    file, manifest = settings.backups / backup.name, manifest_path(settings.backups, backup.name)
    if not settings.backup_recipient:
        if ":" in settings.backup_copy:
            return BackupProblem("copying.no_recipient")
        return run_rsync(settings, (file, manifest))
    try:
        with encrypted_copy(file, settings.backup_recipient) as encrypted:
            return run_rsync(settings, (encrypted, manifest))
    except EncryptionFailed as failed:
        return failed.problem


def run_rsync(settings: Settings, files: Sequence[Path]) -> BackupProblem | None:
    """Copies the files in this order. Returns None if all are there."""
    target = settings.backup_copy.rstrip("/") + "/"
    for file in files:
        try:
            done = subprocess.run(
                [*RSYNC, f"--rsh={BY_SSH}", "--", str(file), target],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=RSYNC_TIMEOUT, env=ssh_variables(),
            )  # fmt: skip
        except FileNotFoundError:
            return BackupProblem("copying.no_rsync")
        except subprocess.TimeoutExpired:
            return BackupProblem("copying.too_long", {"seconds": RSYNC_TIMEOUT})
        if done.returncode != 0:
            said = " ".join(done.stderr.split())[-LAST_WORDS:]
            return BackupProblem("copying.failed", {"exit_code": done.returncode, "said": said})
    return None


def ssh_variables() -> dict[str, str]:
    """The environment of ssh, without our secrets. ssh finds its keys in the home folder or by the agent."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "SSH_AUTH_SOCK") if name in os.environ}
    return {"LC_ALL": "C.UTF-8", **kept}


def update_manifest(settings: Settings, backup: Backup | EtcdBackup, told: dict[str, Any]) -> None:
    """Adds the result to the current manifest. Does nothing if the manifest has been deleted."""
    with hold_backup_lock(settings):
        path = manifest_path(settings.backups, backup.name)
        if path.exists():
            write_backup_manifest(settings.backups, read_manifest_values(path) | told)
