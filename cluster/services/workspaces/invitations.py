"""Invites a person: the account, its workspaces and its link are made in one transaction."""

from collections.abc import Sequence

from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import flag_modified

from cluster.domain.people.actor import Actor
from cluster.domain.refusals import Refusals
from cluster.domain.states import UserRole
from cluster.services.context import Cluster
from cluster.services.notifications import invitation_mails
from cluster.services.people import credentials, users
from cluster.services.people.passwords import LINK_TERM
from cluster.services.workspaces.open_workspaces import load_open_workspaces
from cluster.store.audit import add_audit_entry
from cluster.store.users import User
from cluster.store.workspaces import Workspace


def invite_user(
    cluster: Cluster,
    actor: Actor,
    name: str,
    full_name: str = "",
    role: UserRole | str = UserRole.USER,
    email: str = "",
    workspace_ids: Sequence[int] = (),
    refusals: Refusals | None = None,
) -> tuple[User, str]:
    """The user, and the secret of a link (72 h) with which they choose their password. If a mail server is configured
    and the person has an address, the link also waits in the outbox.

    Raises Refused for every field that is wrong; `refusals` are those of the form.
    """
    refusals = refusals or Refusals()
    with cluster.store.read() as session:
        refusals.check(load_open_workspaces, cluster, session, workspace_ids)

    def add_to_workspaces(session: Session, user: User) -> None:
        for workspace in load_open_workspaces(cluster, session, workspace_ids):
            add_member(session, actor, workspace, user)
        if is_mailed(cluster, user):
            expires_at = user.created_at + LINK_TERM
            invitation_mails.add_invitation_mail(session, user, actor.name, nonce, expires_at)

    nonce = credentials.new_secret()
    invited = users.create_user(
        cluster, actor, name, full_name, role, email, refusals, add_to_workspaces,
        secret=invitation_mails.invitation_secret(cluster, nonce),
    )  # fmt: skip
    for workspace_id in workspace_ids:
        cluster.events.publish("workspaces", workspace_id)
    return invited


def is_mailed(cluster: Cluster, user: User) -> bool:
    """Whether the link of this person's invitation is sent by mail."""
    return bool(user.email) and invitation_mails.can_mail_invitations(cluster)


def add_member(session: Session, actor: Actor, workspace: Workspace, user: User) -> None:
    """Adds a person who is not a member yet; the workspace has a new version."""
    before = sorted(member.name for member in workspace.members)
    workspace.members.append(user)
    flag_modified(workspace, "name")
    add_audit_entry(
        session, user.created_at, actor, "workspace.edited", workspace.id,
        members=[before, sorted([*before, user.name])],
    )  # fmt: skip
