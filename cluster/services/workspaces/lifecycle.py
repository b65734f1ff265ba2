"""Creates, edits, ends and extends workspaces; the units of overlapping terms never exceed the cluster."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import check_text, check_workspace_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import Relation, require_permission
from cluster.domain.states import UserState, WorkspaceState
from cluster.domain.workspace_terms import Term, check_term, check_units_fit, peak_of_overlap, workspace_state
from cluster.services.context import Cluster
from cluster.services.people.access import load_workspace, require_active_workspace, workspace_relation
from cluster.store.audit import add_audit_entry
from cluster.store.nodes import count_offered_units, offered_unit_kind
from cluster.store.users import User, find_user
from cluster.store.workspaces import Workspace, choose_colour, list_held_terms

TERMS_LOCK = "terms"
"""The lock of every change that adds units to the sum of terms."""


def create_workspace(
    cluster: Cluster,
    actor: Actor,
    name: str,
    description: str,
    starts_on: date,
    ends_on: date,
    units: int,
    manager_name: str,
    member_names: Sequence[str] = (),
) -> Workspace:
    """Raises Refused naming the field, Forbidden. The manager becomes a member too."""
    require_permission(
        "workspace.create", Relation.ADMINISTRATOR if actor.is_administrator else Relation.MEMBER
    )
    check_workspace_name(name)
    description = check_text(description, "description", 500)
    term = replace(check_term(starts_on, ends_on, local_today(cluster)), units=units)
    now = cluster.clock()
    with cluster.store.write(lock=TERMS_LOCK) as session:
        require_free_name(session, name)
        manager = find_person(session, actor, manager_name, "manager")
        members = find_members(session, actor, member_names, manager)
        require_units(cluster, session, term)
        workspace = Workspace(
            name=name,
            description=description,
            starts_on=starts_on,
            ends_on=ends_on,
            units=units,
            manager=manager,
            members=members,
            colour=choose_colour(session),
            created_at=now,
        )
        session.add(workspace)
        session.flush()
        add_audit_entry(
            session, now, actor, "workspace.created", workspace.id,
            name=name, units=units, starts_on=starts_on.isoformat(), ends_on=ends_on.isoformat(),
            manager=manager.name, members=[member.name for member in members],
        )  # fmt: skip
    cluster.events.publish("workspaces", workspace.id)
    return workspace


def edit_workspace(
    cluster: Cluster,
    actor: Actor,
    workspace_id: int,
    version: int,
    *,
    name: str | None = None,
    description: str | None = None,
    starts_on: date | None = None,
    ends_on: date | None = None,
    units: int | None = None,
    manager_name: str | None = None,
    member_names: Sequence[str] | None = None,
) -> Workspace:
    """Changes what is given; `version` is that of the row the person has seen.

    Raises Conflict where somebody else has changed it since; Forbidden where the manager changes more than
    description and members. Fewer units than are in use are allowed: running jobs go on, and nothing new
    starts until enough of them have ended.
    """
    now = cluster.clock()
    with cluster.store.write(lock=TERMS_LOCK) as session:
        workspace = load_workspace(session, actor, workspace_id)
        relation = workspace_relation(actor, workspace)
        require_permission("workspace.edit", relation, workspace_id)
        if workspace.version != version:
            raise Conflict("workspace.changed", name=workspace.name)
        before, old = audit_data_of(workspace), term_of(workspace)
        new = Term(starts_on or old.starts_on, ends_on or old.ends_on, old.units if units is None else units)
        name = workspace.name if name is None else name
        manager_name = workspace.manager.name if manager_name is None else manager_name
        if relation is not Relation.ADMINISTRATOR:
            if (name, manager_name, new) != (workspace.name, workspace.manager.name, old):
                require_permission("workspace.change_quota", relation, workspace_id)
            if workspace_state(workspace, now, cluster.settings.zone) is WorkspaceState.EXPIRED:
                require_active_workspace(cluster, workspace, "workspace")
        if name != workspace.name:
            check_workspace_name(name)
            require_free_name(session, name)
        if new != old:
            check_term_change(cluster, session, workspace, new)
        manager = workspace.manager
        if manager_name != manager.name:
            manager = find_person(session, actor, manager_name, "manager")
        names = [member.name for member in workspace.members] if member_names is None else member_names
        members = find_members(session, actor, names, manager, workspace.members)
        if description is not None:
            workspace.description = check_text(description, "description", 500)
        workspace.name, workspace.manager, workspace.members = name, manager, members
        workspace.starts_on, workspace.ends_on, workspace.units = new.starts_on, new.ends_on, new.units
        changes: dict[str, Any] = {
            key: [before[key], value]
            for key, value in audit_data_of(workspace).items()
            if value != before[key]
        }
        if changes:
            flag_modified(workspace, "name")  # Members alone change no column, yet it is a new version.
            add_audit_entry(session, now, actor, "workspace.edited", workspace.id, **changes)
    cluster.events.publish("workspaces", workspace_id)
    return workspace


def check_term_change(cluster: Cluster, session: Session, workspace: Workspace, new: Term) -> None:
    """Holding less is always possible, also while the cluster has lost units."""
    old = term_of(workspace)
    if (new.starts_on, new.ends_on) != (old.starts_on, old.ends_on):
        check_term(new.starts_on, new.ends_on, local_today(cluster))
    is_within = new.starts_on >= old.starts_on and new.ends_on <= old.ends_on
    if not (is_within and 0 <= new.units <= old.units):
        require_units(cluster, session, new, workspace.id)


def audit_data_of(workspace: Workspace) -> dict[str, Any]:
    """As an audit entry says it."""
    return {
        "name": workspace.name,
        "description": workspace.description,
        "starts_on": workspace.starts_on.isoformat(),
        "ends_on": workspace.ends_on.isoformat(),
        "units": workspace.units,
        "manager": workspace.manager.name,
        "members": sorted(member.name for member in workspace.members),
    }


def end_workspace(cluster: Cluster, actor: Actor, workspace_id: int) -> Workspace:
    """Now: units are free for other terms, everything stays readable. Raises Conflict where it has ended."""
    now = cluster.clock()
    with cluster.store.write(lock=TERMS_LOCK) as session:
        workspace = load_workspace(session, actor, workspace_id)
        require_permission("workspace.end", workspace_relation(actor, workspace), workspace_id)
        if workspace_state(workspace, now, cluster.settings.zone) is WorkspaceState.EXPIRED:
            raise Conflict("workspace.ended", workspace=workspace.name)
        workspace.ended_at = now
        add_audit_entry(session, now, actor, "workspace.ended", workspace.id, name=workspace.name)
    cluster.events.publish("workspaces", workspace_id)
    return workspace


def extend_workspace(cluster: Cluster, actor: Actor, workspace_id: int, ends_on: date) -> Workspace:
    """A later last day; one that has ended is active again. Raises Refused on `ends_on` or `units`."""
    now = cluster.clock()
    with cluster.store.write(lock=TERMS_LOCK) as session:
        workspace = load_workspace(session, actor, workspace_id)
        require_permission("workspace.extend", workspace_relation(actor, workspace), workspace_id)
        was = workspace.ends_on
        if workspace.ended_at is None and ends_on <= was:
            raise Refused("ends_on", "workspace.not_longer", ends_on=was.isoformat())
        term = replace(check_term(workspace.starts_on, ends_on, local_today(cluster)), units=workspace.units)
        require_units(cluster, session, term, workspace.id)
        workspace.ends_on, workspace.ended_at = ends_on, None
        add_audit_entry(
            session, now, actor, "workspace.extended", workspace.id,
            name=workspace.name, ends_on=[was.isoformat(), ends_on.isoformat()],
        )  # fmt: skip
    cluster.events.publish("workspaces", workspace_id)
    return workspace


def max_units_for_term(cluster: Cluster, starts_on: date, ends_on: date, besides: int | None = None) -> int:
    """The most units that a term could hold, for a form; the worst of its days decides."""
    with cluster.store.read() as session:
        peak = peak_of_overlap(
            list_held_terms(session, cluster.clock(), besides),
            clip_to_today(cluster, Term(starts_on, ends_on, 0)),
        )
        return max(0, count_offered_units(session) - peak.units)


def local_today(cluster: Cluster) -> date:
    return cluster.clock().astimezone(cluster.settings.zone).date()


def clip_to_today(cluster: Cluster, term: Term) -> Term:
    """Only days from today on have to fit: clips the term to them."""
    return replace(term, starts_on=min(max(term.starts_on, local_today(cluster)), term.ends_on))


def term_of(workspace: Workspace) -> Term:
    return Term(workspace.starts_on, workspace.ends_on, workspace.units)


def require_units(cluster: Cluster, session: Session, term: Term, besides: int | None = None) -> None:
    """Raises Refused on `units`. Only under the lock is the answer still true at the commit."""
    terms = list_held_terms(session, cluster.clock(), besides)
    check_units_fit(
        terms,
        clip_to_today(cluster, term),
        count_offered_units(session),
        kind=offered_unit_kind(session).value,
    )


def require_free_name(session: Session, name: str) -> None:
    """Names are never given twice, not even after a workspace has ended."""
    if session.scalar(select(Workspace.id).where(Workspace.name == name)) is not None:
        raise Refused("name", "workspace.name_taken", name=name)


def find_person(session: Session, actor: Actor, name: str, field: str) -> User:
    """An active person; the installation's own service user only for itself."""
    user = find_user(session, name.strip())
    if user is None or (user.state is UserState.SERVICE and user.id != actor.user_id):
        raise Refused(field, "user.unknown", name=name.strip()[:64])
    if user.state is UserState.DISABLED:
        raise Refused(field, "user.not_active", name=user.name)
    return user


def find_members(
    session: Session, actor: Actor, names: Sequence[str], manager: User, present: Sequence[User] = ()
) -> list[User]:
    """By name, each once, the manager among them; who is a member already may stay although disabled."""
    known = {user.name: user for user in (*present, manager)}
    wanted = {name.strip() for name in names} - {""} | {manager.name}
    return [known.get(name) or find_person(session, actor, name, "members") for name in sorted(wanted)]
