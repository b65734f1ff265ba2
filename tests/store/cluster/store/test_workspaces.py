"""Terms hold units until somebody ends them; neighbours have other colours; the database keeps the rules."""

from datetime import date, timedelta

import pytest
from sqlalchemy.exc import IntegrityError

from cluster.domain.workspace_terms import Term
from cluster.services.context import Cluster
from cluster.store.workspaces import COLOURS, Workspace, choose_colour, list_held_terms
from tests.builders import a_user, a_workspace, add

FIRST, LAST = date(2026, 11, 1), date(2026, 11, 30)


def test_terms_hold_units_until_a_person_has_ended_them(cluster: Cluster) -> None:
    now, hour = cluster.clock(), timedelta(hours=1)
    term = {"starts_on": FIRST, "ends_on": LAST}
    a_workspace(cluster, units=1, **term)  # type: ignore[arg-type]
    a_workspace(cluster, units=2, ended_at=now + hour, **term)
    a_workspace(cluster, units=4, ended_at=now, **term)
    own = a_workspace(cluster, units=8, **term)  # type: ignore[arg-type]
    with cluster.store.read() as session:
        assert sorted(list_held_terms(session, now), key=lambda each: each.units) == [
            Term(FIRST, LAST, 1),
            Term(FIRST, LAST, 2),
            Term(FIRST, LAST, 8),
        ]
        assert {each.units for each in list_held_terms(session, now, besides=own.id)} == {1, 2}


def test_a_new_workspace_has_the_colour_after_the_newest_one_s(cluster: Cluster) -> None:
    manager, chosen = a_user(cluster), []
    for number in range(COLOURS + 1):
        with cluster.store.write() as session:
            chosen.append(choose_colour(session))
            session.add(
                Workspace(
                    name=f"w{number}",
                    starts_on=FIRST,
                    ends_on=LAST,
                    units=1,
                    manager_id=manager.id,
                    colour=chosen[-1],
                    created_at=cluster.clock(),
                )
            )
    assert chosen == [*range(1, COLOURS + 1), 1]


@pytest.mark.parametrize(
    "wrong", [{"units": -1}, {"colour": 0}, {"colour": 7}, {"ends_on": date(2026, 10, 31)}], ids=str
)
def test_the_database_refuses_a_workspace_that_cannot_be(cluster: Cluster, wrong: dict[str, object]) -> None:
    values: dict[str, object] = {
        "name": "vision",
        "starts_on": FIRST,
        "ends_on": LAST,
        "units": 1,
        "manager_id": a_user(cluster).id,
        "colour": 1,
        "created_at": cluster.clock(),
    }
    with pytest.raises(IntegrityError):
        add(cluster, Workspace(**values | wrong))
