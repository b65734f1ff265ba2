"""A new installation asks for its first administrator."""

import pytest
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.people import first_administrator
from tests.audit_entries import actions
from tests.pages.portal.filled_portal import PASSWORD
from tests.pages.portal.views.people.test_sign_in import post


def test_a_fresh_installation_asks_for_its_first_administrator(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    assert client.get("/").location == "/sign-in"
    assert client.get("/sign-in").location == "/first-administrator"
    secret = first_administrator.issue_first_administrator_secret(light_cluster) or ""
    answer = post(client, "/first-administrator", secret=secret, name="hjkim", password=PASSWORD)
    assert (answer.status_code, answer.location) == (302, "/")
    page = client.get("/")
    assert page.status_code == 200 and "hjkim" in page.text
    assert client.get("/first-administrator").location == "/sign-in"
    assert {"user.first_administrator_created", "session.begun"} <= set(actions(light_cluster))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"secret": "AAAA-BBBB-CCCC-DDDD"}, "secret"),
        ({"name": "-x"}, "name"),
        ({"name": "groundcrew"}, "name"),
        ({"password": "qwx9!"}, "password"),
        ({"password": "password1"}, "password"),
    ],
)
def test_a_refused_first_administrator_sees_what_to_change(
    client: FlaskClient, light_cluster: Cluster, changed: dict[str, str], field: str
) -> None:
    secret = first_administrator.issue_first_administrator_secret(light_cluster) or ""
    typed = {"secret": secret, "name": "hjkim", "password": PASSWORD} | changed
    answer = post(client, "/first-administrator", **typed)
    assert answer.status_code == 422
    assert f'id="{field}-problem"' in answer.text
    assert f'value="{typed["name"]}"' in answer.text, "what was typed is kept"
    assert typed["password"] not in answer.text, "but never a password"
    assert first_administrator.needs_first_administrator(light_cluster)


def test_all_faults_of_the_first_administrator_are_told_at_once(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    first_administrator.issue_first_administrator_secret(light_cluster)
    answer = post(client, "/first-administrator", secret="0000-0000", name="Kim", password="short")
    assert answer.status_code == 422
    assert all(f'id="{field}-problem"' in answer.text for field in ("secret", "name", "password"))
