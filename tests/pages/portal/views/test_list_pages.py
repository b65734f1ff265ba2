"""Long lists come by pages that link to each other and show each row once."""

import re
from collections.abc import Callable

import pytest

from tests.builders import a_dataset, a_training, a_user
from tests.pages.portal.pages_lab import Lab


def make_trainings(lab: Lab) -> list[str]:
    return [f"/trainings/{a_training(lab.cluster, lab.workspace).id}" for _ in range(101)]


def make_datasets(lab: Lab) -> list[str]:
    return [f"/datasets/{a_dataset(lab.cluster, lab.workspace).id}" for _ in range(101)]


def make_users(lab: Lab) -> list[str]:
    return [f"/users/{a_user(lab.cluster, f'person-{number:03}').id}" for number in range(101)]


@pytest.mark.parametrize(
    ("path", "make"),
    [("/trainings", make_trainings), ("/datasets", make_datasets), ("/users", make_users)],
    ids=["trainings", "datasets", "users"],
)
def test_a_list_is_shown_by_pages(lab: Lab, path: str, make: Callable[[Lab], list[str]]) -> None:
    made, browser, shown, lengths, href = make(lab), lab.browser(lab.administrator), list[str](), [], path
    while href:
        page = browser.get(href).text.split("<tbody>")[1]
        rows = re.findall(rf'<a href="({path}/\d+)"', page)
        shown += rows
        lengths.append(len(rows))
        further = re.search(r'class="pager"><a href="([^"]+)"', page)
        href = further[1].replace("&amp;", "&") if further else ""
    assert lengths[:2] == [50, 50] and 0 < lengths[2] < 50 and len(lengths) == 3
    assert len(set(shown)) == len(shown) and set(made) <= set(shown)


@pytest.mark.parametrize(
    "path", ["/trainings?before=x", "/datasets?before=-1", "/users?after=x", "/users?state=no"]
)
def test_a_position_that_is_none_is_refused(lab: Lab, path: str) -> None:
    assert lab.browser(lab.administrator).get(path).status_code == 422
