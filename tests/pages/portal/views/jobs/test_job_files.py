"""What a job's program wrote, on its page and as downloads."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from cluster.domain.states import JobState
from cluster.services.people import api_tokens
from cluster.store.jobs import Job
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


@pytest.fixture
def job(lab: Lab) -> Job:
    job = lab.a_running_job()
    out = lab.out(job)
    (out / "results").mkdir()
    (out / "results" / "<b>&.txt").write_text("<script>alert(1)</script>\n" * 4000)
    (out / "weights.bin").write_bytes(b"\0\1\2")
    (out / "pictures").mkdir()
    (out / "pictures" / "confusion.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (out / "pictures" / "false.png").write_bytes(b"<svg>\0")
    (out / "pictures" / "scores.csv").write_text("class,f1\ncat,<b>\n")
    (out / "link").symlink_to("/etc/passwd")
    return job


@pytest.mark.parametrize(
    ("path", "seen", "unseen"),
    [
        ("", ["results/", "weights.bin", "3 B"], ["path=link", "passwd"]),
        ("results", ["&lt;b&gt;&amp;.txt"], ["<b>&amp;"]),
        ("results/<b>%26.txt", ["&lt;script&gt;alert(1)", "first 64 KiB"], ["<script>alert"]),
        ("weights.bin", ["This file is not text", "Download"], ["<img"]),
        ("pictures/confusion.png", ['<img src="/jobs/', 'alt="confusion.png"'], ["This file is not text"]),
        ("pictures/false.png", ["This file is not text"], ["<img"]),
        ("pictures/scores.csv", ["<table", "class</th>", "<td>&lt;b&gt;</td>"], ["<pre"]),
    ],
)
def test_the_tab_shows_a_folder_or_the_beginning_of_a_file(
    lab: Lab, job: Job, path: str, seen: list[str], unseen: list[str]
) -> None:
    page = lab.browser(lab.minjun).get(f"/jobs/{job.id}?tab=files&path={path}").get_data(as_text=True)
    assert all(text in page for text in seen)
    assert not any(text in page for text in unseen)


def test_names_that_are_no_text_are_shown_and_lie_in_the_archive(lab: Lab, job: Job) -> None:
    """A program may call its files by any bytes; no address leads to those."""
    out = os.fsencode(lab.out(job))
    (lab.out(job) / "odd").mkdir()
    Path(os.fsdecode(out + b"/odd/caf\xe9.txt")).write_text("x")
    Path(os.fsdecode(out + b"/odd/d\xe9")).mkdir()
    browser = lab.browser(lab.minjun)
    answer = browser.get(f"/jobs/{job.id}?tab=files&path=odd")
    assert answer.status_code == 200
    assert "caf?.txt" in answer.text and "d?/" in answer.text and "path=odd/caf" not in answer.text
    folder = browser.get(f"/jobs/{job.id}/files/archive?path=odd")
    assert zipfile.ZipFile(io.BytesIO(folder.data)).namelist() == ["caf?.txt"]
    token = api_tokens.create_api_token(lab.cluster, actor_of(lab.minjun), "laptop", ["read"])[1]
    bearer = {"Authorization": f"Bearer {token}"}
    listed = lab.app.test_client().get(f"/api/v1/jobs/{job.id}/files?path=odd", headers=bearer)
    assert [entry["name"] for entry in listed.json["entries"]] == ["d?", "caf?.txt"]  # type: ignore[index]


@pytest.mark.parametrize("path", ["link", "..", "nothing", "results/../../control", "%00"])
def test_no_path_leads_elsewhere(lab: Lab, job: Job, path: str) -> None:
    browser = lab.browser(lab.minjun)
    for address in (f"?tab=files&path={path}", f"/files/download?path={path}", f"/files/archive?path={path}"):
        assert browser.get(f"/jobs/{job.id}{address}").status_code == 404, address


def test_a_file_and_a_folder_are_downloaded_whatever_is_in_them(lab: Lab, job: Job) -> None:
    browser = lab.browser(lab.minjun)
    file = browser.get(f"/jobs/{job.id}/files/download?path=results/<b>%26.txt")
    assert file.mimetype == "application/octet-stream" and len(file.data) == 26 * 4000
    assert file.headers["Content-Disposition"].startswith("attachment")
    folder = browser.get(f"/jobs/{job.id}/files/archive?path=results")
    assert zipfile.ZipFile(io.BytesIO(folder.data)).namelist() == ["<b>&.txt"]
    assert (
        "weights.bin"
        in zipfile.ZipFile(io.BytesIO(browser.get(f"/jobs/{job.id}/files/archive").data)).namelist()
    )
    assert browser.get(f"/jobs/{job.id}/files/download").status_code == 404


def test_who_may_not_see_the_job_sees_no_file(lab: Lab, job: Job) -> None:
    browser = lab.browser(lab.stranger)
    for address in ("?tab=files", "/files/download?path=weights.bin", "/files/archive"):
        assert browser.get(f"/jobs/{job.id}{address}").status_code == 404


def test_before_anything_was_written_the_tab_says_what_shows_up_there(lab: Lab) -> None:
    waiting = lab.a_running_job()
    lab.ended(waiting, "exit.failed", JobState.FAILED)
    page = lab.browser(lab.minjun, "ko").get(f"/jobs/{waiting.id}?tab=files").get_data(as_text=True)
    assert "아직 쓴 것이 없습니다" in page
