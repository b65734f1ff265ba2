"""The first administrator comes by the secret of the terminal, once."""

import pytest

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import UserRole, UserState
from cluster.services.context import Cluster
from cluster.services.people import passwords, users
from cluster.services.people.first_administrator import (
    create_first_administrator,
    issue_first_administrator_secret,
    needs_first_administrator,
)
from cluster.store.users import User
from tests.audit_entries import actions, entries
from tests.conftest import Clock, RecordingBell
from tests.simultaneous_calls import at_once
from tests.store.user_setup import HOME, PASSWORD, first_administrator, sign_in

pytestmark = pytest.mark.usefixtures("quick_hashes")


def test_the_first_administrator_comes_by_the_secret(cluster: Cluster, bell: RecordingBell) -> None:
    assert needs_first_administrator(cluster)
    secret = issue_first_administrator_secret(cluster)
    assert secret is not None
    typed = secret.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    user = create_first_administrator(cluster, typed, "minji", PASSWORD, HOME)
    assert (user.name, user.role, user.state) == ("minji", UserRole.ADMINISTRATOR, UserState.ACTIVE)
    assert sign_in(cluster, "minji")
    assert not needs_first_administrator(cluster)
    assert issue_first_administrator_secret(cluster) is None
    assert ("users", user.id) in bell.rung
    assert "user.first_administrator_created" in actions(cluster)


def test_a_wrong_used_replaced_or_old_first_secret_is_refused(cluster: Cluster, clock: Clock) -> None:
    def refused(secret: str) -> str:
        with pytest.raises(Refused) as refusal:
            create_first_administrator(cluster, secret, "jun", PASSWORD, HOME)
        assert refusal.value.field == "secret"
        return refusal.value.code

    assert refused("0000-0000-0000-0000") == "first.secret_wrong"
    assert refused("") == "first.secret_wrong"
    replaced = issue_first_administrator_secret(cluster)
    old = issue_first_administrator_secret(cluster)
    assert replaced is not None and old is not None
    assert refused(replaced) == "first.secret_wrong"
    clock.move(hours=24)
    assert refused(old) == "first.secret_wrong"
    good = issue_first_administrator_secret(cluster)
    assert good is not None
    create_first_administrator(cluster, good, "minji", PASSWORD, HOME)
    assert refused(good) == "first.secret_wrong"


@pytest.mark.parametrize(
    ("name", "password", "code"),
    [
        ("Mj", PASSWORD, "name.bad_character"),
        ("groundcrew", PASSWORD, "name.reserved"),
        ("minji", "short", "password.too_short"),
        ("minji", "password123", "password.too_common"),
    ],
)
def test_the_first_administrator_keeps_to_the_rules_too(
    cluster: Cluster, name: str, password: str, code: str
) -> None:
    secret = issue_first_administrator_secret(cluster)
    assert secret is not None
    with pytest.raises(Refused) as refusal:
        create_first_administrator(cluster, secret, name, password, HOME)
    assert refusal.value.code == code
    assert create_first_administrator(cluster, secret, "minji", PASSWORD, HOME)


def test_of_two_who_use_the_first_secret_at_once_one_wins(cluster: Cluster) -> None:
    secret = issue_first_administrator_secret(cluster)
    assert secret is not None
    results = at_once(
        *(
            lambda name=name: create_first_administrator(cluster, secret, name, PASSWORD, HOME)
            for name in ("minji", "jun", "sora", "hana")
        )
    )
    winners = [result for result in results if isinstance(result, User)]
    losers = [result.code for result in results if isinstance(result, Refused)]
    assert (len(winners), losers) == (1, ["first.secret_wrong"] * 3)
    with cluster.store.read() as session:
        assert [user.name for user in session.query(User) if user.is_administrator] == [winners[0].name]


def test_the_service_user_is_made_once_and_cannot_sign_in(cluster: Cluster) -> None:
    first, second = at_once(lambda: users.service_actor(cluster), lambda: users.service_actor(cluster))
    assert isinstance(first, Actor) and first == second == users.service_actor(cluster)
    assert (first.name, first.is_administrator) == ("groundcrew", True)
    with pytest.raises(Refused, match=r"sign_in\.wrong"):
        sign_in(cluster, "groundcrew")
    _, administrator = first_administrator(cluster)
    assert [user.name for user in users.list_users(cluster, administrator)] == ["minji"]
    for act in (users.read_user, users.disable_user, users.enable_user, passwords.issue_password_link):
        with pytest.raises(NotFound):
            act(cluster, administrator, first.user_id)


def test_a_wrong_first_secret_leaves_an_entry_without_what_was_typed(cluster: Cluster) -> None:
    issue_first_administrator_secret(cluster)
    with pytest.raises(Refused):
        create_first_administrator(cluster, "GUESS-GUESS-GUESS", "minji", PASSWORD, HOME, "r-1")
    entry = entries(cluster)[-1]
    assert (entry.action, entry.outcome) == ("user.first_secret_refused", "refused")
    assert (entry.address, entry.request_id, entry.actor_name, entry.data) == (HOME, "r-1", "", {})
