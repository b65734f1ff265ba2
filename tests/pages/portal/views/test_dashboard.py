"""The first page asks the database as little with a long queue as with a short one."""

from datetime import timedelta

from sqlalchemy import update

from cluster.domain.states import JobState
from cluster.store.nodes import Node
from tests.builders import a_job, a_node, a_training, a_workspace
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.test_queue import counted, many

MOST = 40
"""Statements besides the beginnings of reads, which PostgreSQL is not even sent."""


def test_the_first_page_costs_as_many_statements_however_long_the_queue_is(lab: Lab) -> None:
    """With waiting jobs of the reader's own: their reasons are read at once, not row by row."""
    lab.a_running_job(time_limit_seconds=3600)
    mine = a_training(lab.cluster, lab.workspace, lab.administrator)
    others = [a_training(lab.cluster, a_workspace(lab.cluster, lab.manager, units=1)) for _ in range(5)]
    for _ in range(8):
        job = a_job(lab.cluster, mine, lab.administrator)
        assert job.state is JobState.WAITING
    browser, costs = lab.browser(lab.administrator), []
    for count in (12, 400):
        for training in others:
            many(lab.cluster, training, count)
        browser.get("/")
        with counted(lab.cluster) as said:
            page = browser.get("/").text
        costs.append(sum(not each.startswith(("BEGIN", "PRAGMA")) for each in said))
    assert page.count("job-") >= 8
    assert costs[0] == costs[1] <= MOST, costs


def test_up_to_fifty_nodes_are_drawn_and_more_are_counted_by_state(lab: Lab) -> None:
    """The lab has one node already."""
    lab.a_running_job(units=2)
    browser, names = lab.browser(lab.administrator), [f"gpu{number:02}" for number in range(49)]
    with lab.cluster.store.write() as session:
        now = lab.cluster.clock()
        session.execute(update(Node).values(heartbeat_at=now))
    for name in names:
        a_node(lab.cluster, 8, name=name)
    drawn = browser.get("/").text
    assert all(f">{name}</a>" in drawn for name in names) and "50 of 50 nodes are ready." in drawn
    silent = a_node(lab.cluster, 8, name="gpu99")
    with lab.cluster.store.write() as session:
        session.get_one(Node, silent.id).heartbeat_at = now - timedelta(minutes=5)
    counted_page = browser.get("/").text
    assert not any(f">{name}</a>" in counted_page for name in names)
    for state, nodes, held in (
        ("ready", "50 nodes", f"2 / {49 * 8 + len(lab.node.units)}"),
        ("unreachable", "1 node", "0 / 8"),
    ):
        row = counted_page.split(f'href="/nodes?state={state}"', 1)[1].split("</li>")[0]
        assert nodes in row and f"{held} in use" in row
    assert "50 of 51 nodes are ready." in counted_page and len(counted_page) < len(drawn) / 2
