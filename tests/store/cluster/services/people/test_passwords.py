"""Passwords are set by links and changed with the old one."""

import pytest

from cluster.domain.errors import NotFound, Refused
from cluster.services.context import Cluster
from cluster.services.people import passwords, sessions, users
from cluster.store.users import User
from tests.conftest import Clock
from tests.simultaneous_calls import at_once
from tests.store.user_setup import OTHER, PASSWORD, a_person, first_administrator, sign_in

pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_a_link_is_good_for_72_hours_and_a_new_one_replaces_it(cluster: Cluster, clock: Clock) -> None:
    _, administrator = first_administrator(cluster)
    user, first = users.create_user(cluster, administrator, "jun")
    second = passwords.issue_password_link(cluster, administrator, user.id)
    with pytest.raises(NotFound):
        passwords.read_password_link(cluster, first)
    clock.move(hours=71, minutes=59)
    assert passwords.read_password_link(cluster, second).id == user.id
    clock.move(minutes=1)
    with pytest.raises(NotFound):
        passwords.use_password_link(cluster, second, PASSWORD)


@pytest.mark.parametrize("secret", ["", "x", "\0", "\ud800", "first_administrator", "a" * 100_000])
def test_nonsense_is_no_link(cluster: Cluster, secret: str) -> None:
    with pytest.raises(NotFound):
        passwords.read_password_link(cluster, secret)


def test_a_link_used_twice_at_once_sets_one_password(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    _, link = users.create_user(cluster, administrator, "jun")
    results = at_once(
        lambda: passwords.use_password_link(cluster, link, PASSWORD),
        lambda: passwords.use_password_link(cluster, link, OTHER),
    )
    assert sorted(type(result).__name__ for result in results) == ["NotFound", "User"]


def test_a_link_ends_the_sessions_there_were(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    user = a_person(cluster, administrator)
    token = sign_in(cluster, "jun")
    link = passwords.issue_password_link(cluster, administrator, user.id)
    assert sessions.authenticate_session(cluster, token) is not None
    passwords.use_password_link(cluster, link, OTHER)
    assert sessions.authenticate_session(cluster, token) is None
    with pytest.raises(Refused):
        sign_in(cluster, "jun", PASSWORD)
    assert sign_in(cluster, "jun", OTHER)


def test_people_change_their_own_password_with_the_old_one(cluster: Cluster) -> None:
    user, actor = first_administrator(cluster)
    here, elsewhere = sign_in(cluster, "minji"), sign_in(cluster, "minji")
    for old, new, field, code in (
        ("wrong", OTHER, "old", "password.old_wrong"),
        (PASSWORD, "short", "password", "password.too_short"),
        (PASSWORD, PASSWORD, "password", "password.unchanged"),
    ):
        with pytest.raises(Refused) as refusal:
            passwords.change_password(cluster, actor, old, new, here)
        assert (refusal.value.field, refusal.value.code) == (field, code)
    passwords.change_password(cluster, actor, PASSWORD, OTHER, keep_token=here)
    assert sessions.authenticate_session(cluster, here) is not None
    assert sessions.authenticate_session(cluster, elsewhere) is None
    assert sign_in(cluster, "minji", OTHER)
    with cluster.store.read() as session:
        changed = session.get_one(User, user.id).password_changed_at
    assert changed == cluster.clock()


def test_a_stolen_session_cannot_try_old_passwords_for_ever(cluster: Cluster) -> None:
    _, actor = first_administrator(cluster)
    codes = []
    for number in range(8):
        with pytest.raises(Refused) as refusal:
            passwords.change_password(cluster, actor, f"guess {number}", OTHER)
        codes.append(refusal.value.code)
    assert codes[:5] == ["password.old_wrong"] * 5
    assert codes[-1] == "sign_in.throttled"
