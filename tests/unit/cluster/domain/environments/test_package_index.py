"""pip in a notebook asks the site's index and folders, and learns no password."""

import pytest

from cluster.domain.environments.package_index import pip_sources


@pytest.mark.parametrize(
    ("index", "folders", "expected"),
    [
        ("", [], {}),
        ("https://pip.lab.example/simple", [], {"PIP_INDEX_URL": "https://pip.lab.example/simple"}),
        ("https://reader:secret@pip.lab.example/simple", [], {}),
        ("https://token@pip.lab.example/simple", ["/wheels"], {"PIP_FIND_LINKS": "/wheels"}),
        ("none", ["/packages", "/wheels"], {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/packages /wheels"}),
        ("none", [], {"PIP_NO_INDEX": "1"}),
        ("https://pip.lab.example/@v1/simple", [], {"PIP_INDEX_URL": "https://pip.lab.example/@v1/simple"}),
    ],
)
def test_pip_is_led_to_the_sites_packages(index: str, folders: list[str], expected: dict[str, str]) -> None:
    assert pip_sources(index, folders) == expected
