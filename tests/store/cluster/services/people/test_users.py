"""Users come by one-time secrets, keep to the rules, and leave without a way back in."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cluster.domain.errors import Conflict, Forbidden, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.states import UserRole, UserState
from cluster.services.context import Cluster
from cluster.services.people import api_tokens, passwords, sessions, users
from cluster.services.people.first_administrator import (
    create_first_administrator,
    issue_first_administrator_secret,
)
from cluster.store.users import User
from tests.audit_entries import actions, entries
from tests.builders import a_user, actor_of, an_administrator
from tests.simultaneous_calls import at_once
from tests.store.user_setup import HOME, OTHER, PASSWORD, a_person, first_administrator, sign_in

pytestmark = pytest.mark.usefixtures("quick_hashes")


# Creating users, links


def test_a_new_user_chooses_a_password_by_a_link(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    user, link = users.create_user(cluster, administrator, "jun", "김준 Jun Kim")
    assert (user.full_name, user.role) == ("김준 Jun Kim", UserRole.USER)
    with pytest.raises(Refused, match=r"sign_in\.wrong"):
        sign_in(cluster, "jun", "")
    assert passwords.read_password_link(cluster, link).name == "jun"
    with pytest.raises(Refused, match=r"password\.is_name"):
        passwords.use_password_link(cluster, link, "jun12345")
    passwords.use_password_link(cluster, link, PASSWORD)
    assert sign_in(cluster, "jun")
    for again in (
        lambda: passwords.read_password_link(cluster, link),
        lambda: passwords.use_password_link(cluster, link, OTHER),
    ):
        with pytest.raises(NotFound):
            again()


@pytest.mark.parametrize(
    ("name", "full_name", "role", "field", "code"),
    [
        ("", "", "user", "name", "name.missing"),
        ("김준", "", "user", "name", "name.bad_character"),
        ("a--b", "", "user", "name", "name.hyphen_doubled"),
        ("a" * 21, "", "user", "name", "name.too_long"),
        ("minji", "", "user", "name", "user.name_taken"),
        ("root", "", "user", "name", "name.reserved"),
        ("jun", "x" * 101, "user", "full_name", "text.too_long"),
        ("jun", "a\0b", "user", "full_name", "text.bad_character"),
        ("jun", "", "owner", "role", "user.role_unknown"),
    ],
)
def test_a_user_who_breaks_a_rule_is_refused(
    cluster: Cluster, name: str, full_name: str, role: str, field: str, code: str
) -> None:
    _, administrator = first_administrator(cluster)
    with pytest.raises(Refused) as refusal:
        users.create_user(cluster, administrator, name, full_name, role)
    assert (refusal.value.field, refusal.value.code) == (field, code)
    assert len(users.list_users(cluster, administrator)) == 1


def test_one_name_is_given_once_even_at_once(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    results = at_once(*[lambda: users.create_user(cluster, administrator, "jun")] * 4)
    assert sum(isinstance(result, tuple) for result in results) == 1
    assert sum(isinstance(result, Refused) for result in results) == 3


# Disabling, roles


def test_a_disabled_user_is_out_at_once(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    user = a_person(cluster, administrator)
    session_token = sign_in(cluster, "jun")
    _, api_token = api_tokens.create_api_token(cluster, actor_of(user), "laptop", ["read"])
    link = passwords.issue_password_link(cluster, administrator, user.id)
    assert users.disable_user(cluster, administrator, user.id).state is UserState.DISABLED
    assert sessions.authenticate_session(cluster, session_token) is None
    assert api_tokens.authenticate_api_token(cluster, api_token, HOME) is None
    with pytest.raises(NotFound):
        passwords.use_password_link(cluster, link, OTHER)
    with pytest.raises(Conflict, match=r"user\.not_active"):
        passwords.issue_password_link(cluster, administrator, user.id)
    with pytest.raises(Refused, match=r"sign_in\.wrong"):
        sign_in(cluster, "jun")
    assert users.enable_user(cluster, administrator, user.id).state is UserState.ACTIVE
    assert sessions.authenticate_session(cluster, session_token) is None
    assert api_tokens.authenticate_api_token(cluster, api_token, HOME) is None
    assert sign_in(cluster, "jun")


def test_disabling_twice_is_one_entry(cluster: Cluster) -> None:
    administrator, user = actor_of(an_administrator(cluster)), a_user(cluster)
    for _ in range(2):
        users.disable_user(cluster, administrator, user.id)
    for _ in range(2):
        users.enable_user(cluster, administrator, user.id)
    assert actions(cluster) == ["user.disabled", "user.enabled"]


def test_the_last_administrator_stays(cluster: Cluster) -> None:
    user, administrator = first_administrator(cluster)
    for act in (
        lambda: users.disable_user(cluster, administrator, user.id),
        lambda: users.change_role(cluster, administrator, user.id, "user"),
    ):
        with pytest.raises(Refused, match=r"user\.last_administrator"):
            act()
    # One who cannot sign in yet is no help.
    other, link = users.create_user(cluster, administrator, "jun", "", UserRole.ADMINISTRATOR)
    with pytest.raises(Refused, match=r"user\.last_administrator"):
        users.disable_user(cluster, administrator, user.id)
    passwords.use_password_link(cluster, link, PASSWORD)
    users.disable_user(cluster, administrator, user.id)
    with pytest.raises(Refused, match=r"user\.last_administrator"):
        users.disable_user(cluster, actor_of(other), other.id)


def test_two_administrators_who_disable_each_other_at_once_leave_one(cluster: Cluster) -> None:
    minji, administrator = first_administrator(cluster)
    jun = a_person(cluster, administrator, "jun", "administrator")
    results = at_once(
        lambda: users.disable_user(cluster, actor_of(minji), jun.id),
        lambda: users.disable_user(cluster, actor_of(jun), minji.id),
    )
    assert sorted(type(result).__name__ for result in results) == ["Refused", "User"]


def test_another_role_ends_the_sessions(cluster: Cluster) -> None:
    _, administrator = first_administrator(cluster)
    user = a_person(cluster, administrator)
    token = sign_in(cluster, "jun")
    users.change_role(cluster, administrator, user.id, UserRole.USER)
    assert sessions.authenticate_session(cluster, token) is not None
    users.change_role(cluster, administrator, user.id, "administrator")
    assert sessions.authenticate_session(cluster, token) is None
    entry = entries(cluster)[-1]
    assert entry.action == "user.role_changed"
    assert entry.data == {"name": "jun", "before": "user", "after": "administrator"}


ENDS_OF_TOKENS: dict[str, Callable[[Cluster, Actor, User], object]] = {
    "user.password_changed": lambda cluster, _, user: passwords.change_password(
        cluster, actor_of(user), PASSWORD, OTHER
    ),
    "user.link_used": lambda cluster, chief, user: passwords.use_password_link(
        cluster, passwords.issue_password_link(cluster, chief, user.id), OTHER
    ),
    "user.role_changed": lambda cluster, chief, user: users.change_role(
        cluster, chief, user.id, "administrator"
    ),
    "user.disabled": lambda cluster, chief, user: users.disable_user(cluster, chief, user.id),
}


@pytest.mark.parametrize("cause", ENDS_OF_TOKENS)
def test_what_ends_the_sessions_ends_the_tokens(cluster: Cluster, cause: str) -> None:
    """A token for repairs that a user has made would be an administrator's one day."""
    _, chief = first_administrator(cluster)
    user, other = a_person(cluster, chief), a_user(cluster)
    texts = [
        api_tokens.create_api_token(cluster, actor_of(user), name, ["repair"])[1] for name in ("one", "two")
    ]
    _, kept = api_tokens.create_api_token(cluster, actor_of(other), "laptop", ["read"])
    ENDS_OF_TOKENS[cause](cluster, chief, user)
    assert [api_tokens.authenticate_api_token(cluster, text, HOME) for text in texts] == [None, None]
    assert [api_tokens.token_refusal_code(cluster, text) for text in texts] == ["token.revoked"] * 2
    assert api_tokens.authenticate_api_token(cluster, kept, HOME) is not None
    told = [entry.data for entry in entries(cluster) if entry.action == "token.revoked"]
    assert told == [{"name": "one", "cause": cause}, {"name": "two", "cause": cause}]


# One's own password and preferences


def test_the_predecessors_rule_is_a_setting(cluster: Cluster) -> None:
    classic = replace(cluster, settings=replace(cluster.settings, password_policy="classic"))
    _, link = users.create_user(classic, actor_of(an_administrator(cluster)), "jun")
    with pytest.raises(Refused, match=r"password\.needs_upper"):
        passwords.use_password_link(classic, link, "only-small-1".replace("-", "&"))
    assert passwords.use_password_link(classic, link, "Tr4in&More")


# Permissions


def test_only_administrators_manage_users(cluster: Cluster) -> None:
    other = a_user(cluster)
    plain = actor_of(a_user(cluster))
    for act in (
        lambda: users.create_user(cluster, plain, "hana"),
        lambda: passwords.issue_password_link(cluster, plain, other.id),
        lambda: users.disable_user(cluster, plain, other.id),
        lambda: users.enable_user(cluster, plain, other.id),
        lambda: users.change_role(cluster, plain, plain.user_id, "administrator"),
        lambda: users.list_users(cluster, plain),
    ):
        with pytest.raises(Forbidden):
            act()
    with pytest.raises(NotFound):
        users.read_user(cluster, plain, other.id)
    assert users.read_user(cluster, plain, plain.user_id).id == plain.user_id
    assert actions(cluster) == []


def test_a_token_makes_no_other_way_in(cluster: Cluster) -> None:
    administrator = an_administrator(cluster)
    other = a_user(cluster)
    token = actor_of(administrator, scopes=frozenset({"read", "write"}))
    for act in (
        lambda: users.create_user(cluster, token, "hana"),
        lambda: passwords.issue_password_link(cluster, token, other.id),
        lambda: users.change_role(cluster, token, other.id, "administrator"),
        lambda: passwords.change_password(cluster, token, PASSWORD, OTHER),
        lambda: api_tokens.create_api_token(cluster, token, "more", ["read"]),
    ):
        with pytest.raises(Forbidden, match=r"forbidden\.token_is_no_person"):
            act()


@pytest.mark.parametrize("user_id", [0, -1, 999, 2**31, 2**70])
def test_an_unknown_user_is_not_found(cluster: Cluster, user_id: int) -> None:
    administrator = actor_of(an_administrator(cluster))
    for act in (users.read_user, users.disable_user, users.enable_user, passwords.issue_password_link):
        with pytest.raises(NotFound):
            act(cluster, administrator, user_id)


def test_no_secret_reaches_the_audit(cluster: Cluster) -> None:
    secret = issue_first_administrator_secret(cluster)
    assert secret is not None
    user = create_first_administrator(cluster, secret, "minji", PASSWORD, HOME)
    _, link = users.create_user(cluster, actor_of(user), "jun")
    passwords.use_password_link(cluster, link, OTHER)
    session_token = sign_in(cluster, "minji")
    _, api_token = api_tokens.create_api_token(cluster, actor_of(user), "laptop", ["write"])
    with pytest.raises(Refused):
        sign_in(cluster, "hunter2-hunter2", PASSWORD)
    with pytest.raises(Refused):
        passwords.change_password(cluster, actor_of(user), "oldest of them", OTHER)
    written = " ".join(f"{entry.action} {entry.actor_name} {entry.data}" for entry in entries(cluster))
    for kept in (secret, PASSWORD, OTHER, link, session_token, api_token, "hunter2", "oldest of them"):
        assert kept not in written
