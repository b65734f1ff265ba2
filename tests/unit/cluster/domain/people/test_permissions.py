"""Relations and what they allow: one table, walked through."""

import pytest

from cluster.domain.errors import Forbidden, NotFound
from cluster.domain.people import permissions
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import ALLOWED_RELATIONS, Relation
from cluster.domain.states import Visibility

ADMINISTRATOR, MANAGER, OWNER, NAMED, MEMBER, STRANGER = range(1, 7)
MEMBERS = [MANAGER, OWNER, NAMED, MEMBER]


def actor(user_id: int) -> Actor:
    return Actor(user_id, f"user-{user_id}", is_administrator=user_id == ADMINISTRATOR)


@pytest.mark.parametrize(
    ("who", "relation"),
    [
        (ADMINISTRATOR, Relation.ADMINISTRATOR),
        (MANAGER, Relation.MANAGER),
        (OWNER, Relation.MEMBER),
        (MEMBER, Relation.MEMBER),
        (STRANGER, Relation.STRANGER),
    ],
)
def test_relations_to_a_workspace(who: int, relation: Relation) -> None:
    assert permissions.relation_to_workspace(actor(who), MANAGER, MEMBERS) is relation


@pytest.mark.parametrize(
    ("who", "public", "private"),
    [
        (ADMINISTRATOR, Relation.ADMINISTRATOR, Relation.ADMINISTRATOR),
        (MANAGER, Relation.MANAGER, Relation.MANAGER),
        (OWNER, Relation.OWNER, Relation.OWNER),
        (NAMED, Relation.MEMBER, Relation.MEMBER),
        (MEMBER, Relation.MEMBER, Relation.STRANGER),
        (STRANGER, Relation.STRANGER, Relation.STRANGER),
    ],
)
def test_relations_to_a_training(who: int, public: Relation, private: Relation) -> None:
    for visibility, relation in ((Visibility.PUBLIC, public), (Visibility.PRIVATE, private)):
        found = permissions.relation_to_training(actor(who), MANAGER, MEMBERS, OWNER, visibility, [NAMED])
        assert found is relation


def test_who_left_the_workspace_is_a_stranger_to_the_own_training() -> None:
    found = permissions.relation_to_training(
        actor(OWNER), MANAGER, [MANAGER, MEMBER], OWNER, Visibility.PRIVATE, [OWNER]
    )
    assert found is Relation.STRANGER


@pytest.mark.parametrize(
    ("to_training", "submitted_by_actor", "relation"),
    [
        (Relation.MEMBER, True, Relation.OWNER),
        (Relation.MEMBER, False, Relation.MEMBER),
        (Relation.STRANGER, True, Relation.STRANGER),
        (Relation.MANAGER, True, Relation.MANAGER),
        (Relation.OWNER, False, Relation.OWNER),
    ],
)
def test_whoever_submits_a_job_owns_it(
    to_training: Relation, submitted_by_actor: bool, relation: Relation
) -> None:
    user = MEMBER if submitted_by_actor else OWNER
    assert permissions.relation_to_job(to_training, actor(MEMBER), user) is relation
    assert permissions.relation_to_owned_object(to_training, actor(MEMBER), user) is relation


ALL = [Relation.ADMINISTRATOR, Relation.MANAGER, Relation.OWNER, Relation.MEMBER]


@pytest.mark.parametrize(
    ("action", "allowed"),
    [
        ("cluster.administer", ALL[:1]),
        ("workspace.see", ALL),
        ("workspace.create", ALL[:1]),
        ("workspace.edit", ALL[:2]),
        ("workspace.change_quota", ALL[:1]),
        ("workspace.end", ALL[:2]),
        ("dataset.register_path", ALL[:2]),
        ("dataset.delete", ALL[:3]),
        ("training.upload_code", ALL[:3]),
        ("job.see", ALL),
        ("job.submit", ALL),
        ("job.stop", ALL[:3]),
        ("job.arrange", ALL[:2]),
    ],
)
def test_who_may(action: str, allowed: list[Relation]) -> None:
    assert [relation for relation in Relation if permissions.is_allowed(action, relation)] == allowed


@pytest.mark.parametrize("action", ALLOWED_RELATIONS)
def test_strangers_may_nothing_and_administrators_everything(action: str) -> None:
    assert not permissions.is_allowed(action, Relation.STRANGER)
    permissions.require_permission(action, Relation.ADMINISTRATOR)


def test_to_a_stranger_the_thing_does_not_exist() -> None:
    with pytest.raises(NotFound) as missing:
        permissions.require_permission("job.stop", Relation.STRANGER, 7)
    assert (missing.value.code, missing.value.data) == ("not_found.job", {"id": 7})


def test_a_member_is_told_who_may() -> None:
    with pytest.raises(Forbidden) as forbidden:
        permissions.require_permission("job.stop", Relation.MEMBER, 7)
    assert forbidden.value.data["allowed"] == ["administrator", "manager", "owner"]


def test_what_has_no_viewers_is_forbidden_rather_than_missing() -> None:
    with pytest.raises(Forbidden):
        permissions.require_permission("cluster.administer", Relation.STRANGER)
    with pytest.raises(Forbidden):
        permissions.require_administrator(actor(MEMBER))
    permissions.require_administrator(actor(ADMINISTRATOR))


def test_a_token_is_no_person() -> None:
    permissions.require_person(Actor(1, "kim"))
    with pytest.raises(Forbidden, match="forbidden.token_is_no_person"):
        permissions.require_person(Actor(1, "kim", scopes=frozenset({"read", "write"})))


@pytest.mark.parametrize(
    ("scopes", "scope", "is_refused"),
    [
        (None, "write", False),
        ({"read", "write"}, "write", False),
        ({"read"}, "write", True),
        (set(), "read", True),
    ],
)
def test_a_token_may_do_what_its_scopes_say_and_a_person_everything(
    scopes: set[str] | None, scope: str, is_refused: bool
) -> None:
    somebody = Actor(1, "kim", scopes=None if scopes is None else frozenset(scopes))
    if not is_refused:
        permissions.require_scope(somebody, scope)
        return
    with pytest.raises(Forbidden) as refused:
        permissions.require_scope(somebody, scope)
    assert (refused.value.code, refused.value.data) == ("forbidden.scope", {"scope": scope})
