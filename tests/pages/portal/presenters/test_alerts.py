"""Alerts stand on the dashboard and are counted in the navigation."""

from datetime import timedelta

from sqlalchemy import update

from cluster.domain.states import UnitState
from cluster.store.nodes import Node, Unit
from tests.pages.portal.filled_portal import House


def test_the_dashboard_is_quiet_where_nothing_is_wrong(house: House) -> None:
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=house.cluster.clock()))
    page = house.visitor("administrator").get("/").text
    assert "All quiet" in page and 'class="sign"' not in page


def test_the_sign_names_what_needs_a_person_and_the_rail_counts_the_same(house: House) -> None:
    now = house.cluster.clock()
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=now - timedelta(minutes=4)))
        session.execute(update(Unit).where(Unit.position == 3).values(state=UnitState.BROKEN))
    page = house.visitor("administrator").get("/").text
    assert "Needs you 2" in page and "lab-a" in page
    assert page.index("does not answer") < page.index("CPU slot of 4 broken"), (
        "what blocks people comes first"
    )
    assert page.count('class="call-count"') >= 2
