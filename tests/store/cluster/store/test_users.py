"""Users are found by name and id; sessions end; of a kind of one-time secret only the newest can be used."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from cluster.domain.errors import NotFound
from cluster.domain.states import UserRole, UserState
from cluster.services.context import Cluster
from cluster.store.users import (
    FIRST_ADMINISTRATOR,
    PASSWORD_LINK,
    OneTimeSecret,
    SignInSession,
    User,
    add_one_time_secret,
    count_other_administrators,
    end_sign_in_sessions,
    find_usable_secret,
    find_user,
    load_user,
    revoke_one_time_secrets,
)
from tests.builders import a_user, add, an_administrator

HOUR = timedelta(hours=1)


def test_a_user_is_found_by_name_and_nothing_else_is_asked_of_the_database(cluster: Cluster) -> None:
    user = a_user(cluster, "minji")
    with cluster.store.read() as session:
        found = find_user(session, "minji")
        assert found is not None and found.id == user.id
        assert find_user(session, "nobody") is None
        for impossible in ("minji\0", "민지", "m" * 21, "minji\n"):
            assert find_user(session, impossible) is None


def test_a_user_is_loaded_by_id_unless_it_is_the_installation_itself(cluster: Cluster) -> None:
    user, service = a_user(cluster), a_user(cluster, "groundcrew", state=UserState.SERVICE)
    with cluster.store.read() as session:
        assert load_user(session, user.id).name == user.name
        for wrong in (service.id, 4711, 0, -1, 2**31, 2**70):
            with pytest.raises(NotFound):
                load_user(session, wrong)


def test_other_administrators_are_those_who_could_sign_in_now(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    administrator = {"role": UserRole.ADMINISTRATOR, "password_hash": "h"}
    a_user(cluster, **administrator)  # type: ignore[arg-type]
    a_user(cluster, state=UserState.DISABLED, **administrator)  # type: ignore[arg-type]
    a_user(cluster, role=UserRole.ADMINISTRATOR)
    a_user(cluster, password_hash="h")
    with cluster.store.read() as session:
        assert count_other_administrators(session, session.get_one(User, chief.id)) == 1


def test_all_sessions_of_a_person_end_but_the_one_that_is_kept(cluster: Cluster) -> None:
    user, other = a_user(cluster), a_user(cluster)
    now = cluster.clock()
    for person, token, ended_at in (
        (user, "kept", None),
        (user, "open", None),
        (user, "over", now - HOUR),
        (other, "theirs", None),
    ):
        row = SignInSession(
            token_hash=token,
            user_id=person.id,
            created_at=now - HOUR,
            seen_at=now,
            expires_at=now + HOUR,
            ended_at=ended_at,
        )
        add(cluster, row)
    with cluster.store.write() as session:
        end_sign_in_sessions(session, user.id, now, keep_token_hash="kept")
    with cluster.store.read() as session:
        ends = {row.token_hash: row.ended_at for row in session.scalars(select(SignInSession))}
    assert ends == {"kept": None, "open": now, "over": now - HOUR, "theirs": None}


def usable(cluster: Cluster, kind: str, secret_hash: str, later: timedelta = timedelta()) -> bool:
    with cluster.store.read() as session:
        return find_usable_secret(session, kind, secret_hash, cluster.clock() + later) is not None


def issue(cluster: Cluster, kind: str, user: User | None, secret_hash: str) -> None:
    with cluster.store.write() as session:
        add_one_time_secret(session, kind, user.id if user else None, secret_hash, cluster.clock(), HOUR)


def test_a_secret_can_be_used_until_its_term_ends(cluster: Cluster) -> None:
    issue(cluster, PASSWORD_LINK, a_user(cluster), "one")
    assert usable(cluster, PASSWORD_LINK, "one")
    assert not usable(cluster, FIRST_ADMINISTRATOR, "one")
    assert not usable(cluster, PASSWORD_LINK, "other")
    assert usable(cluster, PASSWORD_LINK, "one", timedelta(minutes=59))
    assert not usable(cluster, PASSWORD_LINK, "one", HOUR)


def test_a_used_secret_is_used_up(cluster: Cluster) -> None:
    issue(cluster, PASSWORD_LINK, a_user(cluster), "one")
    with cluster.store.write() as session:
        session.get_one(OneTimeSecret, 1).used_at = cluster.clock()
    assert not usable(cluster, PASSWORD_LINK, "one")


def test_a_newer_secret_replaces_those_of_its_kind_and_person_alone(cluster: Cluster) -> None:
    minji, jun = a_user(cluster), a_user(cluster)
    issue(cluster, PASSWORD_LINK, minji, "minji's first")
    issue(cluster, PASSWORD_LINK, jun, "jun's")
    issue(cluster, FIRST_ADMINISTRATOR, None, "the first administrator's")
    issue(cluster, PASSWORD_LINK, minji, "minji's second")
    assert not usable(cluster, PASSWORD_LINK, "minji's first")
    assert usable(cluster, PASSWORD_LINK, "minji's second")
    assert usable(cluster, PASSWORD_LINK, "jun's")
    assert usable(cluster, FIRST_ADMINISTRATOR, "the first administrator's")
    issue(cluster, FIRST_ADMINISTRATOR, None, "the next")
    assert not usable(cluster, FIRST_ADMINISTRATOR, "the first administrator's")
    assert usable(cluster, FIRST_ADMINISTRATOR, "the next")


def test_revoking_ends_what_could_be_used_and_keeps_when_other_secrets_ended(cluster: Cluster) -> None:
    minji, now = a_user(cluster), cluster.clock()
    issue(cluster, PASSWORD_LINK, minji, "open")
    add(
        cluster,
        OneTimeSecret(
            kind=PASSWORD_LINK, user_id=minji.id, secret_hash="old", created_at=now, expires_at=now - HOUR
        ),
    )
    with cluster.store.write() as session:
        revoke_one_time_secrets(session, PASSWORD_LINK, minji.id, now)
    with cluster.store.read() as session:
        ends = {row.secret_hash: row.expires_at for row in session.scalars(select(OneTimeSecret))}
    assert ends == {"open": now, "old": now - HOUR}
