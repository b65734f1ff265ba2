"""Whose files are whose where services are not root: only what is finished is handed over, and no link is followed."""

import os
import pwd
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.domain.people import Actor
from cluster.files.beneath import FileNotPlain
from cluster.services import storage
from cluster.services.access_files import folder_of, write_days
from cluster.services.audit_seals import seal_entries
from cluster.services.context import Cluster
from cluster.settings import Settings
from cluster.store.audit import write_entry

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
SERVICE = "daemon"


@pytest.fixture
def settings(light_cluster: Cluster) -> Settings:
    return replace(light_cluster.settings, service_user=SERVICE)


def written_by_the_service(folder: Path) -> Path:
    """As a task worker leaves it: its own, with its own group."""
    folder.mkdir()
    (folder / "image.png").write_bytes(b"1")
    user = pwd.getpwnam(SERVICE)
    for path in (folder, folder / "image.png"):
        os.chown(path, user.pw_uid, user.pw_gid)
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def test_a_finished_dataset_is_handed_to_its_workspace(settings: Settings) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    whole = written_by_the_service(datasets / "7")
    storage.ensure_workspace_folder(settings, 1)
    assert [path.stat().st_gid for path in (whole, whole / "image.png")] == [settings.gid_base + 1] * 2


@pytest.mark.parametrize("name", [".7.new", ".7.deleted"])
def test_what_a_task_worker_still_writes_or_removes_is_left_alone(settings: Settings, name: str) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    unfinished = written_by_the_service(datasets / name)
    storage.ensure_workspace_folder(settings, 1)
    assert unfinished.stat().st_mode & 0o777 == 0o700
    assert unfinished.stat().st_gid == pwd.getpwnam(SERVICE).pw_gid


def test_a_dataset_that_goes_meanwhile_stops_nobodys_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    gone = written_by_the_service(datasets / "7")
    walk = os.walk

    def and_it_is_removed(folder: Path, topdown: bool = True) -> object:
        found = list(walk(folder, topdown))
        (gone / "image.png").unlink()
        return iter(found)

    monkeypatch.setattr(os, "walk", and_it_is_removed)
    storage.ensure_workspace_folder(settings, 1)


def test_what_a_link_points_to_keeps_its_rights(settings: Settings, tmp_path: Path) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o711)
    whole = written_by_the_service(datasets / "7")
    (whole / "link").symlink_to(elsewhere)
    storage.ensure_workspace_folder(settings, 1)
    assert elsewhere.stat().st_mode & 0o7777 == 0o711


def a_sealed_entry(cluster: Cluster, settings: Settings) -> Cluster:
    """Such an entry is all that the access log of this installation has."""
    mine = replace(cluster, settings=settings, clock=lambda: datetime(2026, 11, 20, 5, 2, tzinfo=UTC))
    with mine.store.write() as session:
        write_entry(
            session, mine.clock() - timedelta(minutes=2), Actor(1, "groundcrew", True), "job.submitted", 1
        )
    seal_entries(mine)
    return mine


def test_the_files_of_the_access_log_belong_to_the_portal_that_lists_them(
    light_cluster: Cluster, settings: Settings
) -> None:
    cluster = a_sealed_entry(light_cluster, settings)
    assert write_days(cluster) == 1
    folder, user = folder_of(cluster), pwd.getpwnam(SERVICE)
    for path, mode in ((folder, 0o700), (folder / "20261120.log", 0o600)):
        status = path.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (user.pw_uid, user.pw_gid, mode)


@pytest.mark.parametrize("what", ["folder", "file", "second name"])
def test_root_writes_the_access_log_through_no_link(
    light_cluster: Cluster, settings: Settings, tmp_path: Path, what: str
) -> None:
    cluster = a_sealed_entry(light_cluster, settings)
    elsewhere, folder = tmp_path / "elsewhere", folder_of(cluster)
    elsewhere.mkdir()
    (elsewhere / "20261120.log").write_text("of somebody else\n")
    folder.parent.mkdir(parents=True)
    if what == "folder":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir()
        linked = folder / "20261120.log"
        target = elsewhere / "20261120.log"
        linked.symlink_to(target) if what == "file" else linked.hardlink_to(target)
    with pytest.raises((FileNotPlain, OSError)):
        write_days(cluster)
    assert (elsewhere / "20261120.log").read_text() == "of somebody else\n"
    assert (elsewhere / "20261120.log").stat().st_uid == 0
