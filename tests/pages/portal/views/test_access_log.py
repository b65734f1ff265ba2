"""The access log: found by its address, exported as it is shown, closed to others, honest about what was checked."""

import csv
import io
from datetime import timedelta

from cluster.services.audit.seals import check_audit, seal_entries
from cluster.services.people import sessions
from cluster.store.audit import add_audit_entry
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


def fill(lab: Lab) -> None:
    """Of three days: the clock stands at 14:00 on 2026-11-20 in Seoul."""
    now = lab.cluster.clock()
    for days, action, outcome in (
        (2, "job.submitted", "done"),
        (1, "user.disabled", "done"),
        (0, "session.refused", "refused"),
    ):
        with lab.cluster.store.write() as session:
            actor = actor_of(lab.manager if days else lab.seoyeon)
            add_audit_entry(session, now - timedelta(days=days), actor, action, 7, outcome, note="=cmd()")


def names(text: str) -> list[str]:
    return [row["action"] for row in csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))]


def test_entries_are_found_by_what_the_address_says(lab: Lab) -> None:
    fill(lab)
    browser = lab.browser(lab.administrator)
    for address, found in (
        ("day=2026-11-19", ["user.disabled"]),
        ("who=jisoo&kind=job", ["job.submitted"]),
        ("outcome=refused&kind=session", ["session.refused"]),
        ("day=2026-11-17", []),
    ):
        assert names(browser.get(f"/access-log?{address}&format=csv").text) == found, address


def test_what_is_no_day_and_no_kind_is_said(lab: Lab) -> None:
    browser = lab.browser(lab.administrator)
    bad = (
        "day=yesterday",
        "day=0001-01-01",
        "day=9999-12-31",
        "kind=secrets",
        "outcome=x",
        "who=%00",
        "before=x",
    )
    for address in bad:
        assert browser.get(f"/access-log?{address}").status_code == 422, address


def test_the_page_says_in_both_languages_whether_it_is_whole(lab: Lab) -> None:
    fill(lab)
    lab.cluster.clock.move(minutes=2)  # type: ignore[attr-defined]
    sealed = seal_entries(lab.cluster)
    check_audit(lab.cluster, [])
    page = lab.browser(lab.administrator).get("/access-log?kind=session&outcome=refused").text
    assert "Sign-in refused" in page and f"all {sealed} entries sealed then are as they were" in page
    korean = lab.browser(lab.administrator, "ko").get("/access-log?outcome=refused").text
    assert "접속 기록" in korean and f"그때 봉인된 {sealed}개 항목이 그대로" in korean


def test_nobody_else_reads_it(lab: Lab) -> None:
    for format in ("", "?format=csv"):
        assert lab.browser(lab.manager).get(f"/access-log{format}").status_code == 403


def test_pages_go_on_where_the_last_one_ended(lab: Lab) -> None:
    for number in range(60):
        with lab.cluster.store.write() as session:
            add_audit_entry(session, lab.cluster.clock(), actor_of(lab.manager), "job.held", number)
    first = lab.browser(lab.administrator).get("/access-log?kind=job").text
    assert "job-59" in first and "job-9<" not in first
    older = first.split("before=")[1].split('"')[0]
    assert "job-9<" in lab.browser(lab.administrator).get(f"/access-log?kind=job&before={older}").text


def test_no_token_of_a_session_is_in_it(lab: Lab) -> None:
    token = sessions.begin_session(lab.cluster, lab.manager.id, "192.0.2.1", "a test")
    assert token not in lab.browser(lab.administrator).get("/access-log?format=csv").text
