"""From the first secret to signing out: the door, and everything that closes it."""

import re
from dataclasses import replace
from html import unescape

import pytest
from flask.testing import FlaskClient

from cluster.services.context import Cluster
from cluster.services.people import passwords, sign_in_throttle, users
from cluster.services.people.password_slots import SlowLane
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
    assert "Times are in" in answer.text and "Times are in" not in client.get("/sign-in").text
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 422
    clock = light_cluster.clock
    assert isinstance(clock, Clock)
    clock.move(minutes=16)
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 302


def test_a_browser_that_has_signed_in_before_is_not_kept_out(
    client: FlaskClient, light_cluster: Cluster
) -> None:
    known(light_cluster)
    cookie = f"gc_browser_{light_cluster.settings.port}"
    signed_in = post(client, "/sign-in", name="seoyeon", password=PASSWORD)
    (header,) = (each for each in signed_in.headers.getlist("Set-Cookie") if each.startswith(cookie))
    assert "HttpOnly" in header and "SameSite=Lax" in header and "Path=/sign-in" in header
    kept = client.get_cookie(cookie, path="/sign-in")
    assert kept is not None
    client.delete_cookie(cookie, path="/sign-in")
    post(client, "/sign-out", "/profile")
    for _ in range(6):
        post(client, "/sign-in", name="seoyeon", password="guess")
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 422
    client.set_cookie(cookie, kept.value, path="/sign-in")
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 302


def test_names_that_others_try_from_the_same_address_keep_nobody_out(
    client: FlaskClient, light_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine jobs have the address of everybody else."""
    known(light_cluster)
    waits: list[float] = []
    monkeypatch.setattr(sign_in_throttle, "SLOW_LANE", SlowLane(waits.append))
    job = create_app(light_cluster).test_client()
    for number in range(31):
        assert post(job, "/sign-in", name=f"nobody-{number}", password="guess").status_code == 422
    assert post(client, "/sign-in", name="seoyeon", password=PASSWORD).status_code == 302
    assert waits, "tries from one address are answered later"


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
    assert answer.headers["HX-Redirect"] == "/sign-in?next=/nodes"
    assert answer.text == ""


def test_rest_without_a_token_is_a_problem_in_json(house: House) -> None:
    answer = house.visitor("anonymous").get("/api/v1/nodes")
    assert answer.status_code == 401
    assert answer.content_type == "application/problem+json"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def hidden(page: str) -> dict[str, str]:
    """The fields that the form of the page carries unseen."""
    page = page.split("<main")[1].split("</main>")[0]
    inputs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    texts = re.findall(r'<textarea hidden name="([^"]+)">\n(.*?)</textarea>', page, re.DOTALL)
    return {name: unescape(value) for name, value in (*inputs, *texts)}


WORKSPACE = {"name": "speech", "description": "two\nlines & <more>", "units": "1", "members": "taeho"}


def test_a_form_that_was_sent_after_the_session_can_be_sent_again(house: House) -> None:
    with_password(house, "administrator")
    client = house.app.test_client()
    sent = client.post("/workspaces/new", data=WORKSPACE, headers={"Origin": "http://localhost"})
    assert sent.status_code == 401
    assert "Your session has ended" in sent.text
    typed = hidden(sent.text) | {"name": "root-of-all", "password": "wrong"}
    again = client.post("/sign-in", data=typed)
    assert again.status_code == 422
    opened = client.post("/sign-in", data=hidden(again.text) | {"name": "root-of-all", "password": PASSWORD})
    assert opened.status_code == 200
    assert "Nothing has been sent yet" in opened.text
    assert 'action="/workspaces/new"' in opened.text and 'data-back="/workspaces/new"' in opened.text
    kept = hidden(opened.text)
    assert {name: kept[name].replace("\r\n", "\n") for name in WORKSPACE} == WORKSPACE
    days = {"starts_on": "2026-11-20", "ends_on": "2026-12-01", "manager": "jisoo"}
    assert client.post("/workspaces/new", data=kept | days).status_code == 303


def test_the_page_after_a_sign_in_has_a_token_of_the_new_session(house: House) -> None:
    with_password(house, "administrator")
    client = house.strict_app.test_client()
    sent = client.post("/workspaces/new", data=WORKSPACE, headers={"Origin": "http://localhost"})
    opened = client.post("/sign-in", data=hidden(sent.text) | {"name": "root-of-all", "password": PASSWORD})
    answer = client.post("/workspaces/new", data=hidden(opened.text))
    assert answer.status_code == 422, "the form is read: its token is good"


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        (WORKSPACE, {"Origin": "http://evil.example"}),
        (WORKSPACE, {}),
        ({"old": "secret of mine", "password": "another"}, {"Origin": "http://localhost"}),
        ({"name": "x" * 20_000}, {"Origin": "http://localhost"}),
    ],
    ids=["of another site", "of nobody knows where", "with a password", "that is too long"],
)
def test_a_form_is_not_kept(house: House, fields: dict[str, str], headers: dict[str, str]) -> None:
    answer = house.app.test_client().post("/workspaces/new", data=fields, headers=headers)
    assert answer.location == "/sign-in?next=/workspaces/new"


def test_a_piece_of_a_page_leads_back_to_its_page(house: House) -> None:
    headers = {"HX-Request": "true", "Referer": "http://localhost/trainings/1/jobs/new?units=2"}
    answer = house.app.test_client().post("/trainings/1/jobs/check", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/sign-in?next=/trainings/1/jobs/new?units%3D2"


def test_a_page_signs_in_again_beside_what_was_typed(house: House) -> None:
    with_password(house, "owner")
    client = house.strict_app.test_client()
    form = client.get("/sign-in/again?name=seoyeon").text
    assert 'value="seoyeon"' in form and "<html" not in form
    fields = {"again_name": "Seoyeon", "again_password": "wrong", **hidden(f"<main>{form}</main>")}
    assert client.post("/sign-in/again", data=fields).status_code == 422
    assert client.post("/sign-in/again", data=fields | {"again_password": PASSWORD}).status_code == 204
    state = client.get("/sign-in/again").text
    found = re.search(r'data-signed-in="seoyeon" data-token="([^"]+)"', state)
    assert found is not None
    ended = client.post("/profile/sessions/end-others", headers={"X-CSRFToken": found[1]})
    assert ended.status_code == 303


def test_a_form_of_another_session_says_so_to_scripts(house: House) -> None:
    answer = house.visitor("owner", is_strict=True).post("/profile/sessions/end-others")
    assert answer.status_code == 400 and answer.headers["Groundcrew-Form-Too-Old"] == "1"


def test_a_name_may_be_typed_with_a_capital_letter(client: FlaskClient, light_cluster: Cluster) -> None:
    known(light_cluster)
    assert post(client, "/sign-in", name=" Seoyeon", password=PASSWORD).status_code == 302


def with_password(house: House, kind: str) -> None:
    chief = house.actor("administrator")
    link = passwords.issue_password_link(house.cluster, chief, house.people[kind].id)
    passwords.use_password_link(house.cluster, link, PASSWORD)
