"""A person is invited into workspaces by one transaction."""

import pytest

from cluster.domain.errors import Forbidden, Refused
from cluster.services.context import Cluster
from cluster.services.people.passwords import read_password_link
from cluster.services.workspaces import invitations, lifecycle
from cluster.store.alerts import Notification
from cluster.store.workspaces import Workspace
from tests.audit_entries import actions
from tests.builders import a_user, a_workspace, actor_of, an_administrator
from tests.notification_lab import with_channels


def members_of(cluster: Cluster, workspace: Workspace) -> list[str]:
    with cluster.store.read() as session:
        return [member.name for member in session.get_one(Workspace, workspace.id).members]


def test_an_invited_person_is_a_member_and_has_a_link(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    workspace, other = a_workspace(cluster), a_workspace(cluster)
    user, secret = invitations.invite_user(
        cluster, chief, "newcomer", email=" new@lab.example ", workspace_ids=[workspace.id]
    )
    assert read_password_link(cluster, secret).id == user.id
    assert user.email == "new@lab.example"
    assert "newcomer" in members_of(cluster, workspace) and "newcomer" not in members_of(cluster, other)
    assert {"user.created", "workspace.edited"} <= set(actions(cluster))


def test_all_faults_are_refused_together_and_nothing_is_written(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    ended = a_workspace(cluster)
    lifecycle.end_workspace(cluster, chief, ended.id)
    with pytest.raises(Refused) as refusal:
        invitations.invite_user(cluster, chief, "Kim", "x" * 101, "king", "nowhere", [ended.id])
    assert {each.field: each.code for each in refusal.value.each} == {
        "workspaces": "workspace.ended",
        "name": "name.bad_character",
        "full_name": "text.too_long",
        "role": "user.role_unknown",
        "email": "email.unusable",
    }
    with pytest.raises(Refused, match="workspace.unknown"):
        invitations.invite_user(cluster, chief, "newcomer", workspace_ids=[ended.id + 999])


def test_only_administrators_invite(cluster: Cluster) -> None:
    with pytest.raises(Forbidden):
        invitations.invite_user(cluster, actor_of(a_user(cluster)), "newcomer")


def test_without_a_mail_server_or_an_address_nothing_is_mailed(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    invitations.invite_user(cluster, chief, "one", email="one@lab.example")
    invitations.invite_user(with_channels(cluster), chief, "two")
    with cluster.store.read() as session:
        assert session.query(Notification).count() == 0
