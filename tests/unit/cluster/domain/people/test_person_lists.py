"""A list of people is read as spreadsheets write it, and refused with the line that is to be changed."""

from typing import Any

import pytest

from cluster.domain.errors import Refused
from cluster.domain.people.person_lists import MOST_PEOPLE, PersonLine, parse_person_list

MINJI = PersonLine(1, "minji", "김민지", "minji@lab.example", ("vision", "nlp"))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("minji,김민지,minji@lab.example,vision nlp", 1),
        ("\ufeffminji\t김민지\tminji@lab.example\tvision;nlp\r\n", 1),
        ('\n minji ;김민지;minji@lab.example;"vision;nlp vision"\n;;;\n', 2),
        ("작업공간,이름,계정,메일 주소\nvision/nlp,김민지,minji,minji@lab.example", 2),
        ("name,full_name,email,workspaces\nminji,김민지,minji@lab.example,vision nlp", 2),
        ("이름;성명;메일;작업공간\nminji;김민지;minji@lab.example;vision nlp", 2),
        ("Full_Name,Workspaces,ACCOUNT,E-Mail,\n김민지,vision|nlp,minji,minji@lab.example,", 2),
    ],
)
def test_cells_are_read_in_the_order_that_the_first_line_names(text: str, number: int) -> None:
    line = parse_person_list(text)[0]
    assert line == PersonLine(number, *(MINJI.name, MINJI.full_name, MINJI.email, MINJI.workspaces))


def test_all_but_the_account_may_be_missing() -> None:
    assert parse_person_list("junho\n\nminji,,,vision\n") == [
        PersonLine(1, "junho", "", "", ()),
        PersonLine(3, "minji", "", "", ("vision",)),
    ]
    assert parse_person_list("account,workspaces\nminji") == [PersonLine(2, "minji", "", "", ())]


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("", "user.list_missing", {}),
        ("\n ,,\n", "user.list_missing", {}),
        ("account,full name\n", "user.list_missing", {}),
        ("account,desk\nminji,7", "user.list_unknown_column", {"column": "desk"}),
        ("account,id\nminji,7", "user.list_unknown_column", {"column": "account"}),
        ("minji,,,vision,nlp", "user.list_too_many_cells", {"line": 1, "columns": 4}),
        (
            "\n".join(f"a{n}" for n in range(MOST_PEOPLE + 1)),
            "user.list_too_many",
            {"count": MOST_PEOPLE + 1},
        ),
        ("x" * 200_000, "user.list_not_csv", {}),
    ],
)
def test_what_is_no_list_of_people_is_refused(text: str, code: str, data: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refusal:
        parse_person_list(text)
    assert refusal.value.code == code
    assert data.items() <= refusal.value.data.items()
