"""Many people are invited by one list: checked first, then made, with all links shown once."""

import io
import re

import pytest

from cluster.services.people import users
from cluster.services.people.passwords import read_password_link
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


def names(lab: Lab) -> set[str]:
    return {user.name for user in users.list_users(lab.cluster, actor_of(lab.administrator))}


def test_a_list_is_checked_and_nothing_is_made(lab: Lab) -> None:
    before = names(lab)
    data = {"people": "minji,김민지,,vision\nKim Junho,,,optics", "then": "invite"}
    answer = lab.browser(lab.administrator).post("/users/import", data=data)
    assert answer.status_code == 422 and names(lab) == before
    assert "1 line has to be changed" in answer.text and "no open workspaces optics" in answer.text
    assert "minji,김민지,,vision\nKim Junho,,,optics" in answer.text
    assert 'value="invite"' not in answer.text


def test_a_right_list_is_shown_before_it_is_invited(lab: Lab) -> None:
    browser, before = lab.browser(lab.administrator), names(lab)
    answer = browser.post("/users/import", data={"people": "minji,,,vision\njunho", "then": "check"})
    assert answer.status_code == 200 and names(lab) == before
    assert "2 people can be invited" in answer.text and 'value="invite"' in answer.text
    made = browser.post("/users/import", data={"people": "minji,,,vision\njunho", "then": "invite"})
    assert names(lab) - before == {"minji", "junho"}
    links = dict(
        re.findall(r"^(\w+)\thttp://localhost/link/(\S+)$", re.sub(r"<[^>]+>", "\n", made.text), re.MULTILINE)
    )
    assert {read_password_link(lab.cluster, secret).name for secret in links.values()} == set(links)
    assert set(links) == {"minji", "junho"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
def test_a_file_replaces_the_pasted_list(lab: Lab, encoding: str) -> None:
    file = (io.BytesIO("계정,이름\nminji,김민지\n".encode(encoding)), "people.csv")
    data = {"people": "somebody-else", "then": "check", "file": file}
    page = lab.browser(lab.administrator).post("/users/import", data=data).text
    assert "김민지" in page and "somebody-else" not in page


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 200_000])
def test_a_file_that_is_no_text_is_refused(lab: Lab, content: bytes) -> None:
    data = {"people": "minji", "then": "check", "file": (io.BytesIO(content), "people.xlsx")}
    answer = lab.browser(lab.administrator).post("/users/import", data=data)
    assert answer.status_code == 422 and "Save the table as CSV" in answer.text and "minji" in answer.text
