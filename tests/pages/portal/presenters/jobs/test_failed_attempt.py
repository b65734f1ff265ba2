"""A failed job's page says why: the last lines of the log that has the cause, and what is known of them."""

from tests.pages.portal.pages_lab import Lab

CRASH = "Traceback (most recent call last):\n  File \"train.py\", line 9\nModuleNotFoundError: No module named 'timm'\n"


def test_the_banner_quotes_the_log_with_the_cause_and_the_log_tab_opens_there(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stdout").write_text("epoch 1\n")
    (lab.out(job) / "launcher.stderr").write_text(CRASH)
    lab.ended(job, "exit.error", exit_code=1)
    browser = lab.browser(lab.seoyeon)
    page = browser.get(f"/jobs/{job.id}").text
    assert "<b>ModuleNotFoundError: No module named &#39;timm&#39;</b>" in page
    assert "The Python module timm is not installed." in page
    assert f"/jobs/{job.id}?tab=log&amp;rank=launcher&amp;stream=stderr" in page
    log = browser.get(f"/jobs/{job.id}?tab=log").text
    assert '<option value="launcher" selected>' in log
    assert '<option value="stderr" selected>' in log
    pin = log.split('class="log-pin')[1].split("</div>")[0]
    assert "ModuleNotFoundError" in pin and "is not installed" in pin, "and not the traceback's first line"
    chosen = browser.get(f"/jobs/{job.id}?tab=log&rank=0&stream=stdout").text
    assert '<option value="0" selected>' in chosen
    assert "설치되지 않은 Python 모듈: timm" in lab.browser(lab.seoyeon, "ko").get(f"/jobs/{job.id}").text


def test_lines_of_the_log_are_text_and_never_markup(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stderr").write_text("<script>alert(1)</script>\nValueError: <b>\n")
    lab.ended(job, "exit.error", exit_code=1)
    page = lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
    assert "<script>alert" not in page
    assert "ValueError: &lt;b&gt;" in page


def test_a_job_that_was_stopped_quotes_nothing(lab: Lab) -> None:
    job = lab.a_running_job()
    (lab.out(job) / "rank-0.stderr").write_text("KeyboardInterrupt\n")
    lab.ended(job, "exit.timed_out", exit_code=1)
    assert "failure-lines" not in lab.browser(lab.seoyeon).get(f"/jobs/{job.id}").text
