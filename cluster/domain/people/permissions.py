"""The relation of a person to a workspace, training or job, and one table of what each relation may do."""

from collections.abc import Collection
from enum import StrEnum

from cluster.domain.errors import Forbidden, NotFound
from cluster.domain.people.actor import Actor
from cluster.domain.states import Visibility


class Relation(StrEnum):
    """The relation of a person to a thing. The strongest relation counts."""

    ADMINISTRATOR = "administrator"
    MANAGER = "manager"
    """Manager of the workspace."""
    OWNER = "owner"
    """Owner of the training, or the person who submitted the job."""
    MEMBER = "member"
    """The person may see it: a member of the workspace, and named if the training is private."""
    STRANGER = "stranger"


_ALL = frozenset(Relation) - {Relation.STRANGER}
_CHIEFS = frozenset({Relation.ADMINISTRATOR, Relation.MANAGER})
_OWNERS = _CHIEFS | {Relation.OWNER}
_ADMINISTRATORS = frozenset({Relation.ADMINISTRATOR})

ALLOWED_RELATIONS: dict[str, frozenset[Relation]] = {
    "cluster.administer": _ADMINISTRATORS,
    "workspace.see": _ALL,
    "workspace.create": _ADMINISTRATORS,
    "workspace.edit": _CHIEFS,
    "workspace.change_members": _CHIEFS,
    "workspace.change_quota": _ADMINISTRATORS,
    "workspace.extend": _ADMINISTRATORS,
    "workspace.end": _CHIEFS,
    "dataset.see": _ALL,
    "dataset.create": _ALL,
    "dataset.register_path": _CHIEFS,
    "dataset.edit": _OWNERS,
    "dataset.delete": _OWNERS,
    "dataset.unpack_again": _OWNERS,
    "training.see": _ALL,
    "training.create": _ALL,
    "training.edit": _OWNERS,
    "training.upload_code": _OWNERS,
    "training.hand_over": _OWNERS,
    "training.archive": _OWNERS,
    "training.delete": _OWNERS,
    "job.see": _ALL,
    "job.submit": _ALL,
    "job.stop": _OWNERS,
    "job.delete_files": _OWNERS,
    "job.annotate": _OWNERS,
    "job.arrange": _CHIEFS,
    "sweep.see": _ALL,
    "sweep.stop": _OWNERS,
    "environment.see": _ALL,
    "environment.create": _CHIEFS,
    "environment.edit": _CHIEFS,
    "environment.approve": _CHIEFS,
    "environment.delete": _CHIEFS,
    "operation.see": _ALL,
    "operation.retry": _OWNERS,
}


def relation_to_workspace(actor: Actor, manager_id: int, member_ids: Collection[int]) -> Relation:
    if actor.is_administrator:
        return Relation.ADMINISTRATOR
    if actor.user_id == manager_id:
        return Relation.MANAGER
    return Relation.MEMBER if actor.user_id in member_ids else Relation.STRANGER


def relation_to_training(
    actor: Actor,
    manager_id: int,
    workspace_member_ids: Collection[int],
    owner_id: int,
    visibility: Visibility,
    named_member_ids: Collection[int],
) -> Relation:
    """Returns the relation. A person who left the workspace has none to its trainings, their own included."""
    there = relation_to_workspace(actor, manager_id, workspace_member_ids)
    if there is not Relation.MEMBER:
        return there
    if actor.user_id == owner_id:
        return Relation.OWNER
    if visibility is Visibility.PUBLIC or actor.user_id in named_member_ids:
        return Relation.MEMBER
    return Relation.STRANGER


def relation_to_job(to_training: Relation, actor: Actor, job_user_id: int) -> Relation:
    """The person who submitted the job owns it while they may see its training."""
    if to_training is Relation.MEMBER and actor.user_id == job_user_id:
        return Relation.OWNER
    return to_training


def relation_to_owned_object(to_workspace: Relation, actor: Actor, owner_id: int) -> Relation:
    """The relation to a dataset or an operation: the member who created it is the owner."""
    if to_workspace is Relation.MEMBER and actor.user_id == owner_id:
        return Relation.OWNER
    return to_workspace


def is_allowed(action: str, relation: Relation) -> bool:
    return relation in ALLOWED_RELATIONS[action]


def require_permission(action: str, relation: Relation, identity: object = None) -> None:
    """Raises NotFound if the person may not see the thing, else Forbidden, which names who may do it."""
    kind = action.split(".")[0]
    if relation is Relation.STRANGER and f"{kind}.see" in ALLOWED_RELATIONS:
        raise NotFound(kind, identity)
    if not is_allowed(action, relation):
        raise Forbidden("forbidden." + action, allowed=sorted(ALLOWED_RELATIONS[action]))


def require_scope(actor: Actor, scope: str) -> None:
    """API tokens carry `read`, `write` or `repair`; a signed-in person has no limit. Raises Forbidden."""
    if actor.scopes is not None and scope not in actor.scopes:
        raise Forbidden("forbidden.scope", scope=scope)


def require_person(actor: Actor) -> None:
    """Refuses API tokens: a token may neither create other credentials nor change who may
    sign in. Raises Forbidden.
    """
    if actor.scopes is not None:
        raise Forbidden("forbidden.token_is_no_person")


def require_administrator(actor: Actor) -> None:
    """Raises Forbidden for every other actor."""
    if not actor.is_administrator:
        raise Forbidden("forbidden.cluster.administer", allowed=[Relation.ADMINISTRATOR.value])
