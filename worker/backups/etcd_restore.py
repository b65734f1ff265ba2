"""Restores a snapshot of etcd into a scratch folder and counts its keys."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from worker.backups.errors import BackupBroken
from worker.backups.scratch_restore import UNZSTD

START_TIMEOUT = 120
"""Seconds in which a fresh etcd has to start. ENDS_WITHIN limits each command."""
RUN_TIMEOUT = 600


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


PROGRAMS = ("etcd", "etcdctl", "etcdutl")


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
