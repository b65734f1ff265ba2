"""API tokens: shown once, limited in what and how long, worth nothing once revoked."""

import pytest

from cluster.domain.errors import NotFound, Refused
from cluster.services.context import Cluster
from cluster.services.people import api_tokens
from cluster.store.users import ApiToken
from tests.audit_entries import actions
from tests.builders import a_user, actor_of, an_administrator
from tests.conftest import Clock

HOME = "192.0.2.1"


def test_a_token_stands_for_its_user_with_its_scopes(cluster: Cluster) -> None:
    administrator = an_administrator(cluster, "minji")
    row, text = api_tokens.create_api_token(cluster, actor_of(administrator), "laptop", ["read"])
    assert text.startswith(f"gc_{row.id}_")
    actor = api_tokens.authenticate_api_token(cluster, text, HOME, "request-7")
    assert actor is not None
    assert (actor.user_id, actor.name, actor.is_administrator) == (administrator.id, "minji", True)
    assert (actor.address, actor.request_id, actor.scopes) == (HOME, "request-7", frozenset({"read"}))
    assert text.split("_", 2)[2] not in row.secret_hash
    _, writing = api_tokens.create_api_token(cluster, actor_of(administrator), "server", ["write"])
    actor = api_tokens.authenticate_api_token(cluster, writing, HOME)
    assert actor is not None and actor.scopes == frozenset({"read", "write"})


def test_a_token_ends_after_its_days(cluster: Cluster, clock: Clock) -> None:
    actor = actor_of(a_user(cluster))
    row, text = api_tokens.create_api_token(cluster, actor, "laptop", ["read"])
    assert (row.expires_at - clock.now).days == 90
    clock.move(days=89)
    assert api_tokens.authenticate_api_token(cluster, text, HOME) is not None
    clock.move(days=1)
    assert api_tokens.authenticate_api_token(cluster, text, HOME) is None
    assert api_tokens.list_api_tokens(cluster, actor) == []
    api_tokens.create_api_token(cluster, actor, "laptop", ["read"], days=365)


@pytest.mark.parametrize(
    ("name", "scopes", "days", "field", "code"),
    [
        ("", ["read"], 90, "name", "name.missing"),
        ("my laptop", ["read"], 90, "name", "name.bad_character"),
        ("taken", ["read"], 90, "name", "token.name_taken"),
        ("laptop", [], 90, "scopes", "token.scopes_unknown"),
        ("laptop", ["read", "root"], 90, "scopes", "token.scopes_unknown"),
        ("laptop", ["read"], 0, "days", "token.days_out_of_range"),
        ("laptop", ["read"], 366, "days", "token.days_out_of_range"),
        ("laptop", ["read"], -(10**30), "days", "token.days_out_of_range"),
    ],
)
def test_a_token_that_breaks_a_rule_is_refused(
    cluster: Cluster, name: str, scopes: list[str], days: int, field: str, code: str
) -> None:
    actor = actor_of(a_user(cluster))
    api_tokens.create_api_token(cluster, actor, "taken", ["read"])
    with pytest.raises(Refused) as refusal:
        api_tokens.create_api_token(cluster, actor, name, scopes, days)
    assert (refusal.value.field, refusal.value.code) == (field, code)


def test_one_person_has_so_many_tokens(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_tokens, "MAX_TOKENS", 2)
    actor = actor_of(a_user(cluster))
    for name in ("one", "two"):
        api_tokens.create_api_token(cluster, actor, name, ["read"])
    with pytest.raises(Refused, match=r"token\.too_many"):
        api_tokens.create_api_token(cluster, actor, "three", ["read"])


def test_only_who_has_the_secret_learns_what_became_of_a_token(cluster: Cluster, clock: Clock) -> None:
    actor = actor_of(a_user(cluster))
    row, text = api_tokens.create_api_token(cluster, actor, "laptop", ["read"])
    clock.move(days=91)
    assert api_tokens.token_refusal_code(cluster, text) == "token.expired"
    api_tokens.revoke_api_token(cluster, actor, row.id)
    assert api_tokens.token_refusal_code(cluster, text) == "token.revoked"
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    for guess in (wrong, f"gc_{row.id + 1}_{'x' * 43}", "gc_999999999_" + "x" * 43, "laptop"):
        assert api_tokens.token_refusal_code(cluster, guess) == "session.needed"


def test_text_that_is_no_token_is_nobody(cluster: Cluster) -> None:
    row, text = api_tokens.create_api_token(cluster, actor_of(a_user(cluster)), "laptop", ["read"])
    secret = text.removeprefix(f"gc_{row.id}_")
    other = ("A" if secret[0] != "A" else "B") + secret[1:]
    for wrong in (
        "", "gc_", secret, f"gc_{row.id}_{other}", f"gc_{row.id + 1}_{secret}", f"gc_0_{secret}",
        f"gc_-1_{secret}", f"gc_{10**12}_{secret}", f"gc_１_{secret}", text + "\n", text + "x", " " + text,
        "\ud800", "x" * 1_000_000,
    ):  # fmt: skip
        assert api_tokens.authenticate_api_token(cluster, wrong, HOME) is None


def test_use_is_noted_once_a_minute(cluster: Cluster, clock: Clock) -> None:
    row, text = api_tokens.create_api_token(cluster, actor_of(a_user(cluster)), "laptop", ["read"])
    assert row.used_at is None
    noted = []
    for _ in range(4):
        api_tokens.authenticate_api_token(cluster, text, HOME)
        with cluster.store.read() as session:
            noted.append(session.get_one(ApiToken, row.id).used_at)
        clock.move(seconds=30)
    assert noted[0] == noted[1] and noted[2] == noted[3] and noted[1] != noted[2]


def test_people_see_and_revoke_their_own_tokens_only(cluster: Cluster) -> None:
    minji, jun = actor_of(a_user(cluster)), actor_of(an_administrator(cluster))
    row, text = api_tokens.create_api_token(cluster, minji, "laptop", ["read"])
    later, _ = api_tokens.create_api_token(cluster, minji, "server", ["read"])
    assert [token.name for token in api_tokens.list_api_tokens(cluster, minji)] == ["server", "laptop"]
    assert api_tokens.list_api_tokens(cluster, jun) == []
    for actor, token_id in ((jun, row.id), (minji, 999), (minji, 0), (minji, 2**70)):
        with pytest.raises(NotFound):
            api_tokens.revoke_api_token(cluster, actor, token_id)
    api_tokens.revoke_api_token(cluster, minji, row.id)
    api_tokens.revoke_api_token(cluster, minji, row.id)
    assert api_tokens.authenticate_api_token(cluster, text, HOME) is None
    assert [token.id for token in api_tokens.list_api_tokens(cluster, minji)] == [later.id]
    assert actions(cluster) == ["token.created", "token.created", "token.revoked"]
    api_tokens.create_api_token(cluster, minji, "laptop", ["read"])
