"""A row of the list of users says since when the password stands, once the link was used."""

from cluster.services.people import users
from portal.presenters.user_rows import user_row
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab


def test_a_row_names_no_password_before_the_link_is_used(lab: Lab) -> None:
    chief = actor_of(lab.administrator)
    invited, _secret = users.create_user(lab.cluster, chief, "newcomer", "New Comer")
    with lab.app.test_request_context():
        row = user_row(users.read_user(lab.cluster, chief, invited.id))
    assert (row.name, row.full_name, row.is_administrator) == ("newcomer", "New Comer", False)
    assert row.created is not None and row.password_changed is None
