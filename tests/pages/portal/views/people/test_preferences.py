"""Language and theme are the choice of each person."""

from tests.pages.portal.filled_portal import House


def test_a_choice_of_language_and_theme_stays_with_the_person(house: House) -> None:
    browser = house.visitor("owner")
    assert browser.post("/language", data={"language": "ko", "next": "/nodes"}).location == "/nodes"
    browser.post("/theme", data={"theme": "dark"})
    other = house.visitor("owner")
    page = other.get("/", headers={"Accept-Language": "en"}).text
    assert 'lang="ko"' in page and 'data-bs-theme="dark"' in page
