"""The log in chunks: no gap, no doubled byte, nothing from elsewhere."""

import threading

import pytest

from cluster.services.jobs import queries
from tests.builders import a_job
from tests.pages.portal.live_browser import LiveBrowser
from tests.pages.portal.pages_lab import Lab


def read_on(lab: Lab, job_id: int, offset: int, **arguments: object) -> tuple[bytes, dict[str, str]]:
    answer = LiveBrowser(lab.cluster, lab.seoyeon).get(f"/jobs/{job_id}/log", offset=offset, **arguments)
    assert answer.status_code == 200
    return answer.data, {name.replace("Eof", "EOF"): value for name, value in answer.headers.items()}


def test_a_log_read_in_pieces_while_it_grows_is_the_file(lab: Lab) -> None:
    job = lab.a_running_job()
    path = lab.out(job) / "rank-0.stdout"
    browser = LiveBrowser(lab.cluster, lab.seoyeon)
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
        if answer.headers["X-Log-Eof"] == "1" and not writer.is_alive() and offset == len(whole):
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


def test_a_piece_of_a_log_is_answered_without_the_page_of_its_job(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_text("one\ntwo\n")
    monkeypatch.setattr(queries, "load_job", None)
    data, headers = read_on(lab, job.id, 4, attempt=1)
    assert (data, headers["X-Log-Line"]) == (b"two\n", "2")


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
    browser = LiveBrowser(lab.cluster, lab.seoyeon)
    for query in BAD_QUESTIONS:
        answer = browser.get(f"/jobs/{job.id}/log?{query}")
        assert answer.status_code in (404, 422), query
        assert b"fine" not in answer.data, query


def test_a_chunk_brings_the_times_of_its_bytes_if_they_are_asked_for(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_bytes(b"one\ntwo\nthree\n")
    times = lab.out(job).parent / "control" / "log_times"
    times.write_text(
        "1763921234.0 rank-0.stdout 4\n1763921236.5 rank-0.stdout 8\n1763921237.0 rank-0.stderr 9\n"
    )
    data, headers = read_on(lab, job.id, 0, times=999_999_999_999_999)
    assert headers["X-Log-Times"] == str(len(b"4 1763921234\n8 1763921236\n"))
    assert data == b"4 1763921234\n8 1763921236\none\ntwo\nthree\n"
    data, headers = read_on(lab, job.id, 8, times=9)
    assert (data, headers["X-Log-Times"]) == (b"three\n", "0"), "the last line has no time yet"
    times.write_text(times.read_text() + "1763921238.0 rank-0.stdout 14\n")
    data, _ = read_on(lab, job.id, 14, times=8)
    assert data == b"14 1763921238\n", "the time of a line that was sent before"
    data, headers = read_on(lab, job.id, 8)
    assert data == b"three\n" and "X-Log-Times" not in headers
