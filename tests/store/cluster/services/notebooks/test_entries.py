"""A ticket works once for one notebook, and its cookie for as long as the portal session lives."""

import pytest

from cluster.domain.errors import Conflict, NotFound
from cluster.services.notebooks import entries
from cluster.services.people.sessions import begin_session
from cluster.store.jobs import Notebook, NotebookEntry
from tests.notebook_lab import NotebookLab


def set_ready(lab: NotebookLab, job_id: int, address: str | None = None) -> None:
    with lab.cluster.store.write() as session:
        row = session.get_one(Notebook, job_id)
        row.ready_attempt, row.address = 1, address


def test_the_way_in(lab: NotebookLab) -> None:
    job, session = lab.start(lab.member), begin_session(lab.cluster, lab.member.id, "127.0.0.1", "a test")
    lab.run(job)
    with pytest.raises(Conflict):
        entries.issue_ticket(lab.cluster, lab.actor(lab.member), job.id, session)
    set_ready(lab, job.id)
    with pytest.raises(NotFound):
        entries.issue_ticket(lab.cluster, lab.actor(lab.owner), job.id, session)
    ticket = entries.issue_ticket(lab.cluster, lab.actor(lab.member), job.id, session)
    cookie = entries.redeem_ticket(lab.cluster, job.id, ticket)
    assert cookie is not None and entries.redeem_ticket(lab.cluster, job.id, ticket) is None
    found = entries.find_upstream(lab.cluster, job.id, cookie)
    assert found is not None and found.token == lab.row(job).token
    assert found.address.startswith("http://unix:/") and found.address.endswith("/jupyter.sock:")
    assert entries.find_upstream(lab.cluster, job.id, ticket) is None
    set_ready(lab, job.id, "10.0.0.7:8888")
    found = entries.find_upstream(lab.cluster, job.id, cookie)
    assert found is not None and found.address == "http://10.0.0.7:8888"


def test_no_secret_of_a_browser_stands_in_the_rows(lab: NotebookLab) -> None:
    job, session = lab.start(), begin_session(lab.cluster, lab.owner.id, "127.0.0.1", "a test")
    lab.run(job)
    set_ready(lab, job.id)
    ticket = entries.issue_ticket(lab.cluster, lab.actor(), job.id, session)
    cookie = entries.redeem_ticket(lab.cluster, job.id, ticket) or ""
    with lab.cluster.store.read() as rows:
        (row,) = rows.query(NotebookEntry)
    assert not {ticket, cookie, session} & {row.ticket_hash, row.cookie_hash, row.session_hash}
