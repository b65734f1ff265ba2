"""The home page of a workspace sums the units that run by the people who hold them."""

from types import SimpleNamespace
from typing import cast

from cluster.services.jobs.queries import JobLine
from portal.presenters.workspace_home import units_by_person, units_legend

MINJI, SEOYEON = (7, "minji"), (8, "seoyeon")


def jobs(*held: tuple[tuple[int, str], int]) -> list[JobLine]:
    rows = [SimpleNamespace(user_id=user[0], user_name=user[1], units=units) for user, units in held]
    return cast(list[JobLine], rows)


def test_the_legend_has_the_readers_units_and_those_of_others() -> None:
    holding = jobs((MINJI, 2), (SEOYEON, 1), (MINJI, 3))
    assert [(item["fill"], item["count"]) for item in units_legend(holding, MINJI[0])] == [(1, 5), (2, 1)]
    assert [(item["fill"], item["count"]) for item in units_legend(holding, 99)] == [(2, 6)]
    assert units_legend([], MINJI[0]) == []


def test_units_are_summed_by_person() -> None:
    assert units_by_person(jobs((MINJI, 2), (SEOYEON, 1), (MINJI, 3))) == {"minji": 5, "seoyeon": 1}
