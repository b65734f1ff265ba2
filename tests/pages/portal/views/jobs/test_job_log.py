"""The log over HTTP: no gap, no doubled byte, nothing from elsewhere."""

import os
import threading
from pathlib import Path

import pytest

from tests.builders import a_job
from tests.pages.portal.pages_lab import Lab


def read_on(lab: Lab, job_id: int, offset: int, **arguments: object) -> tuple[bytes, dict[str, str]]:
    answer = lab.browser(lab.seoyeon).get(f"/jobs/{job_id}/log", query_string={"offset": offset, **arguments})
    assert answer.status_code == 200
    return answer.data, dict(answer.headers)


def test_a_log_read_in_pieces_while_it_grows_is_the_file(lab: Lab) -> None:
    job = lab.a_running_job()
    path = lab.out(job) / "rank-0.stdout"
    browser = lab.browser(lab.seoyeon)
    whole = b"".join(b"step %d \xed\x95\x9c \xff\n" % number for number in range(20_000))
    cuts = [0, 1, 7, 100_003, 100_004, 333_333, len(whole)]

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for begin, end in zip(cuts, cuts[1:], strict=False):
                file.write(whole[begin:end])

    writer = threading.Thread(target=write)
    writer.start()
    read, offset = b"", 0
    while True:
        answer = browser.get(f"/jobs/{job.id}/log?offset={offset}&limit=50000")
        assert int(answer.headers["X-Log-Start"]) == offset
        read += answer.data
        offset = int(answer.headers["X-Log-Next"])
        assert offset == len(read)
        if answer.headers["X-Log-EOF"] == "1" and not writer.is_alive() and offset == len(whole):
            break
    writer.join()
    assert read == whole


def test_a_piece_is_at_most_256_kib_whatever_is_asked(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_bytes(b"x" * 1_000_000)
    data, headers = read_on(lab, job.id, 0, limit=10**9)
    assert len(data) == 256 * 1024
    assert headers["X-Log-EOF"] == "0"


def test_from_the_end_names_the_line(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    data, headers = read_on(lab, job.id, -20)
    assert data == b"line 99\nline 100\n"
    assert (headers["X-Log-Line"], headers["X-Log-EOF"]) == ("99", "1")


def test_nothing_written_yet_is_an_empty_log(lab: Lab) -> None:
    waiting = a_job(lab.cluster, lab.lenet)
    for job_id in (waiting.id, lab.a_running_job().id):
        data, headers = read_on(lab, job_id, -65536, rank="launcher", stream="stderr")
        assert (data, headers["X-Log-Next"], headers["X-Log-EOF"]) == (b"", "0", "1")


BAD_QUESTIONS = [
    "rank=-1", "rank=01", "rank=99999", "rank=..", "rank=0%00", "rank=../../control/exit.json", "stream=metrics",
    "offset=x", "offset=1e9", "offset=" + "9" * 40, "offset=--1", "limit=-1", "limit=x", "attempt=x", "attempt=7",
]  # fmt: skip


def test_a_bad_question_about_a_log_is_refused(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_text("fine\n")
    browser = lab.browser(lab.seoyeon)
    for query in BAD_QUESTIONS:
        answer = browser.get(f"/jobs/{job.id}/log?{query}")
        assert answer.status_code in (404, 422), query
        assert b"fine" not in answer.data, query


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
    assert browser.get(f"/jobs/{job.id}/log").data == b""
    for path in ("log/raw", "log/download", "checkpoints/epoch-0001.weights.h5"):
        answer = browser.get(f"/jobs/{job.id}/{path}")
        assert answer.status_code == 404
        assert b"the secret" not in answer.data
    for tab in ("overview", "log", "checkpoints", "settings", "history"):
        answer = browser.get(f"/jobs/{job.id}?tab={tab}&find=secret")
        assert answer.status_code == 200
        assert b"the secret" not in answer.data
    assert b"rank-0.stdout is not a plain file" in browser.get(f"/jobs/{job.id}?tab=log").data
    told = browser.get(f"/jobs/{job.id}/metrics").json
    assert told == {"x": [], "series": {}, "size": 0, "is_cut": False, "is_whole": True}


def test_a_whole_folder_behind_a_link_is_not_entered(lab: Lab) -> None:
    job = lab.a_running_job()
    elsewhere = lab.cluster.settings.state_dir / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "rank-0.stdout").write_text("the secret")
    lab.out(job).rmdir()
    (elsewhere.parent / "storage" / "workspaces" / str(job.workspace_id) / "jobs" / str(job.id) / "1" / "out").symlink_to(elsewhere)  # fmt: skip  # noqa: E501
    browser = lab.browser(lab.seoyeon)
    assert browser.get(f"/jobs/{job.id}/log").data == b""
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
    paths = ("", "/log", "/log/raw", "/log/download", "/metrics", "/checkpoints/a.h5", "/stop", "/duplicate")
    for user, status in ((lab.minjun, 404), (lab.stranger, 404)):
        browser = lab.browser(user)
        for path in paths:
            assert browser.get(f"/jobs/{job.id}{path}").status_code == status
    assert lab.browser(lab.manager).get(f"/jobs/{job.id}/log").data == b"an idea\n"
