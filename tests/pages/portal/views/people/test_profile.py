"""The profile shows the sessions and tokens of its user, and changes the password."""

from collections.abc import Callable

import pytest

from cluster.domain.states import NotificationKind
from cluster.services.people import passwords, sessions
from tests.pages.portal.filled_portal import PASSWORD, House


def test_a_token_is_shown_once_and_works_until_it_is_revoked(house: House) -> None:
    browser = house.visitor("member")
    made = browser.post("/profile/tokens", data={"token_name": "laptop", "scope": "read", "days": "30"})
    text = made.text.split('id="secret-text">')[1].split("<")[0]
    assert text.startswith("gc_") and text not in browser.get("/profile").text
    rest = house.app.test_client()
    headers = {"Authorization": f"Bearer {text}"}
    assert rest.get("/api/v1/nodes", headers=headers).status_code == 200
    assert rest.post("/api/v1/jobs", headers=headers, json={}).status_code == 403, "it may only read"
    number = text.split("_")[1]
    assert browser.post(f"/profile/tokens/{number}/revoke").status_code == 303
    assert rest.get("/api/v1/nodes", headers=headers).status_code == 401


def test_sessions_are_listed_and_ended(house: House) -> None:
    browser, other = house.visitor("owner"), house.app.test_client()
    token = sessions.begin_session(
        house.cluster, house.people["owner"].id, "192.0.2.7", "Mozilla/5.0 (X11; Linux) Firefox/140"
    )
    other.set_cookie(f"gc_session_{house.cluster.settings.port}", token)
    page = browser.get("/profile").text
    assert "Firefox · Linux" in page and "192.0.2.7" in page and "this one" in page
    assert browser.post("/profile/sessions/end-others").status_code == 303
    assert other.get("/").status_code == 302 and browser.get("/").status_code == 200


def test_changing_the_password_keeps_this_session_alone(house: House) -> None:
    browser = house.visitor("owner")
    typed = {"old": "quiet apron 42", "password": "another quiet apron"}
    assert browser.post("/profile/password", data=typed).status_code == 303
    assert browser.get("/").status_code == 200
    assert sessions.sign_in(house.cluster, "seoyeon", "another quiet apron", "127.0.0.1", "")
    wrong = browser.post("/profile/password", data=typed)
    assert wrong.status_code == 422 and 'id="old-problem"' in wrong.text


def change_own_password(house: House) -> int:
    typed = {"old": PASSWORD, "password": "another quiet apron"}
    return house.visitor("owner").post("/profile/password", data=typed).status_code


def use_reset_link(house: House) -> int:
    link = passwords.issue_password_link(
        house.cluster, house.actor("administrator"), house.people["owner"].id
    )
    typed = {"username": "seoyeon", "password": "another quiet apron"}
    return house.visitor("anonymous").post(f"/link/{link}", data=typed).status_code


def become_administrator(house: House) -> int:
    address = f"/users/{house.people['owner'].id}/role"
    return house.visitor("administrator").post(address, data={"role": "administrator"}).status_code


@pytest.mark.parametrize("change", [change_own_password, use_reset_link, become_administrator])
def test_a_token_ends_with_the_password_and_the_role(house: House, change: Callable[[House], int]) -> None:
    rest, headers = house.app.test_client(), {"Authorization": f"Bearer {house.tokens['owner']}"}
    assert rest.get("/api/v1/jobs", headers=headers).status_code == 200
    assert change(house) in (302, 303)
    assert rest.get("/api/v1/jobs", headers=headers).status_code == 401


def test_only_administrators_are_told_which_setting_makes_mails(house: House) -> None:
    assert "GROUNDCREW_MAIL_URL" in house.visitor("administrator").get("/profile").text
    page = house.visitor("member").get("/profile").text
    assert "GROUNDCREW_MAIL_URL" not in page and "an administrator can change that" in page


def test_everybody_chooses_their_own_notifications(house: House) -> None:
    browser = house.visitor("member")
    typed = {"email": "minji@lab.example", "job_failed": "1", "wait_hours": "12", "webhook_url": ""}
    assert browser.post("/profile/notifications", data=typed).status_code == 303
    page = browser.get("/profile").text
    assert 'value="minji@lab.example"' in page and '<option value="12" selected>' in page
    boxes = {name: f'name="{name}" value="1" checked' in page for name in NotificationKind}
    assert [name for name, is_checked in boxes.items() if is_checked] == ["job_failed"]
    assert browser.post("/profile/notifications/test").status_code == 303
    assert "on its way" in browser.get("/profile").text


def test_a_refused_choice_is_said_at_its_field_and_keeps_what_was_typed(house: House) -> None:
    browser = house.visitor("member")
    typed = {"email": "no address", "job_waits": "1", "wait_hours": "24", "webhook_url": ""}
    refused = browser.post("/profile/notifications", data=typed)
    assert refused.status_code == 422 and 'id="email-problem"' in refused.text
    assert 'name="job_waits" value="1" checked' in refused.text and 'value="no address"' in refused.text
    webhook = typed | {"email": "", "webhook_url": "https://elsewhere.example/in"}
    assert browser.post("/profile/notifications", data=webhook).status_code == 422
    assert browser.post("/profile/notifications", data=typed | {"webhock": "x"}).status_code == 422
    assert browser.post("/profile/notifications/test").status_code == 422, "no address yet"
