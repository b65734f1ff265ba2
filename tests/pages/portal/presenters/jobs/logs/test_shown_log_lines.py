"""Lines of logs with their times and a filter by level, as the server renders them."""

from tests.pages.portal.pages_lab import Lab


def test_lines_of_one_log_have_times_and_a_filter_by_level(lab: Lab) -> None:
    job = lab.a_running_job()
    out = lab.out(job)
    (out / "rank-0.stdout").write_text("epoch 1\nUserWarning: old\nValueError: <bad>\nlast\n")
    (out.parent / "control" / "log_times").write_text(
        "1763921234.0 rank-0.stdout 8\n1763921235.7 rank-0.stdout 43\n"
    )
    browser = lab.browser(lab.seoyeon)

    def lines(address: str) -> str:
        return browser.get(address).text.split("data-lines>")[1].split("</section>")[0]

    every = lines(f"/jobs/{job.id}?tab=log")
    assert ":14</time><span>epoch 1<" in every and ":15</time><span>ValueError: &lt;bad&gt;<" in every
    assert '<time title="">–</time><span>last<' in every, "its time was not recorded yet"
    errors = lines(f"/jobs/{job.id}?tab=log&level=errors")
    assert "ValueError" in errors and "epoch 1" not in errors and "UserWarning" not in errors
    warnings = lines(f"/jobs/{job.id}?tab=log&level=warnings")
    assert "ValueError" in warnings and "UserWarning" in warnings and "epoch 1" not in warnings
    merged = browser.get(f"/jobs/{job.id}?tab=log&stream=both&level=errors").text
    assert "ValueError" in merged.split('role="log"')[1] and "3 other lines are hidden." in merged
    assert browser.get(f"/jobs/{job.id}?tab=log&level=fatal").status_code == 422
    assert "경고와 오류" in lab.browser(lab.seoyeon, "ko").get(f"/jobs/{job.id}?tab=log").text
