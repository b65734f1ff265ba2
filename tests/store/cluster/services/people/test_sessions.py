"""Signing in: the same answer for every wrong try, a lock that ends, sessions that end."""

import time
from dataclasses import replace

import pytest
from argon2 import PasswordHasher

from cluster.domain.errors import NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.people import credentials, sessions, users
from cluster.store.users import SignInSession, User
from tests.audit_entries import actions, entries
from tests.builders import a_user, actor_of, an_administrator
from tests.conftest import Clock

PASSWORD = "correct horse battery"
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


def with_password(cluster: Cluster, name: str = "minji") -> User:
    return a_user(cluster, name, password_hash=credentials.hash_password(PASSWORD))


def code_of(cluster: Cluster, name: str, password: str = "wrong", address: str = ELSEWHERE) -> str:
    """What comes of it."""
    try:
        sessions.sign_in(cluster, name, password, address, "Firefox")
    except Refused as refusal:
        return refusal.code
    return "in"


@pytest.mark.usefixtures("quick_hashes")
class TestSigningIn:
    def test_the_right_password_opens_a_session(self, cluster: Cluster) -> None:
        user = with_password(cluster)
        token = sessions.sign_in(cluster, "minji", PASSWORD, HOME, "Firefox\r\nforged: line", "request-7")
        found = sessions.authenticate_session(cluster, token)
        assert found is not None and (found.id, found.name) == (user.id, "minji")
        assert len(token) == 43
        row = sessions.find_session(cluster, token)
        assert row is not None
        assert (row.address, row.browser) == (HOME, "Firefoxforged: line")
        assert row.token_hash != token
        entry = entries(cluster)[-1]
        assert (entry.action, entry.actor_id, entry.address, entry.request_id) == (
            "session.begun", user.id, HOME, "request-7",
        )  # fmt: skip

    def test_each_sign_in_is_a_new_session(self, cluster: Cluster) -> None:
        with_password(cluster)
        tokens = {sessions.sign_in(cluster, "minji", PASSWORD, HOME, "") for _ in range(3)}
        assert len(tokens) == 3

    @pytest.mark.parametrize(
        ("name", "password"),
        [
            ("minji", "wrong"),
            ("minji", ""),
            ("minji", "x" * 2000),
            ("minji", PASSWORD + "\0"),
            ("minji", "\ud800"),
            ("nobody-here", PASSWORD),
            ("", ""),
            ("MINJI", PASSWORD),
            ("minji\0", PASSWORD),
            ("민지", PASSWORD),
            ("\ud800", PASSWORD),
            ("x" * 100_000, PASSWORD),
            ("' OR 1=1 --", PASSWORD),
        ],
    )
    def test_a_wrong_try_says_one_thing(self, cluster: Cluster, name: str, password: str) -> None:
        with_password(cluster)
        with pytest.raises(Refused) as refusal:
            sessions.sign_in(cluster, name, password, HOME, "Firefox")
        assert (refusal.value.field, refusal.value.code, refusal.value.data) == (
            "password", "sign_in.wrong", {},
        )  # fmt: skip
        entry = entries(cluster)[-1]
        assert (entry.action, entry.outcome) == ("session.refused", "refused")
        assert entry.object_kind == "user", "there is no session"
        assert entry.actor_name == ("minji" if name == "minji" else "")

    def test_an_old_hash_is_renewed_at_the_next_sign_in(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        user = with_password(cluster)
        monkeypatch.setattr(credentials, "HASHER", PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
        assert code_of(cluster, "minji", PASSWORD) == "in"
        with cluster.store.read() as session:
            renewed = session.get_one(User, user.id).password_hash
        assert renewed != user.password_hash
        assert renewed is not None and "m=16,t=2" in renewed
        assert code_of(cluster, "minji", PASSWORD) == "in"


@pytest.mark.usefixtures("quick_hashes")
class TestEnding:
    def test_a_session_ends_when_idle(self, cluster: Cluster, clock: Clock) -> None:
        token = sessions.begin_session(cluster, with_password(cluster).id, HOME, "")
        clock.move(hours=11, minutes=59)
        assert sessions.authenticate_session(cluster, token) is not None
        clock.move(hours=11, minutes=59)
        assert sessions.authenticate_session(cluster, token) is not None
        clock.move(hours=12)
        assert sessions.authenticate_session(cluster, token) is None

    def test_a_busy_session_ends_after_seven_days(self, cluster: Cluster, clock: Clock) -> None:
        token = sessions.begin_session(cluster, with_password(cluster).id, HOME, "")
        for _ in range(7 * 24 - 1):
            clock.move(hours=1)
            assert sessions.authenticate_session(cluster, token) is not None
        clock.move(hours=1)
        assert sessions.authenticate_session(cluster, token) is None

    def test_the_time_is_noted_once_a_minute(self, cluster: Cluster, clock: Clock) -> None:
        token = sessions.begin_session(cluster, with_password(cluster).id, HOME, "")
        seen = []
        for seconds in (30, 29, 1, 30):
            clock.move(seconds=seconds)
            sessions.authenticate_session(cluster, token)
            row = sessions.find_session(cluster, token)
            assert row is not None
            seen.append((row.seen_at - row.created_at).total_seconds())
        assert seen == [0, 0, 60, 60]

    def test_a_signed_out_cookie_is_worth_nothing(self, cluster: Cluster) -> None:
        token = sessions.begin_session(cluster, with_password(cluster).id, HOME, "")
        sessions.sign_out(cluster, token)
        sessions.sign_out(cluster, token)
        assert sessions.authenticate_session(cluster, token) is None
        assert actions(cluster) == ["session.begun", "session.ended"]

    @pytest.mark.parametrize("token", ["", "x", "\0", "\ud800", "x" * 1_000_000])
    def test_a_foreign_cookie_is_nobody(self, cluster: Cluster, token: str) -> None:
        assert sessions.authenticate_session(cluster, token) is None

    def test_people_see_and_end_their_own_sessions_only(self, cluster: Cluster, clock: Clock) -> None:
        minji, jun = with_password(cluster), with_password(cluster, "jun")
        here = sessions.begin_session(cluster, minji.id, HOME, "Firefox")
        clock.move(minutes=2)
        there = sessions.begin_session(cluster, minji.id, ELSEWHERE, "Chrome")
        junes = sessions.begin_session(cluster, jun.id, HOME, "Safari")
        listed = sessions.list_sessions(cluster, actor_of(minji))
        assert [row.browser for row in listed] == ["Chrome", "Firefox"]
        foreign = sessions.find_session(cluster, junes)
        assert foreign is not None
        for session_id in (foreign.id, 999, 0, 2**70):
            with pytest.raises(NotFound):
                sessions.end_session(cluster, actor_of(minji), session_id)
        sessions.end_session(cluster, actor_of(minji), listed[0].id)
        assert sessions.authenticate_session(cluster, there) is None
        assert sessions.authenticate_session(cluster, here) is not None
        assert sessions.authenticate_session(cluster, junes) is not None

    def test_all_others_can_be_ended(self, cluster: Cluster) -> None:
        minji = with_password(cluster)
        tokens = [sessions.begin_session(cluster, minji.id, HOME, "") for _ in range(3)]
        sessions.end_other_sessions(cluster, actor_of(minji), tokens[1])
        assert [sessions.authenticate_session(cluster, token) is not None for token in tokens] == [
            False,
            True,
            False,
        ]

    def test_old_rows_go(self, cluster: Cluster, clock: Clock) -> None:
        minji = with_password(cluster)
        sessions.begin_session(cluster, minji.id, HOME, "")
        clock.move(days=31)
        sessions.begin_session(cluster, minji.id, HOME, "")
        with cluster.store.read() as session:
            assert session.query(SignInSession).count() == 1

    def test_nobody_begins_a_session_for_who_is_disabled(self, cluster: Cluster) -> None:
        minji = with_password(cluster)
        users.disable_user(cluster, actor_of(an_administrator(cluster)), minji.id)
        with pytest.raises(NotFound):
            sessions.begin_session(cluster, minji.id, HOME, "")


def test_disabled_while_the_password_is_compared_is_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, quick_hashes: None
) -> None:
    minji, administrator = with_password(cluster), actor_of(an_administrator(cluster))
    compare = sessions.is_password

    def slowly(known: str | None, tried: str) -> bool:
        users.disable_user(cluster, administrator, minji.id)
        return compare(known, tried)

    monkeypatch.setattr(sessions, "is_password", slowly)
    assert code_of(cluster, "minji", PASSWORD) == "sign_in.wrong"
    assert sessions.list_sessions(cluster, Actor(minji.id, "minji")) == []


def test_an_unknown_name_takes_as_long_as_a_wrong_password(light_cluster: Cluster) -> None:
    """With Argon2's real cost, which outweighs everything else on the way."""
    with_password(light_cluster)
    patient = replace(light_cluster, clock=Clock())

    def cost(name: str) -> float:
        """Seconds of the processor: what the machine does besides says nothing about the two."""
        begun = time.process_time()
        assert code_of(patient, name) == "sign_in.wrong"
        spent = time.process_time() - begun
        patient.clock.move(hours=1)  # type: ignore[attr-defined]
        return spent

    cost("warm-up")
    pairs = [(cost("minji"), cost("nobody-here")) for _ in range(15)]
    known, unknown = zip(*pairs, strict=True)
    assert min(known) == pytest.approx(min(unknown), rel=0.25)
    assert min(unknown) > 0.01


def test_the_tokens_that_live_are_those_whose_session_is_found(cluster: Cluster, clock: Clock) -> None:
    people = [a_user(cluster) for _ in range(4)]
    idle = sessions.begin_session(cluster, people[0].id, HOME, "")
    clock.now += sessions.IDLE_LIMIT - sessions.TOUCH_EVERY
    tokens = [sessions.begin_session(cluster, person.id, HOME, "") for person in people for _ in range(2)]
    sessions.sign_out(cluster, tokens[0])
    users.disable_user(cluster, actor_of(an_administrator(cluster)), people[1].id)
    clock.now += 2 * sessions.TOUCH_EVERY
    asked = [idle, *tokens, "no token"]
    found = {token: row for token in asked if (row := sessions.find_session(cluster, token)) is not None}
    assert sessions.read_signed_in_people(cluster, asked) == {
        token: sessions.SignedInPerson(
            row.user.id, row.user.name, row.user.is_administrator, row.user.language
        )
        for token, row in found.items()
    }
    assert found.keys() == {tokens[1], *tokens[4:]}
    assert found.keys() == {
        token for token in asked if sessions.authenticate_session(cluster, token) is not None
    }
    assert sessions.read_signed_in_people(cluster, []) == {}
