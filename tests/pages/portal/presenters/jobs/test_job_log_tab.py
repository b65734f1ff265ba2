"""The log tab as the server renders it."""

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
