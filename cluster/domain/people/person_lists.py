"""Parses a list of people as a spreadsheet exports it or as its cells are pasted: one person on each line."""

import csv
from dataclasses import dataclass

from cluster.domain.errors import Refused

FIELD = "people"
MOST_PEOPLE = 200
ORDER = ("name", "full_name", "email", "workspaces")
"""The columns of a list whose first line does not name them."""
COLUMN_NAMES = {
    "account": "name",
    "user": "name",
    "id": "name",
    "계정": "name",
    "아이디": "name",
    "full name": "full_name",
    "name": "full_name",
    "이름": "full_name",
    "성명": "full_name",
    "mail": "email",
    "mail address": "email",
    "email": "email",
    "e-mail": "email",
    "메일": "email",
    "메일 주소": "email",
    "이메일": "email",
    "workspace": "workspaces",
    "workspaces": "workspaces",
    "작업공간": "workspaces",
}
SHOWN_COLUMNS = ("account", "full name", "mail address", "workspaces")


@dataclass(frozen=True)
class PersonLine:
    """One person as written; `number` is that of the line. `workspaces` are names."""

    number: int
    name: str
    full_name: str
    email: str
    workspaces: tuple[str, ...]


def parse_person_list(text: str) -> list[PersonLine]:
    """Tabs, semicolons or commas separate the cells; the first line decides which. Raises Refused."""
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((line for line in lines if line.strip()), "")
    separator = next((sign for sign in "\t;," if sign in first), ",")
    try:
        rows = [
            (number, [cell.strip() for cell in row])
            for number, row in enumerate(csv.reader(lines, delimiter=separator), 1)
        ]
    except csv.Error as error:
        raise Refused(FIELD, "user.list_not_csv", reason=str(error)) from error
    rows = [(number, row) for number, row in rows if any(row)]
    columns = read_columns(rows[0][1]) if rows else None
    people = [parse_line(number, row, columns or ORDER) for number, row in rows[1 if columns else 0 :]]
    if not people:
        raise Refused(FIELD, "user.list_missing")
    if len(people) > MOST_PEOPLE:
        raise Refused(FIELD, "user.list_too_many", count=len(people), most=MOST_PEOPLE)
    return people


def read_columns(cells: list[str]) -> tuple[str, ...] | None:
    """The fields that a first line names; None if it is a person already. Raises Refused.

    Without another column for accounts the column of names has them, as in `name,full name`.
    """
    words = [" ".join(cell.lower().replace("_", " ").split()) for cell in cells]
    known = [COLUMN_NAMES.get(word, "") for word in words]
    if "name" not in known and len(known) > 1 and all(known):
        account = next((place for place, word in enumerate(words) if word in ("name", "이름")), None)
        if account is not None:
            known[account] = "name"
    if "name" not in known:
        return None
    for word, column in zip(words, known, strict=True):
        if word and (not column or known.count(column) > 1):
            raise Refused(FIELD, "user.list_unknown_column", column=word[:60], columns=list(SHOWN_COLUMNS))
    return tuple(known)


def parse_line(number: int, cells: list[str], columns: tuple[str, ...]) -> PersonLine:
    """Raises Refused for a line that has more cells than there are columns."""
    if any(cells[len(columns) :]):
        raise Refused(FIELD, "user.list_too_many_cells", line=number, columns=len(columns))
    values = dict(zip(columns, cells, strict=False))
    workspaces = values.get("workspaces", "")
    for sign in ",;/|":
        workspaces = workspaces.replace(sign, " ")
    return PersonLine(
        number,
        values.get("name", ""),
        values.get("full_name", ""),
        values.get("email", ""),
        tuple(dict.fromkeys(workspaces.split())),
    )
