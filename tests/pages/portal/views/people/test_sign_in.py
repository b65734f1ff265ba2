"""From the first secret to signing out: the door, and everything that closes it."""

import re
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.people import passwords, users
from portal import create_app
from tests.builders import a_user, actor_of, an_administrator
from tests.conftest import Clock
from tests.pages.portal.filled_portal import PASSWORD, House

COOKIE = "gc_session_8470"


def token_of(client: FlaskClient, path: str) -> str:
    """The CSRF token of a form on that page."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
    assert found is not None
    return found[1]


def post(client: FlaskClient, path: str, page: str | None = None, **fields: str):  # type: ignore[no-untyped-def]
    return client.post(path, data={"csrf_token": token_of(client, page or path), **fields})


def known(cluster: Cluster, name: str = "seoyeon") -> None:
    """A person with a password, made as administrators make them."""
    administrator = an_administrator(cluster)
    user = a_user(cluster, name)
    passwords.use_password_link(
        cluster, passwords.issue_password_link(cluster, actor_of(administrator), user.id), PASSWORD
    )


def test_signing_in_leads_back_to_where_one_was_going(client: FlaskClient, light_cluster: Cluster) -> None:
    known(light_cluster)
    assert client.get("/nodes?state=ready").location == "/sign-in?next=/nodes?state%3Dready"
    answer = post(client, "/sign-in", name="seoyeon", password=PASSWORD, next="/nodes?state=ready")
    assert answer.location == "/nodes?state=ready"
    assert client.get("/nodes").status_code == 200


@pytest.mark.parametrize(
    "target",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil", "javascript:x", "/a\nb"],
)
def test_the_door_leads_to_no_other_site(client: FlaskClient, light_cluster: Cluster, target: str) -> None:
    known(light_cluster)
    answer = post(client, "/sign-in", name="seoyeon", password=PASSWORD, next=target)
    assert answer.location == "/"


def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    known(light_cluster)
    answer = post(client, "/sign-in", name="seoyeon", password=PASSWORD)
    [cookie] = [line for line in answer.headers.getlist("Set-Cookie") if line.startswith(COOKIE)]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Path=/" in cookie
    assert "Secure" not in cookie, "this installation is reached by http"


def test_the_session_cookie_of_an_https_installation_is_secure(light_cluster: Cluster) -> None:
    settings = replace(light_cluster.settings, public_url="https://gpu.example.ac.kr")
    secured = replace(light_cluster, settings=settings)
    known(secured)
    client = create_app(secured).test_client()
    base = "https://gpu.example.ac.kr"
    page = client.get("/sign-in", base_url=base)
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert token is not None
    assert "max-age" in page.headers["Strict-Transport-Security"]
    typed = {"csrf_token": token[1], "name": "seoyeon", "password": PASSWORD}
    answer = client.post("/sign-in", data=typed, base_url=base, headers={"Referer": f"{base}/sign-in"})
    assert all("Secure" in line for line in answer.headers.getlist("Set-Cookie") if "Max-Age=0" not in line)


def test_a_wrong_password_keeps_the_name_and_says_nothing_more(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    known(light_cluster)
    wrong = post(client, "/sign-in", name="seoyeon", password="not this one")
    unknown = post(client, "/sign-in", name="nobody", password="not this one")
    assert wrong.status_code == unknown.status_code == 422
    assert 'value="seoyeon"' in wrong.text and "not this one" not in wrong.text
    told = re.compile(r'role="alert">.*?</div>', re.DOTALL)
    assert told.findall(wrong.text)[0] == told.findall(unknown.text)[0]


def test_a_guesser_is_told_when_to_come_back(client: FlaskClient, light_cluster: Cluster) -> None:
    known(light_cluster)
    for _ in range(6):
        answer = post(client, "/sign-in", name="seoyeon", password="guess")
    assert answer.status_code == 422
    assert "Too many wrong passwords" in answer.text and "14:0" in answer.text
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 422
    clock = light_cluster.clock
    assert isinstance(clock, Clock)
    clock.move(minutes=16)
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 302


def test_signing_out_ends_the_row_and_not_only_the_cookie(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    known(light_cluster)
    post(client, "/sign-in", name="seoyeon", password=PASSWORD)
    cookie = client.get_cookie(COOKIE)
    assert cookie is not None
    answer = post(client, "/sign-out", page="/profile")
    assert answer.location == "/sign-in"
    assert client.get_cookie(COOKIE) is None
    client.set_cookie(COOKIE, cookie.value)
    assert client.get("/").location == "/sign-in", "the old cookie is worth nothing"


def test_the_form_cookie_is_made_anew_at_sign_in(client: FlaskClient, light_cluster: Cluster) -> None:
    known(light_cluster)
    before = token_of(client, "/sign-in")
    post(client, "/sign-in", name="seoyeon", password=PASSWORD)
    answer = client.post("/profile/sessions/end-others", data={"csrf_token": before})
    assert answer.status_code == 400


def test_a_disabled_person_is_out_at_the_next_click(house: House) -> None:
    browser = house.visitor("owner")
    assert browser.get("/").status_code == 200
    users.disable_user(house.cluster, house.actor("administrator"), house.people["owner"].id)
    assert browser.get("/").location == "/sign-in"


def test_a_changed_role_ends_the_sessions(house: House) -> None:
    browser = house.visitor("owner")
    answer = house.visitor("administrator").post(
        f"/users/{house.people['owner'].id}/role", data={"role": "administrator"}
    )
    assert answer.status_code == 303
    assert browser.get("/").status_code == 302


def test_a_session_left_alone_ends(house: House) -> None:
    clock = house.cluster.clock
    assert isinstance(clock, Clock)
    before = clock.now
    try:
        clock.move(hours=12, seconds=1)
        assert house.visitor("owner").get("/").location == "/sign-in"
    finally:
        clock.now = before


def test_fragments_of_an_expired_session_load_the_door_whole(house: House) -> None:
    answer = house.visitor("anonymous").get("/nodes", headers={"HX-Request": "true"})
    assert answer.headers["HX-Redirect"] == "/sign-in"
    assert answer.text == ""


def test_rest_without_a_token_is_a_problem_in_json(house: House) -> None:
    answer = house.visitor("anonymous").get("/api/v1/nodes")
    assert answer.status_code == 401
    assert answer.content_type == "application/problem+json"
    assert answer.headers["WWW-Authenticate"] == "Bearer"
