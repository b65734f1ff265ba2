"""Language, theme and time zone are the choice of each person."""

from tests.pages.portal.filled_portal import House


def test_a_choice_of_language_and_theme_stays_with_the_person(house: House) -> None:
    browser = house.visitor("owner")
    assert browser.post("/language", data={"language": "ko", "next": "/nodes"}).location == "/nodes"
    browser.post("/theme", data={"theme": "dark"})
    other = house.visitor("owner")
    page = other.get("/", headers={"Accept-Language": "en"}).text
    assert 'lang="ko"' in page and 'data-bs-theme="dark"' in page


def test_times_are_in_the_zone_that_the_person_chose_and_the_page_names_it_once(house: House) -> None:
    browser = house.visitor("owner")
    browser.set_cookie("gc_time_zone", "Europe%2FBerlin")
    assert browser.get("/profile").text.count("Times are in Europe/Berlin (UTC+1)") == 1
    chosen = browser.post("/profile/time-zone", data={"time_zone": "asia/tokyo"})
    assert chosen.location == "/profile#time-zone"
    assert house.visitor("owner").get("/nodes").text.count("Times are in Asia/Tokyo (UTC+9)") == 1
    browser.post("/profile/time-zone", data={"time_zone": ""})
    assert "Times are in Europe/Berlin" in browser.get("/nodes").text


def test_a_zone_that_there_is_not_is_refused_beside_its_field(house: House) -> None:
    answer = house.visitor("owner").post("/profile/time-zone", data={"time_zone": "Seoul <time>"})
    assert answer.status_code == 422 and 'id="time_zone-problem"' in answer.text
    assert "“Seoul &lt;time&gt;” is not a known time zone" in answer.text


def test_rest_stays_in_utc(house: House) -> None:
    browser = house.visitor("owner")
    browser.post("/profile/time-zone", data={"time_zone": "Asia/Tokyo"})
    headers = {"Authorization": f"Bearer {house.tokens['owner']}"}
    jobs = house.app.test_client().get("/api/v1/jobs", headers=headers).get_json()["items"]
    assert jobs and all(job["submitted_at"].endswith(("Z", "+00:00")) for job in jobs)
