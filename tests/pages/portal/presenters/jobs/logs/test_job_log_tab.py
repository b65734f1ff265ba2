"""The log tab as the server renders it."""

import re
import time

import pytest

from cluster.domain.states import JobState, Launcher
from tests.builders import a_job
from tests.pages.portal.pages_lab import Lab


def test_what_a_program_wrote_is_text_on_the_page_and_never_markup(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_text("<script>alert(1)</script>\n")
    browser = lab.browser(lab.seoyeon)
    html = browser.get(f"/jobs/{job.id}?tab=log&find=<script>").text
    assert "<script>alert" not in html
    assert "1 line has it" in html
    raw = browser.get(f"/jobs/{job.id}/log/raw")
    assert raw.content_type == "text/plain; charset=utf-8"
    assert raw.headers["X-Content-Type-Options"] == "nosniff"


def test_both_streams_are_shown_in_the_order_of_their_times(lab: Lab) -> None:
    job = lab.a_running_job()
    out = lab.out(job)
    (out / "rank-0.stdout").write_text("epoch 1\nepoch 2\n")
    (out / "rank-0.stderr").write_text("UserWarning: <old>\n")
    (out / "rank-1.stdout").write_text("rank 1 speaks\n")
    (out.parent / "control" / "log_times").write_text(
        "1763921234.0 rank-0.stdout 8\n1763921235.0 rank-0.stderr 19\n"
        "1763921236.0 rank-0.stdout 16\n1763921237.0 rank-1.stdout 14\n"
    )
    browser = lab.browser(lab.seoyeon)
    html = browser.get(f"/jobs/{job.id}?tab=log&rank=0&stream=both").text
    places = [html.index(text) for text in ("epoch 1", "UserWarning: &lt;old&gt;", "epoch 2")]
    assert places == sorted(places)
    assert ":14<" in html and "rank 1 speaks" not in html
    every = browser.get(f"/jobs/{job.id}?tab=log&rank=all").text
    assert every.index("epoch 2") < every.index("rank 1 speaks")
    assert "UserWarning" not in every, "stdout alone was asked for"
    earlier = browser.get(f"/jobs/{job.id}?tab=log&rank=0&stream=both&before=1763921236.0").text
    assert "epoch 1" in earlier and "epoch 2" not in earlier
    assert browser.get(f"/jobs/{job.id}?tab=log&stream=both&before=1e9").status_code == 422
    assert browser.get(f"/jobs/{job.id}?tab=log&stream=all").status_code == 422


def test_all_logs_are_searched_and_the_first_error_is_one_click_away(lab: Lab) -> None:
    job = lab.a_running_job()
    out = lab.out(job)
    (out / "rank-0.stdout").write_text("epoch 1\nepoch <2>\n")
    (out / "rank-1.stderr").write_text("ValueError: <bad>\n")
    (out.parent / "control" / "log_times").write_text(
        "1763921234.0 rank-0.stdout 18\n1763921235.0 rank-1.stderr 18\n"
    )
    address = f"/jobs/{job.id}?tab=log&rank=all&stream=both"
    browser = lab.browser(lab.seoyeon)
    assert "First error" not in browser.get(address).text
    html = browser.get(f"{address}&find=EPOCH").text
    assert "2 lines have it" in html and "epoch &lt;2&gt;" in html
    assert "First error" in html and "ValueError: &lt;bad&gt;" in html and "before=1763921235.1" in html
    assert "only a part was searched" not in html
    assert "First error" in browser.get(f"{address}&find=").text
    assert "ValueError" in browser.get(f"{address}&before=1763921235.1").text, "where the link leads"


@pytest.mark.parametrize(
    ("launcher", "state", "offered"),
    [
        (Launcher.TORCHRUN, JobState.WAITING, ["0", "1", "all"]),
        (Launcher.PLAIN, JobState.WAITING, ["0"]),
        (Launcher.TORCHRUN, JobState.FAILED, ["0"]),
    ],
)
def test_ranks_are_offered_before_they_have_written(
    lab: Lab, launcher: Launcher, state: JobState, offered: list[str]
) -> None:
    job = a_job(lab.cluster, lab.own_code, lab.seoyeon, launcher=launcher, state=state, units=2)
    html = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}?tab=log").text
    choice = re.search(r'<select[^>]* name="rank".*?</select>', html, re.S)
    assert choice and re.findall(r'value="(\w+)"', choice[0]) == offered


def test_a_log_of_letters_takes_the_portal_no_time(lab: Lab) -> None:
    """An expression that begins again at every letter would hold up all requests of the process."""
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_bytes((b"A" * 4000 + b"\nxWarning:\n") * 1000)
    browser = lab.browser(lab.seoyeon)
    browser.get(f"/jobs/{job.id}?tab=log&find=nothing")
    begun = time.process_time()
    assert browser.get(f"/jobs/{job.id}?tab=log").status_code == 200
    taken = time.process_time() - begun
    assert taken < 0.3, f"{taken:.2f} s"
