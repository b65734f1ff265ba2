"""Checks a list of people as a whole, and invites all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator, require_person
from cluster.domain.people.person_lists import PersonLine
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole
from cluster.services.context import Cluster
from cluster.services.people.users import check_new_user
from cluster.services.workspaces.invitations import invite_user
from cluster.services.workspaces.open_workspaces import list_open_workspaces
from cluster.store.users import User


@dataclass(frozen=True)
class CheckedPerson:
    """A line of the list with its faults."""

    line: PersonLine
    refusals: tuple[Refused, ...]


@dataclass(frozen=True)
class InvitedPerson:
    """An account that was made, with the secret of its link; neither if the line was refused meanwhile."""

    line: PersonLine
    user: User | None
    secret: str


def check_people(cluster: Cluster, actor: Actor, lines: Sequence[PersonLine]) -> list[CheckedPerson]:
    """Finds every fault of every line; nothing is written."""
    require_administrator(actor)
    names = Counter(line.name for line in lines)
    with cluster.store.read() as session:
        taken = set(session.scalars(select(User.name).where(User.name.in_(names))))
    workspaces = {workspace.name for workspace in list_open_workspaces(cluster, actor)}
    return [
        CheckedPerson(line, check_line(cluster, line, names[line.name], taken, workspaces)) for line in lines
    ]


def check_line(
    cluster: Cluster, line: PersonLine, times: int, taken: set[str], workspaces: set[str]
) -> tuple[Refused, ...]:
    """`times`: how often the list has this account; `taken`: those of its accounts that exist."""
    refusals = Refusals()
    check_new_user(cluster, refusals, line.name, line.full_name, UserRole.USER, line.email)
    if line.name in taken:
        refusals.add(Refused("name", "user.name_taken", name=line.name))
    if times > 1:
        refusals.add(Refused("name", "user.list_twice", name=line.name))
    if unknown := [name for name in line.workspaces if name not in workspaces]:
        refusals.add(Refused("workspaces", "user.list_no_workspace", names=unknown))
    return tuple(refusals.by_field.values())


def invite_people(cluster: Cluster, actor: Actor, lines: Sequence[PersonLine]) -> list[InvitedPerson]:
    """Invites one after the other as users, each in a transaction of its own. The caller has checked the lines; a line
    that is refused by now does not prevent the others.
    """
    require_person(actor)
    require_administrator(actor)
    ids = {workspace.name: workspace.id for workspace in list_open_workspaces(cluster, actor)}
    return [invite_line(cluster, actor, line, ids) for line in lines]


def invite_line(cluster: Cluster, actor: Actor, line: PersonLine, ids: dict[str, int]) -> InvitedPerson:
    if not ids.keys() >= set(line.workspaces):
        return InvitedPerson(line, None, "")
    try:
        user, secret = invite_user(
            cluster,
            actor,
            line.name,
            line.full_name,
            email=line.email,
            workspace_ids=[ids[name] for name in line.workspaces],
        )
    except Refused:
        return InvitedPerson(line, None, "")
    return InvitedPerson(line, user, secret)
