"""Notebooks never have the portal's origin."""

import re

import pytest

from cluster.domain.notebooks.addresses import NotebookSeparation, choose_notebook_address


@pytest.mark.parametrize(
    ("setting", "portal", "port", "origin", "separation"),
    [
        ("", "http://127.0.0.1:8470", 8470, "http://nb-7.localhost:8470", NotebookSeparation.OWN_NAME_EACH),
        ("", "http://localhost:8470", 8470, "http://nb-7.localhost:8470", NotebookSeparation.OWN_NAME_EACH),
        ("", "https://10.0.0.4:8470", 8470, "https://10.0.0.4:8471", NotebookSeparation.OWN_PORT),
        ("", "https://[fd00::4]:8470", 8470, "https://[fd00::4]:8471", NotebookSeparation.OWN_PORT),
        ("", "https://gpu.example", 443, "https://gpu.example:444", NotebookSeparation.OWN_PORT),
        (":8443", "https://gpu.example", 443, "https://gpu.example:8443", NotebookSeparation.OWN_PORT),
        ("nb.example", "https://gpu.example", 443, "https://nb.example", NotebookSeparation.OWN_NAME),
        (
            *("*.nb.example", "https://gpu.example:8443", 8443, "https://nb-7.nb.example:8443"),
            NotebookSeparation.OWN_NAME_EACH,
        ),
    ],
)
def test_the_origin_follows_from_the_setting_or_from_the_portals_address(
    setting: str, portal: str, port: int, origin: str, separation: NotebookSeparation
) -> None:
    address = choose_notebook_address(setting, portal, port)
    assert (address.origin(7), address.separation) == (origin, separation)
    assert address.origin(7) != portal
    assert address.url(7, "lab") == f"{origin}/nb/7/lab"


def test_nginx_knows_the_names_of_notebooks_and_no_others() -> None:
    (pattern,) = choose_notebook_address("*.nb.example", "https://gpu.example", 443).server_names
    names = re.compile(pattern.strip('"~'))
    assert names.fullmatch("nb-12.nb.example")
    assert not any(
        map(names.fullmatch, ("nb.example", "nb-12xnb.example", "nb-x.nb.example", "nb-1.nb.example.evil"))
    )
    assert choose_notebook_address("nb.example", "https://gpu.example", 443).server_names == ("nb.example",)
    assert choose_notebook_address(":9", "https://gpu.example", 443).server_names == ()
