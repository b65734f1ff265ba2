"""Store the newest etcd snapshot among the backups and drill it: a fresh etcd must start on it and hold a cluster."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cluster.domain.backups.retention import StoredBackup, surplus_backups
from cluster.domain.errors import Unavailable
from cluster.services.backups.etcd_manifests import EtcdBackup, read_etcd_backups
from cluster.services.backups.manifests import manifest_path
from cluster.settings import Settings
from worker.backups.drill import UNZSTD, check_backup_digest
from worker.backups.dump import hold_backup_lock, measure_file, write_backup_manifest, write_compressed
from worker.backups.errors import BackupBroken, disk_full_as_unavailable

STAMP = "etcd-%Y%m%dT%H%M%SZ.db"
PIECE = 1024 * 1024
START_TIMEOUT = 120
"""Seconds in which a fresh etcd has to start. ENDS_WITHIN limits each command."""
RUN_TIMEOUT = 600
NEWER_THAN = timedelta(hours=24, minutes=10)
"""A snapshot is written each night by another timer than the backup's. An older one means that the last night's
failed.
"""
WITNESS_KEY = "/registry/namespaces/kube-system"
"""The key exists in every cluster."""


@dataclass(frozen=True)
class EtcdSnapshot:
    """A snapshot that the role kubernetes has left, what etcd's tools reported about it, and the programs of that
    etcd.
    """

    file: Path
    made_at: datetime
    revision: int
    etcd: Path
    etcdctl: Path
    etcdutl: Path


def back_up_etcd_snapshot(settings: Settings, now: datetime) -> EtcdBackup | None:
    """Stores and drills the newest snapshot. Returns None if this installation has no Kubernetes.

    Raises Unavailable if there is no snapshot, or it is too old or broken.
    """
    if settings.etcd_snapshots is None:
        return None
    with hold_backup_lock(settings), disk_full_as_unavailable(settings.backups):
        snapshot = find_newest_snapshot(settings.etcd_snapshots)
        store_snapshot(settings, snapshot)
        manifest = drill_snapshot(settings, snapshot, now)
        delete_surplus_snapshots(settings)
        if manifest["problem"]:
            raise Unavailable("backup.broken", name=manifest["name"], problem=manifest["problem"])
        if now - snapshot.made_at > NEWER_THAN:
            raise Unavailable("backup.etcd_too_old", name=snapshot.file.name)
        return next(each for each in read_etcd_backups(settings.backups) if each.name == manifest["name"])


def find_newest_snapshot(folder: Path) -> EtcdSnapshot:
    """Raises Unavailable if there is no snapshot with a readable record."""
    for record in sorted(folder.glob("etcd-*.db.json"), reverse=True):
        file = record.with_suffix("")
        try:
            told = json.loads(record.read_text())
            made_at = datetime.strptime(file.name, STAMP).replace(tzinfo=UTC)
            programs = [Path(told["programs"]) / f"{name}-{told['version']}" for name in PROGRAMS]
            if file.is_file():
                return EtcdSnapshot(file, made_at, int(told["status"]["revision"]), *programs)
        except (OSError, ValueError, KeyError, TypeError):
            continue
    raise Unavailable("backup.no_etcd", folder=str(folder))


PROGRAMS = ("etcd", "etcdctl", "etcdutl")


def store_snapshot(settings: Settings, snapshot: EtcdSnapshot) -> None:
    """Copies the snapshot unless it was copied before. The manifest is written before the file, because neither
    counts alone.
    """
    target = settings.backups / f"{snapshot.file.name}.zst"
    if target.exists() and manifest_path(settings.backups, target.name).exists():
        return
    with snapshot.file.open("rb") as content:
        unfinished = write_compressed(target, iter(lambda: content.read(PIECE), b""))
    size, digest = measure_file(unfinished)
    manifest = {
        "name": target.name,
        "made_at": snapshot.made_at.isoformat(),
        "size": size,
        "sha256": digest,
        "revision": snapshot.revision,
    }
    write_backup_manifest(settings.backups, manifest)
    unfinished.rename(target)


def drill_snapshot(settings: Settings, snapshot: EtcdSnapshot, now: datetime) -> dict[str, Any]:
    """Drills the snapshot and returns the manifest with the result. Raises Unavailable if etcd itself is missing."""
    name = f"{snapshot.file.name}.zst"
    manifest: dict[str, Any] = json.loads(manifest_path(settings.backups, name).read_text())
    started = time.monotonic()
    try:
        check_backup_digest(settings.backups / name, manifest["sha256"])
        keys = restore_and_count_keys(settings.backups, name, snapshot)
    except BackupBroken as broken:
        manifest.update(problem=broken.as_data(), restored_at=None, restore_seconds=None)
    except FileNotFoundError as missing:
        raise Unavailable("backup.etcd_programs", program=str(missing.filename)) from missing
    else:
        seconds = round(time.monotonic() - started, 2)
        manifest.update(problem="", restored_at=now.isoformat(), restore_seconds=seconds, keys=keys)
    write_backup_manifest(settings.backups, manifest)
    return manifest


def restore_and_count_keys(folder: Path, name: str, snapshot: EtcdSnapshot) -> int:
    """The number of keys of a fresh etcd that was restored from this backup alone. Raises BackupBroken."""
    place = folder / ".etcd-drill"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    try:
        with (place / "db").open("wb") as target:
            done = subprocess.run([*UNZSTD, str(folder / name)], stdout=target, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            raise BackupBroken("broken.not_unpacked", exit_code=done.returncode)
        run_etcd_tool([snapshot.etcdutl, "snapshot", "restore", place / "db", "--data-dir", place / "data"])
        with run_scratch_etcd(snapshot, place) as asked:
            return check_restored_keys(snapshot, asked)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def check_restored_keys(snapshot: EtcdSnapshot, asked: list[str | Path]) -> int:
    """The number of keys. Raises BackupBroken if it is not the recorded one or there is no cluster."""
    known = parse_etcdctl_fields(run_etcd_tool([*asked, "get", WITNESS_KEY, "--count-only"]))
    told = parse_etcdctl_fields(run_etcd_tool([*asked, "get", "/registry/", "--prefix", "--count-only"]))
    if told["Revision"] < snapshot.revision:
        raise BackupBroken("broken.other_revision", found=told["Revision"], expected=snapshot.revision)
    if not known["Count"]:
        raise BackupBroken("broken.no_cluster")
    return told["Count"]


def parse_etcdctl_fields(said: str) -> dict[str, int]:
    """The counts by name, from etcdctl's output as fields, which is the only format with counts."""
    return {name: int(number) for name, number in re.findall(r'^"(\w+)" : (\d+)$', said, re.MULTILINE)}


@contextmanager
def run_scratch_etcd(snapshot: EtcdSnapshot, place: Path) -> Iterator[list[str | Path]]:
    """Yields a command that asks the fresh etcd, on sockets in a folder that nobody else may enter. Raises
    BackupBroken.
    """
    asked = f"unix://{place / 'asked'}"
    # `timeout` ends etcd even if this process is killed.
    command: list[str | Path] = [
        *("timeout", "--kill-after=10", str(RUN_TIMEOUT)),
        *(snapshot.etcd, "--data-dir", place / "data", "--log-level", "error"),
        *("--listen-client-urls", asked, "--advertise-client-urls", "http://127.0.0.1:2379"),
        *("--listen-peer-urls", f"unix://{place / 'peers'}"),
    ]
    with (place / "said").open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=place)
    try:
        ctl: list[str | Path] = [
            snapshot.etcdctl,
            "--endpoints",
            asked,
            "--command-timeout",
            "10s",
            "--write-out",
            "fields",
        ]
        wait_until_healthy(process, [*ctl, "endpoint", "health"], place / "said")
        yield ctl
    finally:
        process.terminate()
        process.wait()


def wait_until_healthy(process: "subprocess.Popen[bytes]", health: list[str | Path], said: Path) -> None:
    """Raises BackupBroken with the end of etcd's output."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        if subprocess.run(health, capture_output=True, check=False).returncode == 0:
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise BackupBroken("broken.damaged", said=said.read_text(errors="replace").strip()[-300:])
        time.sleep(0.2)


def run_etcd_tool(command: list[str | Path]) -> str:
    """Returns the tool's output. Raises BackupBroken with the end of its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise BackupBroken("broken.damaged", said=done.stderr.strip()[-300:])
    return done.stdout


def delete_surplus_snapshots(settings: Settings) -> None:
    """Deletes by the rule for the database's backups. The file is deleted first, because a manifest alone is no
    backup.
    """
    kept = [
        StoredBackup(each.name, each.made_at, each.restored_at is not None)
        for each in read_etcd_backups(settings.backups)
    ]
    for name in surplus_backups(kept, settings.zone):
        (settings.backups / name).unlink(missing_ok=True)
        manifest_path(settings.backups, name).unlink(missing_ok=True)
