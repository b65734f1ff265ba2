"""Folders get their owners where services are not root: only finished ones are handed over, and no link is followed."""

import os
import pwd
import threading
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.domain.errors import Refused, Unavailable
from cluster.domain.people.actor import Actor
from cluster.files.safe_files import UnsafeFile
from cluster.files.safe_read import FileNotPlain
from cluster.services.audit.log_lines import append_sealed_entries, audit_log_folder
from cluster.services.audit.seals import seal_entries
from cluster.services.context import Cluster
from cluster.services.storage import folders as storage
from cluster.services.storage import staged_code
from cluster.settings import Settings
from cluster.store.audit import add_audit_entry
from tests.builders import a_workspace
from worker.scheduling.workspace_folders import ENSURE_AGAIN_SECONDS, WorkspaceFolders

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
    list_names = os.listdir

    def and_it_is_removed(folder: int) -> list[str]:
        found = list_names(folder)
        (gone / "image.png").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os, "listdir", and_it_is_removed)
    storage.ensure_workspace_folder(settings, 1)
    assert not (gone / "image.png").exists()


def test_what_a_link_points_to_keeps_its_rights(settings: Settings, tmp_path: Path) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o711)
    whole = written_by_the_service(datasets / "7")
    (whole / "link").symlink_to(elsewhere)
    storage.ensure_workspace_folder(settings, 1)
    assert elsewhere.stat().st_mode & 0o7777 == 0o711


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Root's own, as what it runs is, and readable by nobody else."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    (folder / "shim.py").write_text("root runs this")
    (folder / "shim.py").chmod(0o600)
    return folder


def facts_of(folder: Path) -> list[tuple[str, int, int, int]]:
    found = [(path.name, path.lstat()) for path in (folder, *sorted(folder.rglob("*")))]
    return [(name, status.st_uid, status.st_gid, status.st_mode) for name, status in found]


def as_an_earlier_version_left_it(settings: Settings) -> Path:
    """The service owned everything, and so could have put there what it liked."""
    folder = storage.workspace_folder(settings, 1)
    attempt = folder / "jobs" / "5" / "1"
    (attempt / "control").mkdir(parents=True)
    (attempt / "out").mkdir()
    for name in ("code", "datasets"):
        (folder / name).mkdir()
    user = pwd.getpwnam(SERVICE)
    of_service = [settings.storage_dir, folder.parent, folder, *folder.iterdir(), attempt.parent, attempt]
    for path in of_service:
        os.chown(path, user.pw_uid, user.pw_gid)
        path.chmod(0o750)
    os.chown(attempt / "out", 100_007, user.pw_gid)
    return folder


@pytest.mark.parametrize(
    "place", ["workspaces", "1", "jobs", "datasets", "code", "datasets/7", "datasets/7/inner"]
)
def test_root_gives_away_nothing_through_a_link_that_a_service_has_put_there(
    settings: Settings, elsewhere: Path, place: str
) -> None:
    folder = as_an_earlier_version_left_it(settings)
    target = {"workspaces": folder.parent, "1": folder}.get(place, folder / place)
    if target.is_dir():
        target.rename(target.with_name("aside"))
    target.parent.mkdir(exist_ok=True)
    user = pwd.getpwnam(SERVICE)
    os.chown(target.parent, user.pw_uid, user.pw_gid)
    target.symlink_to(elsewhere)
    before = facts_of(elsewhere)
    with suppress(UnsafeFile):
        storage.ensure_workspace_folder(settings, 1)
    assert facts_of(elsewhere) == before


@pytest.mark.parametrize("what", ["second name", "of root", "of another"])
def test_root_hands_over_what_the_service_wrote_and_nothing_else(
    settings: Settings, elsewhere: Path, what: str
) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    whole = written_by_the_service(datasets / "7")
    strange = whole / "strange"
    if what == "second name":
        strange.hardlink_to(elsewhere / "shim.py")
    else:
        strange.write_text("")
        os.chown(strange, 0 if what == "of root" else 100_007, 0)
    before = facts_of(elsewhere), strange.lstat()
    storage.ensure_workspace_folder(settings, 1)
    after = facts_of(elsewhere), strange.lstat()
    assert after[0] == before[0]
    assert (after[1].st_uid, after[1].st_gid, after[1].st_mode) == (
        0 if what != "of another" else 100_007,
        0,
        before[1].st_mode,
    )
    assert (whole / "image.png").stat().st_gid == settings.gid_base + 1


def test_a_folder_that_is_swapped_for_a_link_again_and_again_is_never_followed(
    settings: Settings, elsewhere: Path
) -> None:
    datasets = storage.ensure_workspace_folder(settings, 1) / "datasets"
    place, aside = datasets / "7", datasets / ".7.aside"
    written_by_the_service(place)
    before, is_over = facts_of(elsewhere), threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                place.rename(aside)
                place.symlink_to(elsewhere)
                place.unlink()
                aside.rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(200):
            with suppress(FileNotFoundError):
                os.chown(place, -1, 0, follow_symlinks=False)
            storage.ensure_workspace_folder(settings, 1)
    finally:
        is_over.set()
        thread.join()
    assert facts_of(elsewhere) == before


def test_what_an_earlier_version_left_to_the_services_becomes_roots(settings: Settings) -> None:
    folder = as_an_earlier_version_left_it(settings)
    storage.ensure_workspace_folder(settings, 1)
    user, group = pwd.getpwnam(SERVICE), settings.gid_base + 1
    attempt = folder / "jobs" / "5" / "1"
    roots = [settings.storage_dir, folder.parent, folder, folder / "jobs", attempt.parent, attempt]
    assert {(path.stat().st_uid, path.stat().st_gid, path.stat().st_mode & 0o7777) for path in roots} == {
        (0, user.pw_gid, 0o751)
    }
    for name in ("code", "datasets"):
        status = (folder / name).stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (user.pw_uid, group, 0o2750)
    assert (attempt / "out").stat().st_uid == 100_007
    incoming = (settings.storage_dir / "incoming").stat()
    assert (incoming.st_uid, incoming.st_mode & 0o7777) == (user.pw_uid, 0o700)


def test_a_taking_over_that_was_interrupted_is_gone_on_with(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = as_an_earlier_version_left_it(settings)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(storage, "take_over_folders", killed)
        with pytest.raises(KeyboardInterrupt):
            storage.ensure_workspace_folder(settings, 1)
    assert (folder / "jobs" / "5").stat().st_uid != 0
    storage.ensure_workspace_folder(settings, 1)
    assert (folder / "jobs" / "5" / "1").stat().st_uid == 0
    assert (folder / "jobs").stat().st_mode & 0o7777 == 0o751


def test_code_that_root_writes_for_a_service_leads_nowhere_else(settings: Settings, elsewhere: Path) -> None:
    folder = storage.ensure_workspace_folder(settings, 1)
    (folder / "code" / "3").symlink_to(elsewhere)
    before = facts_of(elsewhere)
    with pytest.raises(UnsafeFile):
        staged_code.write_code(settings, storage.code_folder(settings, 1, 3, 1), [("shim.py", b"mine")], 1)
    assert facts_of(elsewhere) == before
    (folder / "code" / "3").unlink()
    staged_code.write_code(settings, storage.code_folder(settings, 1, 3, 1), [("train.py", b"1")], 1)
    user, file = pwd.getpwnam(SERVICE), (folder / "code" / "3" / "1" / "train.py").stat()
    assert (file.st_uid, file.st_gid, file.st_mode & 0o777) == (user.pw_uid, settings.gid_base + 1, 0o640)


@pytest.mark.parametrize("workspace_id", [-100_000, -100_000 + 42, 2**20])
def test_no_workspace_has_a_group_of_the_machine(settings: Settings, workspace_id: int) -> None:
    with pytest.raises(Refused) as refused:
        storage.ensure_workspace_folder(settings, workspace_id)
    assert refused.value.code == "job.workspace_number_outside"
    assert not storage.workspace_folder(settings, workspace_id).exists()


def test_a_service_waits_for_the_folder_that_root_makes(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler makes it while the service looks for it."""
    monkeypatch.setattr(storage, "IS_ROOT", False)
    pauses: list[float] = []

    def meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        with monkeypatch.context() as patch:
            patch.setattr(storage, "IS_ROOT", True)
            storage.ensure_workspace_folder(settings, 1)

    monkeypatch.setattr(storage.time, "sleep", meanwhile)
    folder = storage.ensure_workspace_folder(settings, 1)
    assert (folder / "code").is_dir() and len(pauses) == 1


def test_a_service_does_not_wait_for_ever(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "IS_ROOT", False)
    monkeypatch.setattr(storage, "WAIT_SECONDS", 0.0)
    with pytest.raises(Unavailable) as missing:
        storage.ensure_workspace_folder(settings, 1)
    assert missing.value.code == "workspace.no_folder_yet"


def test_the_scheduler_makes_the_folder_of_each_workspace_and_goes_on_where_one_cannot_be(
    light_cluster: Cluster, settings: Settings, elsewhere: Path
) -> None:
    cluster = replace(light_cluster, settings=settings)
    first, second = a_workspace(cluster), a_workspace(cluster, name="second")
    folder = storage.workspace_folder(settings, first.id)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(elsewhere)
    now = [0.0]
    folders = WorkspaceFolders(cluster, lambda: now[0])
    assert folders.ensure_all() == 2
    assert (storage.workspace_folder(settings, second.id) / "jobs").is_dir()
    assert folders.ensure_all() == 0
    third = a_workspace(cluster, name="third")
    assert folders.ensure_all() == 1
    assert (storage.workspace_folder(settings, third.id) / "code").is_dir()
    folder.unlink()
    now[0] += ENSURE_AGAIN_SECONDS
    assert folders.ensure_all() == 3
    assert (folder / "datasets").is_dir()


def a_sealed_entry(cluster: Cluster, settings: Settings) -> Cluster:
    """Such an entry is all that the access log of this installation has."""
    mine = replace(cluster, settings=settings, clock=lambda: datetime(2026, 11, 20, 5, 2, tzinfo=UTC))
    with mine.store.write() as session:
        add_audit_entry(
            session, mine.clock() - timedelta(minutes=2), Actor(1, "groundcrew", True), "job.submitted", 1
        )
    seal_entries(mine)
    return mine


def test_the_files_of_the_access_log_belong_to_the_portal_that_lists_them(
    light_cluster: Cluster, settings: Settings
) -> None:
    cluster = a_sealed_entry(light_cluster, settings)
    assert append_sealed_entries(cluster) == 1
    folder, user = audit_log_folder(cluster), pwd.getpwnam(SERVICE)
    for path, mode in ((folder, 0o700), (folder / "20261120.log", 0o600)):
        status = path.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (user.pw_uid, user.pw_gid, mode)


@pytest.mark.parametrize("what", ["folder", "file", "second name"])
def test_root_writes_the_access_log_through_no_link(
    light_cluster: Cluster, settings: Settings, tmp_path: Path, what: str
) -> None:
    cluster = a_sealed_entry(light_cluster, settings)
    elsewhere, folder = tmp_path / "elsewhere", audit_log_folder(cluster)
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
        append_sealed_entries(cluster)
    assert (elsewhere / "20261120.log").read_text() == "of somebody else\n"
    assert (elsewhere / "20261120.log").stat().st_uid == 0
