"""Administrators make users, disable them and change their roles."""

from tests.audit_entries import actions
from tests.pages.portal.filled_portal import House


def test_users_are_made_disabled_and_enabled(house: House) -> None:
    admin = house.visitor("administrator")
    made = admin.post("/users/new", data={"name": "newcomer", "full_name": "새 사람", "role": "user"})
    link = made.text.split('id="secret-text">')[1].split("<")[0]
    assert link.startswith("http://127.0.0.1:8470/link/")
    assert link not in admin.get("/users").text, "the link is shown once"
    path = link.removeprefix("http://127.0.0.1:8470")
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
