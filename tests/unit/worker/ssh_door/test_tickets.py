"""A ticket is worth something to the office that gave it, and only as it is."""

from cluster.services.ssh.job_access import SshEntry
from worker.ssh_door.tickets import TicketOffice

ENTRY = SshEntry(42, 7, "laptop", "SHA256:a+b/c", "ssh-ed25519 AAAA", 3, "minji", None)


def test_a_ticket_names_job_and_key() -> None:
    office = TicketOffice()
    assert office.read(office.ticket_of(ENTRY)) == (42, "SHA256:a+b/c")


def test_what_the_office_has_not_given_is_worth_nothing() -> None:
    office, ticket = TicketOffice(), TicketOffice().ticket_of(ENTRY)
    own = office.ticket_of(ENTRY)
    for forged in (ticket, own[:-1], own + "0", own.replace("42.", "43.", 1), "", ".", "a.b", "한국어.x"):
        assert office.read(forged) is None, forged
