"""Who holds the units of a workspace."""

from cluster.store.jobs import Job
from cluster.store.users import User
from portal.presenters.workspace_home import units_by_person, units_legend

MINJI, SEOYEON = User(id=7, name="minji"), User(id=8, name="seoyeon")


def jobs(*held: tuple[User, int]) -> list[Job]:
    return [Job(user_id=user.id, user=user, units=units) for user, units in held]


def test_the_legend_has_the_readers_units_and_those_of_others() -> None:
    holding = jobs((MINJI, 2), (SEOYEON, 1), (MINJI, 3))
    assert [(item["fill"], item["count"]) for item in units_legend(holding, MINJI.id)] == [(1, 5), (2, 1)]
    assert [(item["fill"], item["count"]) for item in units_legend(holding, 99)] == [(2, 6)]
    assert units_legend([], MINJI.id) == []


def test_units_are_summed_by_person() -> None:
    assert units_by_person(jobs((MINJI, 2), (SEOYEON, 1), (MINJI, 3))) == {"minji": 5, "seoyeon": 1}
