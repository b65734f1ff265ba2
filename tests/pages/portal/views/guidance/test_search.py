"""The search page leads to what the reader may see."""

from tests.pages.portal.pages_lab import Lab


def test_things_are_found_by_the_beginning_of_their_name(lab: Lab) -> None:
    page = lab.browser(lab.seoyeon).get(f"/search?q={lab.lenet.name[:3].upper()}").text
    assert f'href="/trainings/{lab.lenet.id}"' in page
    nothing = lab.browser(lab.stranger).get(f"/search?q={lab.lenet.name[:3]}").text
    assert f"/trainings/{lab.lenet.id}" not in nothing and "Nothing that you may see is called" in nothing


def test_the_number_of_a_job_leads_to_the_job(lab: Lab) -> None:
    job = lab.a_running_job(name="unlike-any-other")
    assert lab.browser(lab.seoyeon).get(f"/search?q=job-{job.id}").location == f"/jobs/{job.id}"
    assert lab.browser(lab.stranger).get(f"/search?q=job-{job.id}").status_code == 200


def test_what_was_typed_is_text(lab: Lab) -> None:
    page = lab.browser(lab.seoyeon).get("/search?q=<b>&x=1").text
    assert 'value="&lt;b&gt;"' in page and "“&lt;b&gt;…”" in page


def test_the_box_stands_in_the_rail_of_every_page(lab: Lab) -> None:
    page = lab.browser(lab.seoyeon).get("/nodes").text
    assert 'role="search" action="/search"' in page and "data-search" in page
    assert "data-search" not in lab.app.test_client().get("/sign-in").text
