"""Creates, edits, ends and extends workspaces. The units of overlapping terms never exceed the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from cluster.domain.errors import Conflict, Refused
from cluster.domain.names import check_text, check_workspace_name
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import Relation, require_permission
from cluster.domain.refusals import Refusals
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
    starts_on: date | None,
    ends_on: date | None,
    units: int | None,
    manager_name: str,
    member_names: Sequence[str] = (),
    refusals: Refusals | None = None,
) -> Workspace:
    """Raises Refused for every field that is wrong, and Forbidden. The manager becomes a member too.

    `refusals` are those that the form has found already; the value of such a field is None.
    """
    require_permission(
        "workspace.create", Relation.ADMINISTRATOR if actor.is_administrator else Relation.MEMBER
    )
    refusals = refusals or Refusals()
    refusals.check(check_workspace_name, name)
    description = refusals.check(check_text, description, "description", 500) or ""
    term = refusals.check(read_term, refusals, starts_on, ends_on, local_today(cluster))
    refusals.require("units", units)
    now = cluster.clock()
    with cluster.store.write(lock=TERMS_LOCK) as session:
        refusals.check(require_free_name, session, name)
        manager = refusals.check(find_person, session, actor, manager_name, "manager")
        members = refusals.check(find_members, session, actor, member_names, manager)
        if term is not None and units is not None:
            term = replace(term, units=units)
            refusals.check(require_units, cluster, session, term)
        refusals.raise_all()
        assert term is not None and manager is not None and members is not None
        workspace = Workspace(
            name=name,
            description=description,
            starts_on=term.starts_on,
            ends_on=term.ends_on,
            units=term.units,
            manager=manager,
            members=members,
            colour=choose_colour(session),
            created_at=now,
        )
        session.add(workspace)
        session.flush()
        add_audit_entry(
            session, now, actor, "workspace.created", workspace.id,
            name=name, units=term.units, starts_on=term.starts_on.isoformat(), ends_on=term.ends_on.isoformat(),
            manager=manager.name, members=[member.name for member in members],
        )  # fmt: skip
    cluster.events.publish("workspaces", workspace.id)
    return workspace


def read_term(refusals: Refusals, starts_on: date | None, ends_on: date | None, today: date) -> Term | None:
    """The checked term without its units; None if the form lacks a day. Raises Refused on `ends_on`."""
    refusals.require("starts_on", starts_on)
    refusals.require("ends_on", ends_on)
    return check_term(starts_on, ends_on, today) if starts_on and ends_on else None


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
    refusals: Refusals | None = None,
) -> Workspace:
    """Changes the given fields. `version` is that of the row that the person has seen; `refusals` are those of the
    form.

    Raises Refused for every field that is wrong, Conflict if somebody else has changed it since, Forbidden if the
    manager changes more than description and members. The new quota may be below the units in use: running jobs go on,
    and none starts until enough of them have ended.
    """
    now, refusals = cluster.clock(), refusals or Refusals()
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
            require_unexpired_workspace(cluster, workspace, now)
        if name != workspace.name:
            refusals.check(check_workspace_name, name)
            refusals.check(require_free_name, session, name)
        if new != old:
            refusals.check(check_term_change, cluster, session, workspace, new)
        manager: User | None = workspace.manager
        if manager_name != workspace.manager.name:
            manager = refusals.check(find_person, session, actor, manager_name, "manager")
        names = [member.name for member in workspace.members] if member_names is None else member_names
        members = refusals.check(find_members, session, actor, names, manager, workspace.members)
        if description is not None:
            description = refusals.check(check_text, description, "description", 500)
        refusals.raise_all()
        assert manager is not None and members is not None
        workspace.description = workspace.description if description is None else description
        workspace.name, workspace.manager, workspace.members = name, manager, members
        workspace.starts_on, workspace.ends_on, workspace.units = new.starts_on, new.ends_on, new.units
        if changes := audit_changes(before, workspace):
            # A change of members alone changes no column, but it is a new version.
            flag_modified(workspace, "name")
            add_audit_entry(session, now, actor, "workspace.edited", workspace.id, **changes)
    cluster.events.publish("workspaces", workspace_id)
    return workspace


def require_unexpired_workspace(cluster: Cluster, workspace: Workspace, now: datetime) -> None:
    """A workspace that has not begun may be edited. Raises Refused once its last day has passed."""
    if workspace_state(workspace, now, cluster.settings.zone) is WorkspaceState.EXPIRED:
        require_active_workspace(cluster, workspace, "workspace")


def check_term_change(cluster: Cluster, session: Session, workspace: Workspace, new: Term) -> None:
    """Checks that the new term fits. Fewer units or days are always possible, even if the cluster has lost units."""
    old = term_of(workspace)
    if (new.starts_on, new.ends_on) != (old.starts_on, old.ends_on):
        check_term(new.starts_on, new.ends_on, local_today(cluster))
    is_within = new.starts_on >= old.starts_on and new.ends_on <= old.ends_on
    if not (is_within and 0 <= new.units <= old.units):
        require_units(cluster, session, new, workspace.id)


def audit_changes(before: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Returns field → the value before and the value now, for the fields that differ."""
    return {
        key: [before[key], value] for key, value in audit_data_of(workspace).items() if value != before[key]
    }


def audit_data_of(workspace: Workspace) -> dict[str, Any]:
    """The workspace's values in an audit entry."""
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
    """Ends the workspace now. Its units are free for other terms, and everything can still be read. Raises Conflict if
    it has ended.
    """
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
    """Sets a later last day. A workspace that has ended is active again. Raises Refused on `ends_on` or `units`."""
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
    """The largest number of units that a term could hold, for a form. The day with the least free units decides."""
    with cluster.store.read() as session:
        peak = peak_of_overlap(
            list_held_terms(session, cluster.clock(), besides),
            clip_to_today(cluster, Term(starts_on, ends_on, 0)),
        )
        return max(0, count_offered_units(session) - peak.units)


def local_today(cluster: Cluster) -> date:
    return cluster.clock().astimezone(cluster.settings.zone).date()


def clip_to_today(cluster: Cluster, term: Term) -> Term:
    """The part of the term from today on, because only that has to fit."""
    return replace(term, starts_on=min(max(term.starts_on, local_today(cluster)), term.ends_on))


def term_of(workspace: Workspace) -> Term:
    return Term(workspace.starts_on, workspace.ends_on, workspace.units)


def require_units(cluster: Cluster, session: Session, term: Term, besides: int | None = None) -> None:
    """Raises Refused on `units`. The caller holds the lock, so that the result is still true at the commit."""
    terms = list_held_terms(session, cluster.clock(), besides)
    check_units_fit(
        terms,
        clip_to_today(cluster, term),
        count_offered_units(session),
        kind=offered_unit_kind(session).value,
    )


def require_free_name(session: Session, name: str) -> None:
    """Raises Refused if the name was ever used, even by a workspace that has ended."""
    if session.scalar(select(Workspace.id).where(Workspace.name == name)) is not None:
        raise Refused("name", "workspace.name_taken", name=name)


def find_person(session: Session, actor: Actor, name: str, field: str) -> User:
    """An active person. Only the service user itself may name the service user."""
    user = find_user(session, name.strip())
    if user is None or (user.state is UserState.SERVICE and user.id != actor.user_id):
        raise Refused(field, "user.unknown", name=name.strip()[:64])
    if user.state is UserState.DISABLED:
        raise Refused(field, "user.not_active", name=user.name)
    return user


def find_members(
    session: Session, actor: Actor, names: Sequence[str], manager: User | None, present: Sequence[User] = ()
) -> list[User]:
    """The members by name, each once, including the manager. Present members may stay although they are disabled.

    Raises Refused on `members`; one sentence names all unknown people.
    """
    known = {user.name: user for user in (*present, *([manager] if manager else []))}
    wanted = sorted({name.strip() for name in names} - {""} | ({manager.name} if manager else set()))
    members: list[User] = []
    refused: list[Refused] = []
    for name in wanted:
        try:
            members.append(known.get(name) or find_person(session, actor, name, "members"))
        except Refused as refusal:
            refused.append(refusal)
    unknown = [refusal.data["name"] for refusal in refused if refusal.code == "user.unknown"]
    if len(unknown) > 1:
        raise Refused("members", "user.several_unknown", names=unknown)
    if refused:
        raise refused[0]
    return members
