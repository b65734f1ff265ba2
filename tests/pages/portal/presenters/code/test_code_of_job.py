"""Which lines of code changed since the last good job, on the job's page and in numbers."""

import pytest

from cluster.domain.states import JobState
from portal.presenters.code.code_of_job import (
    JobCodeChange,
    count_change,
    count_changed_lines,
    read_code_of_job,
)
from portal.presenters.training_code import FileDifference, VersionComparison
from tests.builders import a_code_version, a_job, actor_of
from tests.pages.portal.pages_lab import Lab


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([], 0),
        (["--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y"], 1),
        (["--- a", "+++ b", "@@ -1 +1 @@", "+y", " same", "-z", "-z"], 3),
        (["--- a", "+++ b", "@@ @@", "--- old comment", "+++ new"], 1),
    ],
)
def test_a_replaced_line_counts_once(lines: list[str], count: int) -> None:
    assert count_changed_lines(lines) == count


def test_what_is_too_long_has_no_number_of_lines() -> None:
    file = FileDifference("a.bin", "changed", None)
    assert count_change(VersionComparison([file], 0)) == JobCodeChange(1, None)
    assert count_change(VersionComparison([], 3)) == JobCodeChange(3, None)


def test_the_difference_is_one_click_from_the_page(lab: Lab) -> None:
    a_code_version(lab.cluster, lab.own_code, [("train.py", b"1\n2\n3\n4\n")])
    a_code_version(lab.cluster, lab.own_code, [("train.py", b"1\ntwo\nthree\n4\n5\n")], 2)
    good = a_job(lab.cluster, lab.own_code, lab.seoyeon, state=JobState.FINISHED, code_version=1)
    same = a_job(lab.cluster, lab.own_code, lab.seoyeon, state=JobState.FAILED, code_version=1)
    bad = a_job(lab.cluster, lab.own_code, lab.seoyeon, state=JobState.FAILED, code_version=2)
    html = lab.browser(lab.seoyeon).get(f"/jobs/{bad.id}").text
    assert "differs in 3 lines" in html and "before=1&amp;after=2" in html
    assert f"/jobs/{good.id}" in html
    assert "3줄이 다름" in lab.browser(lab.seoyeon, "ko").get(f"/jobs/{bad.id}").text
    assert "the same code" in lab.browser(lab.seoyeon).get(f"/jobs/{same.id}").text
    code = read_code_of_job(lab.cluster, actor_of(lab.seoyeon), good)
    assert code is not None and code.last_good_job is None
