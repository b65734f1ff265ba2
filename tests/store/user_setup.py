"""Users with passwords, as their tests need them."""

from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.people import passwords, sessions, users
from cluster.services.people.first_administrator import (
    create_first_administrator,
    issue_first_administrator_secret,
)
from cluster.store.users import User
from tests.builders import actor_of

PASSWORD, OTHER = "correct horse battery", "staple of another kind"
HOME = "192.0.2.1"


def first_administrator(cluster: Cluster, name: str = "minji") -> tuple[User, Actor]:
    secret = issue_first_administrator_secret(cluster)
    assert secret is not None
    user = create_first_administrator(cluster, secret, name, PASSWORD, HOME)
    return user, actor_of(user)


def a_person(cluster: Cluster, administrator: Actor, name: str = "jun", role: str = "user") -> User:
    """With a password."""
    user, link = users.create_user(cluster, administrator, name, "", role)
    return passwords.use_password_link(cluster, link, PASSWORD)


def sign_in(cluster: Cluster, name: str, password: str = PASSWORD) -> str:
    return sessions.sign_in(cluster, name, password, HOME, "Firefox")
