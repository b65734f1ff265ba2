"""A form answers any input without a 500: it names the field in the person's language and keeps what they typed."""

import re
from collections.abc import Mapping

import pytest
from werkzeug import formparser

from tests.pages.portal.filled_portal import House

BAD = {
    "nothing": "",
    "blanks": "   ",
    "negative": "-1",
    "not a number": "NaN",
    "infinity": "1e999",
    "a fraction": "0.5",
    "many digits": "9" * 40,
    "other digits": "٣",
    "full width": "２",
    "a null": "a\0b",
    "an escape": "\x1b[31m",
    "a lone surrogate, as a browser would replace it": "\ufffd",
    "markup": '"><script>alert(1)</script>',
    "a template": "{{ 7*7 }}",
    "quotes": "Robert'); DROP TABLE users;--",
    "Korean": "연구실",
    "right to left": "\u202egnp.exe",
    "an emoji": "🛬",
    "a page of text": "x" * 5_000,
    "a book": "한" * 150_000,
    "no day": "2026-02-30",
    "a far day": "9999-12-31",
    "an early day": "0001-01-01",
    "two values": "a,b",
    "a path": "../../etc/passwd",
}

WORKSPACE = {
    "name": "speech",
    "description": "",
    "units": "1",
    "starts_on": "2026-11-20",
    "ends_on": "2026-12-20",
    "manager": "jisoo",
    "members": "minjun, taeho",
}
FORMS: dict[str, tuple[str, Mapping[str, str]]] = {
    "/workspaces/new": ("administrator", WORKSPACE),
    "/workspaces/1/edit": ("administrator", WORKSPACE | {"version": "1"}),
    "/workspaces/1/extend": ("administrator", {"ends_on": "2027-03-01"}),
    "/users/new": ("administrator", {"name": "newcomer", "full_name": "새 사람", "role": "user"}),
    "/users/3/role": ("administrator", {"role": "administrator"}),
    "/profile/password": ("owner", {"old": "quiet apron 42", "password": "another quiet apron"}),
    "/profile/tokens": ("owner", {"token_name": "for-tests", "scope": "read", "days": "30"}),
    "/sign-in": ("anonymous", {"name": "seoyeon", "password": "quiet apron 42", "next": "/"}),
    "/link/{link}": ("anonymous", {"password": "another quiet apron"}),
}
"""Each form of these pages, filled in as it should be, and who sends it."""


def send(house: House, path: str, fields: Mapping[str, str], language: str = "en"):  # type: ignore[no-untyped-def]
    browser = house.visitor(FORMS[path][0])
    headers = {"Accept-Language": language}
    return browser.post(path.format(link=house.link), data=dict(fields), headers=headers)


LARGE = {
    "half a million fields, from nobody": ("/sign-in", "anonymous", b"a=&" * 300_000),
    "one long field, from nobody": ("/sign-in", "anonymous", b"name=" + b"a" * 40_000),
    "half a million fields": ("/profile/password", "owner", b"a=&" * 300_000),
    "fields where an archive is expected": ("/workspaces/1/datasets/new", "owner", b"a=&" * 1_500_000),
}


@pytest.mark.parametrize(("path", "visitor", "body"), LARGE.values(), ids=LARGE)
def test_a_form_larger_than_anybody_fills_in_is_refused_before_its_fields_are_read(
    house: House, path: str, visitor: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    monkeypatch.setattr(formparser, "parse_qsl", lambda text, **options: read.append(len(text)) or [])
    answer = house.visitor(visitor).post(path, data=body, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 413
    assert read == []


@pytest.mark.parametrize("path", FORMS)
def test_a_form_as_it_should_be_is_taken(house: House, path: str) -> None:
    assert send(house, path, FORMS[path][1]).status_code in (200, 302, 303)


@pytest.mark.parametrize(("path", "field"), [(path, field) for path in FORMS for field in FORMS[path][1]])
def test_a_bad_value_is_named_and_never_breaks_a_page(house: House, path: str, field: str) -> None:
    for bad, value in BAD.items():
        house.restore()
        answer = send(house, path, {**FORMS[path][1], field: value})
        assert answer.status_code < 500, bad
        assert "<script>alert" not in answer.text, bad
        if answer.status_code == 422:
            assert 'class="problem"' in answer.text or 'class="notice' in answer.text, bad


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("path", "field"), [(path, field) for path in FORMS for field in FORMS[path][1]])
def test_a_form_without_one_of_its_fields_is_refused_or_needs_it_not(
    house: House, path: str, field: str, language: str
) -> None:
    rest = {name: value for name, value in FORMS[path][1].items() if name != field}
    answer = send(house, path, rest, language)
    assert answer.status_code in (200, 302, 303, 422)
    if answer.status_code == 422:
        kept = [value for name, value in rest.items() if name in ("name", "units", "starts_on", "token_name")]
        assert all(value in answer.text for value in kept), "what was typed is kept"


ALL_WRONG: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "/workspaces/new": (
        {
            "name": "Vision Lab",
            "description": "x" * 600,
            "units": "two",
            "starts_on": "",
            "ends_on": "soon",
            "manager": "nobody",
            "members": "nobody-else",
        },
        ("name", "description", "units", "starts_on", "ends_on", "manager", "members"),
    ),
    "/workspaces/1/edit": (
        {"name": "A", "units": "two", "ends_on": "soon", "manager": "nobody"},
        ("name", "units", "ends_on", "manager"),
    ),
    "/users/new": ({"name": "Kim", "full_name": "x" * 101, "role": "king"}, ("name", "full_name", "role")),
    "/profile/tokens": ({"token_name": "For Tests", "days": "0"}, ("token_name", "days")),
}
"""Forms with several faults: shapes that the portal refuses and values that the domain refuses."""


@pytest.mark.parametrize("path", ALL_WRONG)
def test_all_faults_of_a_form_are_told_at_once_each_beside_its_field(house: House, path: str) -> None:
    wrong, fields = ALL_WRONG[path]
    answer = send(house, path, {**FORMS[path][1], **wrong})
    assert answer.status_code == 422
    for field in fields:
        assert f'id="{field}-problem"' in answer.text, field
    if path != "/profile/tokens":  # A page of several forms has no summary.
        assert f"Fix {len(fields)} problems" in answer.text
        assert all(f'href="#{field}"' in answer.text for field in fields), "the summary leads to the fields"
        links = re.findall(r'<li><a href="#([^"]+)"', answer.text)
        assert links == sorted(links, key=lambda field: answer.text.index(f'id="{field}"')), "in their order"


def test_one_sentence_names_all_whom_nobody_knows(house: House) -> None:
    answer = send(house, "/workspaces/new", WORKSPACE | {"members": "one; two, minjun"})
    told = answer.text.split('id="members-problem"')[1].split("</p>")[0]
    assert "one and two" in told and "minjun" not in told
    assert 'value="minjun" checked' in answer.text, "who was chosen stays chosen"


@pytest.mark.parametrize("path", FORMS)
def test_a_field_that_nobody_reads_is_refused(house: House, path: str) -> None:
    answer = send(house, path, {**FORMS[path][1], "colour": "7"})
    assert answer.status_code == 422
    assert "colour" in answer.text


@pytest.mark.parametrize(
    ("field", "value", "english", "korean"),
    [
        ("units", "99", "the cluster has 4", "CPU 슬롯"),
        ("ends_on", "2026-11-01", "2026-11-20", "2026-11-20"),
        ("name", "Vision Lab", "vision-lab", "vision-lab"),
        ("name", "vision-lab", "vision-lab", "vision-lab"),
        ("manager", "nobody", "nobody", "nobody"),
        ("members", "minjun nobody", "nobody", "nobody"),
        ("units", "two", "whole number", "정수"),
        ("starts_on", "tomorrow", "2026-11-20", "2026-11-20"),
    ],
)
def test_a_refused_workspace_says_what_to_type_instead(
    house: House, field: str, value: str, english: str, korean: str
) -> None:
    for language, word in (("en", english), ("ko", korean)):
        answer = send(house, "/workspaces/new", WORKSPACE | {field: value}, language)
        assert answer.status_code == 422
        told = answer.text.split(f'id="{field}-problem"')[1].split("</p>")[0]
        assert word in told, told
        assert all(word in answer.text for word in value.split()), "the typed value is still there"


@pytest.mark.parametrize(
    ("path", "typed", "repaired"),
    [("/workspaces/new", "Vision 2", "vision-2"), ("/users/new", "Kim_Min", "kim-min")],
)
def test_a_repaired_name_is_one_click_away(house: House, path: str, typed: str, repaired: str) -> None:
    answer = send(house, path, {**FORMS[path][1], "name": typed})
    told = answer.text.split('id="name-problem"')[1].split("</p>")[0]
    link = told.split('<a href="')[1].split('"')[0].replace("&amp;", "&")
    page = house.visitor("administrator").get(link).text
    assert f'value="{repaired}"' in page
    assert all(
        value in page for name, value in FORMS[path][1].items() if name in ("units", "ends_on", "full_name")
    )


@pytest.mark.parametrize("option", ["endpoint", "_scheme", "_external", "_method", "_anchor", "values"])
@pytest.mark.parametrize(("path", "typed"), [("/workspaces/new", "Vision 2"), ("/users/new", "Kim_Min")])
def test_no_field_changes_where_the_link_to_a_repaired_name_leads(
    house: House, path: str, typed: str, option: str
) -> None:
    answer = send(house, path, {**FORMS[path][1], "name": typed, option: "javascript"})
    assert answer.status_code == 422
    told = answer.text.split('id="name-problem"')[1].split("</p>")[0]
    assert told.split('<a href="')[1].startswith(f"{path}?")


def field_value(page: str, name: str) -> str:
    return page.split(f'name="{name}" value="')[1].split('"')[0]


def test_an_edit_keeps_what_others_changed_and_can_be_saved_afterwards(house: House) -> None:
    seen = {**FORMS["/workspaces/1/edit"][1], "name": "vision-lab", "units": "2"}
    admin = house.visitor("administrator")
    opened = admin.get("/workspaces/1/edit").text
    seen |= {name: field_value(opened, name) for name in ("starts_on", "ends_on", "version")}
    first = send(house, "/workspaces/1/edit", {**seen, "units": "3", "description": "theirs"})
    assert first.status_code == 303
    second = send(house, "/workspaces/1/edit", {**seen, "description": "mine"})
    assert second.status_code == 409
    assert "Changed meanwhile" in second.text and "2 → 3" in second.text and "root-of-all" in second.text
    assert field_value(second.text, "units") == "3", "a field that was left alone takes what is stored"
    assert ">\nmine</textarea>" in second.text
    assert second.text.count("Saving replaces this by what you typed.") == 1, "both changed the description"
    again = {**seen, "units": "3", "description": "mine", "version": field_value(second.text, "version")}
    assert send(house, "/workspaces/1/edit", again).status_code == 303
    page = admin.get("/workspaces/1/edit").text
    assert ">\nmine</textarea>" in page and field_value(page, "units") == "3"


def test_a_manager_changes_members_but_not_the_term(house: House) -> None:
    manager = house.visitor("manager")
    page = manager.get("/workspaces/1/edit").text
    assert 'name="members"' in page and 'name="units"' not in page
    allowed = {
        "version": "1",
        "description": "ours",
        "members": ["", "seoyeon", "minjun"],
        "more_members": "taeho",
    }
    assert manager.post("/workspaces/1/edit", data=allowed).status_code == 303
    sneaky = {"version": "2", "description": "ours", "members": "seoyeon", "units": "4"}
    assert manager.post("/workspaces/1/edit", data=sneaky).status_code == 403


@pytest.mark.parametrize(
    "query",
    ["state=", "state=x", "state=%00", "q=%ff", "before=x", "before=99999999999999", "only=%F0", "a=1&a=2"],
)
@pytest.mark.parametrize(
    "path", ["/workspaces", "/users", "/nodes", "/operations", "/", "/profile", "/jobs", "/queue"]
)
def test_any_query_is_answered(house: House, path: str, query: str) -> None:
    assert house.visitor("administrator").get(f"{path}?{query}").status_code in (200, 400, 422)
