"""Administrators make users, disable them and change their roles."""

import re

from cluster.services.workspaces import queries as workspace_queries
from tests.audit_entries import actions
from tests.pages.portal.filled_portal import House


def test_users_are_made_disabled_and_enabled(house: House) -> None:
    admin = house.visitor("administrator")
    made = admin.post("/users/new", data={"name": "newcomer", "full_name": "새 사람", "role": "user"})
    assert made.status_code == 303
    link = admin.get(made.location).text.split('id="secret-text">')[1].split("<")[0]
    assert link.startswith("http://localhost/link/"), "the address that the browser has used"
    assert link not in admin.get("/users").text, "the link is shown once"
    path = link.removeprefix("http://localhost")
    assert house.visitor("anonymous").get(path).status_code == 200
    user_id = max(
        int(part.split('"')[0]) for part in admin.get("/users").text.split("/users/")[1:] if part[0].isdigit()
    )
    confirm = admin.get(f"/users/{user_id}/disable").text
    assert "Nothing has been done yet" in confirm and "newcomer" in confirm
    assert admin.post(f"/users/{user_id}/disable").status_code == 303
    assert "Disabled" in admin.get(f"/users/{user_id}").text
    assert house.visitor("anonymous").get(path).status_code == 404
    assert "newcomer" in admin.get("/users?state=disabled").text
    assert "newcomer" not in admin.get("/users?state=active").text
    assert admin.post(f"/users/{user_id}/enable").status_code == 303
    assert {"user.created", "user.disabled", "user.enabled"} <= set(actions(house.cluster))


def test_the_last_administrator_stays(house: House) -> None:
    admin = house.visitor("administrator")
    me = house.people["administrator"].id
    answer = admin.post(f"/users/{me}/disable")
    assert answer.status_code == 422 and "last administrator" in answer.text
    assert admin.post(f"/users/{me}/role", data={"role": "user"}).status_code == 422


def invite(house: House, **fields: object):  # type: ignore[no-untyped-def]
    data = {"name": "newcomer", "full_name": "", "email": "", "role": "user", "workspaces": [""]} | fields
    return house.visitor("administrator").post("/users/new", data=data)


def test_one_form_invites_into_workspaces(house: House) -> None:
    workspace = house.ids["workspace_id"]
    before = workspace_queries.read_workspace(house.cluster, house.actor("administrator"), workspace).version
    assert invite(house, email="new@lab.example", workspaces=["", str(workspace)]).status_code == 303
    found = workspace_queries.read_workspace(house.cluster, house.actor("administrator"), workspace)
    [user] = [member for member in found.members if member.name == "newcomer"]
    assert (user.email, found.version) == ("new@lab.example", before + 1)
    assert {"user.created", "workspace.edited"} <= set(actions(house.cluster))


def test_all_faults_of_an_invitation_are_told_at_once_and_nobody_is_made(house: House) -> None:
    answer = invite(house, name="Kim Min", email="nowhere", role="king", workspaces=["999"])
    assert answer.status_code == 422
    for field in ("name", "email", "role", "workspaces"):
        assert f'id="{field}-problem"' in answer.text, field
    assert "Fix 4 problems" in answer.text
    assert "nowhere" not in house.visitor("administrator").get("/users").text


def test_the_page_of_a_link_may_be_loaded_again(house: House) -> None:
    admin = house.visitor("administrator")
    page = f"/users/{house.people['stranger'].id}/link"
    assert "No link of this person works now" in admin.get(page).text
    made = admin.post(page)
    assert made.status_code == 303
    first = admin.get(made.location).text
    until = re.search(r"until <time[^>]*>(11-2\d \d\d:\d\d)", first)
    assert 'id="secret-text"' in first and until
    again = admin.get(made.location)
    assert again.status_code == 200
    assert (
        "cannot be shown again" in again.text and until[1] in again.text and "secret-text" not in again.text
    )
    assert "Make a new link" in again.text
    assert house.visitor("manager").get(page).status_code == 403


def test_a_link_is_shown_only_on_the_page_of_its_person(house: House) -> None:
    admin = house.visitor("administrator")
    admin.post(f"/users/{house.people['stranger'].id}/link")
    assert "secret-text" not in admin.get(f"/users/{house.people['owner'].id}/link").text
