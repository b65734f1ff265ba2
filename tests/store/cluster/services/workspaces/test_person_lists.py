"""A list of people is checked as a whole, and everybody in it is invited."""

import pytest

from cluster.domain.errors import Forbidden
from cluster.domain.people.person_lists import parse_person_list
from cluster.services.context import Cluster
from cluster.services.people.passwords import read_password_link
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces.person_lists import check_people, invite_people
from tests.builders import a_user, a_workspace, actor_of, an_administrator
from tests.store.cluster.services.workspaces.test_invitations import members_of


def test_every_fault_of_every_line_is_found(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    a_workspace(cluster, name="vision")
    ended = a_workspace(cluster, name="old")
    lifecycle.end_workspace(cluster, chief, ended.id)
    a_user(cluster, "minji")
    lines = parse_person_list(
        "junho,,,vision\nminji,,nowhere,old vision\nKim\ntwice\ntwice,,twice@lab.example"
    )
    found = [
        {refusal.field: refusal.code for refusal in person.refusals}
        for person in check_people(cluster, chief, lines)
    ]
    assert found == [
        {},
        {"name": "user.name_taken", "email": "email.unusable", "workspaces": "user.list_no_workspace"},
        {"name": "name.bad_character"},
        {"name": "user.list_twice"},
        {"name": "user.list_twice"},
    ]


def test_everybody_is_a_member_and_has_a_link(cluster: Cluster) -> None:
    chief, workspace = actor_of(an_administrator(cluster)), a_workspace(cluster, name="vision")
    invited = invite_people(cluster, chief, parse_person_list("junho,,,vision\nseoyeon,이서연"))
    assert [read_password_link(cluster, person.secret).name for person in invited] == ["junho", "seoyeon"]
    members = members_of(cluster, workspace)
    assert "junho" in members and "seoyeon" not in members


def test_a_line_that_is_refused_meanwhile_keeps_no_other_back(cluster: Cluster) -> None:
    chief = actor_of(an_administrator(cluster))
    a_user(cluster, "minji")
    invited = invite_people(cluster, chief, parse_person_list("minji\nseoyeon,,,gone\njunho"))
    assert [person.user.name if person.user else None for person in invited] == [None, None, "junho"]


def test_only_administrators_invite(cluster: Cluster) -> None:
    somebody, lines = actor_of(a_user(cluster)), parse_person_list("junho")
    for invite in (check_people, invite_people):
        with pytest.raises(Forbidden):
            invite(cluster, somebody, lines)
