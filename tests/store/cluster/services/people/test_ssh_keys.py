"""SSH keys belong to one person, who adds and removes them; one that a token added ends with it."""

from pathlib import Path

import pytest

from cluster.domain.errors import Forbidden, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.services.context import Cluster
from cluster.services.people import api_tokens, ssh_keys
from tests.audit_entries import actions
from tests.builders import a_user, actor_of
from tests.conftest import Clock

KEYS = Path("tests/data/ssh_keys")
ED25519, ECDSA = ((KEYS / f"{name}.pub").read_text() for name in ("ed25519", "ecdsa"))


def by_token(cluster: Cluster, actor: Actor, name: str, scopes: list[str], days: int = 7) -> Actor:
    _, text = api_tokens.create_api_token(cluster, actor, name, scopes, days)
    found = api_tokens.authenticate_api_token(cluster, text, "192.0.2.1")
    assert found is not None
    return found


def names(cluster: Cluster, actor: Actor) -> list[str]:
    return [key.name for key in ssh_keys.list_ssh_keys(cluster, actor)]


def test_a_person_adds_and_removes_keys(cluster: Cluster) -> None:
    actor = actor_of(a_user(cluster))
    first = ssh_keys.add_ssh_key(cluster, actor, "laptop", ED25519)
    ssh_keys.add_ssh_key(cluster, actor, "desk", ECDSA)
    assert names(cluster, actor) == ["desk", "laptop"]
    ssh_keys.remove_ssh_key(cluster, actor, first.id)
    ssh_keys.remove_ssh_key(cluster, actor, first.id)
    assert names(cluster, actor) == ["desk"]
    assert actions(cluster) == ["ssh_key.added", "ssh_key.added", "ssh_key.removed"]
    ssh_keys.add_ssh_key(cluster, actor, "laptop", ED25519)


def test_a_key_stands_for_one_person(cluster: Cluster) -> None:
    one, other = actor_of(a_user(cluster)), actor_of(a_user(cluster))
    key = ssh_keys.add_ssh_key(cluster, one, "laptop", ED25519)
    for actor, name, text, code in (
        (other, "mine", ED25519, "ssh_key.of_another_person"),
        (one, "again", ED25519, "ssh_key.own_twice"),
        (one, "laptop", ECDSA, "ssh_key.name_taken"),
        (one, "My Laptop", ECDSA, "name.bad_character"),
    ):
        with pytest.raises(Refused) as refusal:
            ssh_keys.add_ssh_key(cluster, actor, name, text)
        assert refusal.value.code == code
    with pytest.raises(NotFound):
        ssh_keys.remove_ssh_key(cluster, other, key.id)


def test_a_key_of_a_token_ends_with_the_token(cluster: Cluster, clock: Clock) -> None:
    """A stolen token that is revoked leaves nothing behind that opens jobs."""
    person = actor_of(a_user(cluster))
    token = by_token(cluster, person, "script", ["write"])
    ssh_keys.add_ssh_key(cluster, token, "laptop", ED25519)
    clock.move(days=6)
    assert names(cluster, person) == ["laptop"]
    clock.move(days=1)
    assert names(cluster, person) == []
    ssh_keys.add_ssh_key(cluster, person, "laptop", ED25519)
    assert actions(cluster)[-2:] == ["ssh_key.removed", "ssh_key.added"]


def test_a_token_that_only_reads_adds_nothing(cluster: Cluster) -> None:
    token = by_token(cluster, actor_of(a_user(cluster)), "script", ["read"])
    with pytest.raises(Forbidden):
        ssh_keys.add_ssh_key(cluster, token, "laptop", ED25519)


def test_there_is_a_most_of_keys(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = actor_of(a_user(cluster))
    monkeypatch.setattr(ssh_keys, "MAX_KEYS", 1)
    ssh_keys.add_ssh_key(cluster, actor, "laptop", ED25519)
    with pytest.raises(Refused) as refusal:
        ssh_keys.add_ssh_key(cluster, actor, "desk", ECDSA)
    assert refusal.value.code == "ssh_key.too_many"
