"""The log as a whole: nothing from elsewhere, and as much as was there."""

import os
from pathlib import Path

import pytest

from tests.pages.portal.live_browser import LiveBrowser
from tests.pages.portal.pages_lab import Lab


def plant(kind: str, place: Path, secret: Path) -> None:
    if kind == "link":
        place.symlink_to(secret)
    elif kind == "hard link":
        os.link(secret, place)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_a_log_that_became_something_else_is_not_followed_and_the_page_says_so(lab: Lab, kind: str) -> None:
    job = lab.a_running_job()
    secret = lab.cluster.settings.state_dir / "groundcrew.db.copy"
    secret.write_text("the secret of the database")
    for name in ("rank-0.stdout", "metrics.jsonl"):
        plant(kind, lab.out(job) / name, secret)
    (lab.out(job) / "checkpoints").mkdir()
    plant(kind, lab.out(job) / "checkpoints" / "epoch-0001.weights.h5", secret)
    browser = lab.browser(lab.seoyeon)
    assert LiveBrowser(lab.cluster, lab.seoyeon).get(f"/jobs/{job.id}/log").data == b""
    for path in ("log/raw", "log/download", "checkpoints/epoch-0001.weights.h5"):
        answer = browser.get(f"/jobs/{job.id}/{path}")
        assert answer.status_code == 404
        assert b"the secret" not in answer.data
    for tab in ("overview", "log", "checkpoints", "files", "settings", "history"):
        answer = browser.get(f"/jobs/{job.id}?tab={tab}&find=secret")
        assert answer.status_code == 200
        assert b"the secret" not in answer.data
    assert b"rank-0.stdout is not a plain file" in browser.get(f"/jobs/{job.id}?tab=log").data
    told = browser.get(f"/jobs/{job.id}/metrics").json
    assert told == {
        "series": {},
        "charts": [],
        "left_out": 0,
        "size": 0,
        "is_cut": False,
        "is_whole": True,
    }


def test_a_whole_folder_behind_a_link_is_not_entered(lab: Lab) -> None:
    job = lab.a_running_job()
    elsewhere = lab.cluster.settings.state_dir / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "rank-0.stdout").write_text("the secret")
    lab.out(job).rmdir()
    (elsewhere.parent / "storage" / "workspaces" / str(job.workspace_id) / "jobs" / str(job.id) / "1" / "out").symlink_to(elsewhere)  # fmt: skip  # noqa: E501
    browser = lab.browser(lab.seoyeon)
    assert LiveBrowser(lab.cluster, lab.seoyeon).get(f"/jobs/{job.id}/log").data == b""
    assert b"the secret" not in browser.get(f"/jobs/{job.id}?tab=log").data


def test_a_download_has_a_safe_name_and_all_that_was_there(lab: Lab) -> None:
    job = lab.a_running_job(name="name-with=signs")
    (lab.out(job) / "rank-1.stderr").write_bytes(b"\x00\xff" * 400_000)
    answer = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}/log/download?rank=1&stream=stderr")
    assert answer.data == b"\x00\xff" * 400_000
    said = f"attachment; filename=job-{job.id}-attempt-1-rank-1.stderr.log"
    assert answer.headers["Content-Disposition"] == said
    assert answer.content_length == 800_000


def test_files_of_a_private_training_are_nobody_elses(lab: Lab) -> None:
    job = lab.a_running_job(lab.private)
    (lab.out(job) / "rank-0.stdout").write_text("an idea\n")
    paths = ("", "/log/raw", "/log/download", "/metrics", "/checkpoints/a.h5", "/stop", "/duplicate")
    for user, status in ((lab.minjun, 404), (lab.stranger, 404)):
        browser = lab.browser(user)
        for path in paths:
            assert browser.get(f"/jobs/{job.id}{path}").status_code == status
        assert LiveBrowser(lab.cluster, user).get(f"/jobs/{job.id}/log").status_code == status
    assert LiveBrowser(lab.cluster, lab.manager).get(f"/jobs/{job.id}/log").data == b"an idea\n"
