"""While a disk is short of room: what is refused, what the pages say, and what administrators are told."""

import io
from dataclasses import replace

import pytest

from cluster.domain.storage.disk_reserve import DiskLevel, MonitoredDisk
from cluster.services.context import Cluster
from cluster.services.leases import SCHEDULER_LEASE, SCHEDULER_LEASE_DURATION, acquire_lease
from cluster.services.storage import disk_space, folders
from cluster.services.storage.disk_shortage import record_disk_shortage
from cluster.services.storage.disk_space import DiskUsage
from cluster.store.jobs import Job
from cluster.store.workspaces import Workspace
from portal.shared_objects import share_object
from portal.web import uploads
from tests.builders import a_dataset, a_job
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_datasets import incoming, upload
from tests.queue_reports import report_queue

MIB, GIB = 1024**2, 1024**3


def leave(monkeypatch: pytest.MonkeyPatch, *free: int) -> None:
    """So many bytes are free at each look; the last number stays."""
    left = list(free)

    def look(folder: object) -> DiskUsage:
        return DiskUsage(100 * GIB, left.pop(0) if len(left) > 1 else left[0])

    monkeypatch.setattr(disk_space, "read_disk_usage", look)


def note_short(lab: Lab, *fillers: Job) -> None:
    held = acquire_lease(lab.cluster, SCHEDULER_LEASE, "a scheduler", SCHEDULER_LEASE_DURATION)
    assert held is not None
    volume = MonitoredDisk("/data", 300 * MIB, 100 * GIB, GIB, DiskLevel.LOW)
    record_disk_shortage(lab.cluster, held, volume, {job.id: 7 * GIB for job in fillers})


@pytest.mark.parametrize("language", ["en", "ko"])
def test_an_upload_is_refused_before_its_first_byte_and_names_the_disk(
    lab: Lab, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(monkeypatch, 300 * MIB)
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.minjun, language).post(path, data=upload(content=b"x" * 1000))
    assert answer.status_code == 503
    assert "300 MiB" in answer.text and "disk.short" not in answer.text
    assert str(disk_space.mount_point_of(lab.cluster.settings.state_dir)) in answer.text
    assert incoming(lab) == []


def test_an_upload_that_would_not_fit_is_refused_by_its_length(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    share_object(
        lab.app,
        Cluster,
        replace(lab.cluster, settings=replace(lab.cluster.settings, disk_reserve_bytes=GIB)),
    )
    path, content = f"/workspaces/{lab.workspace.id}/datasets/new", b"x" * 100_000
    leave(monkeypatch, GIB + 90_000)
    assert lab.browser(lab.minjun).post(path, data=upload(content=content)).status_code == 503
    leave(monkeypatch, GIB + 200_000)
    assert lab.browser(lab.minjun).post(path, data=upload(content=content)).status_code == 303


def test_an_archive_that_fills_the_disk_while_it_arrives_is_broken_off(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one arrived at the same time."""
    monkeypatch.setattr(uploads, "DISK_CHECK_BYTES", 64 * 1024)
    leave(monkeypatch, 50 * GIB, 50 * GIB, 10 * MIB)
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.minjun).post(path, data=upload(content=b"x" * (MIB // 4)))
    assert answer.status_code == 503
    assert incoming(lab) == []


def test_code_and_samples_are_not_written_either(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(monkeypatch, 300 * MIB)
    browser = lab.browser(lab.seoyeon)
    code = {"code": (io.BytesIO(b"print(1)"), "train.py")}
    assert browser.post(f"/trainings/{lab.own_code.id}/code", data=code).status_code == 503
    sample = {"way": "sample"}
    assert browser.post(f"/workspaces/{lab.workspace.id}/datasets/new", data=sample).status_code == 503


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_job_waits_for_room_and_says_so_wherever_it_is_shown(lab: Lab, language: str) -> None:
    filler, waiting = lab.a_running_job(), a_job(lab.cluster, lab.lenet)
    note_short(lab, filler)
    report_queue(lab.cluster)
    browser = lab.browser(lab.seoyeon, language)
    for page in (f"/jobs/{waiting.id}", "/queue", "/jobs"):
        text = browser.get(page).text
        assert "/data" in text and f"job-{filler.id} (7.0 GiB)" in text
    estimate = browser.post(f"/trainings/{lab.lenet.id}/jobs/check", data={"name": "more", "units": "1"})
    assert estimate.status_code in (200, 404)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_administrators_are_told_who_fills_it_and_shown_the_repair(lab: Lab, language: str) -> None:
    filler = lab.a_running_job()
    note_short(lab, filler)
    page = lab.browser(lab.administrator, language).get("/").text
    assert "/data" in page and f"job-{filler.id} (7.0 GiB)" in page
    assert 'href="/repairs/free-disk-space"' in page
    assert "free-disk-space" not in lab.browser(lab.minjun, language).get("/").text


SIZE = 98 * MIB // 10


@pytest.mark.parametrize(
    ("arriving", "status"),
    [
        (f"upload-1-{9 * MIB}-ab12", 303),
        (f"upload-1-{SIZE}-ab12", 422),
        (f"upload-2-{SIZE}-ab12", 303),
        ("dataset-1", 422),
        ("dataset-999", 303),
    ],
)
def test_uploads_that_arrive_at_the_same_time_are_held_to_the_limit_together(
    lab: Lab, arriving: str, status: int
) -> None:
    """Another one of the workspace is on its way, or waits to be unpacked."""
    with lab.cluster.store.write() as session:
        session.get_one(Workspace, lab.workspace.id).storage_limit_bytes = 10 * MIB
    assert lab.workspace.id == 1
    a_dataset(lab.cluster, lab.workspace, "first")
    other = folders.incoming_folder(lab.cluster.settings) / arriving
    with other.open("wb") as file:
        file.truncate(SIZE)
    path = f"/workspaces/{lab.workspace.id}/datasets/new"
    answer = lab.browser(lab.minjun).post(path, data=upload(content=b"x" * (MIB // 3)))
    assert answer.status_code == status
    if status == 422:
        assert "10.1 MiB" in answer.text and "10.0 MiB" in answer.text
        assert incoming(lab) == [arriving]
