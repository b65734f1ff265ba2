"""Alerts stand on the dashboard and are counted in the navigation."""

from datetime import timedelta

from sqlalchemy import update

from cluster.domain.states import UnitState
from cluster.store.nodes import Node, Unit
from portal.presenters.alerts import LINES_PER_CODE
from tests.builders import a_node
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


def test_of_many_nodes_that_are_silent_the_first_are_named_and_all_are_counted(house: House) -> None:
    """The house has one node already."""
    silent = [a_node(house.cluster, 1, name=f"gpu{number:02}") for number in range(20)]
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=house.cluster.clock() - timedelta(minutes=4)))
    page = house.visitor("administrator").get("/").text
    assert f"Needs you {len(silent) + 1}" in page
    sign = page.split('class="sign-lines"')[1].split("</ul>")[0]
    assert sign.count("does not answer") == LINES_PER_CODE
    assert f"and {len(silent) + 1 - LINES_PER_CODE} more" in sign and 'href="/nodes">See all' in sign


def test_times_in_an_alert_are_for_programs_too(house: House) -> None:
    silent_since = house.cluster.clock() - timedelta(minutes=4)
    with house.cluster.store.write() as session:
        session.execute(update(Node).values(heartbeat_at=silent_since))
    page = house.visitor("administrator").get("/").text
    sign = page.split('class="sign-lines"')[1].split("</ul>")[0]
    assert f'<time datetime="{silent_since.isoformat()}"' in sign
