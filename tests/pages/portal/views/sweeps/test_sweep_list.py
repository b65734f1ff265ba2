"""The list of sweeps is filtered and paged by its address."""

from portal.views.sweeps.sweep_list import PAGE_LENGTH
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.sweeps.test_sweeps import a_sweep


def test_the_list_is_paged_and_filtered(lab: Lab) -> None:
    sweeps = [a_sweep(lab, {"seed": "1, 2"}) for _ in range(PAGE_LENGTH + 1)]
    browser = lab.browser(lab.minjun)
    first = browser.get("/sweeps").text
    assert f'href="/sweeps/{sweeps[0].id}"' not in first and f"before={sweeps[1].id}" in first
    assert f'href="/sweeps/{sweeps[0].id}"' in browser.get(f"/sweeps?before={sweeps[1].id}").text
    assert "No sweep matches" in browser.get("/sweeps?workspace=999").text
    assert browser.get("/sweeps?workspace=x").status_code == 422
