"""A one-time link sets a password once."""

from cluster.services.people import sessions
from tests.audit_entries import actions
from tests.pages.portal.filled_portal import PASSWORD, House


def test_the_one_time_link_sets_a_password_once(house: House) -> None:
    browser = house.visitor("anonymous")
    page = browser.get(f"/link/{house.link}")
    assert page.status_code == 200 and "minjun" in page.text
    assert page.headers["Referrer-Policy"] == "no-referrer"
    refused = browser.post(f"/link/{house.link}", data={"password": "minjun"})
    assert refused.status_code == 422 and 'id="password-problem"' in refused.text
    answer = browser.post(f"/link/{house.link}", data={"username": "minjun", "password": PASSWORD})
    assert answer.location == "/"
    assert browser.get("/").status_code == 200
    assert browser.get(f"/link/{house.link}").status_code == 404
    assert sessions.sign_in(house.cluster, "minjun", PASSWORD, "127.0.0.1", "Firefox")
    assert {"user.link_used", "session.begun"} <= set(actions(house.cluster))
