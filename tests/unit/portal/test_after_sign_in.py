"""After signing in a browser goes on to a path of this portal and to no other host."""

import pytest

from portal.after_sign_in import local_path


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/jobs?state=waiting", "/jobs?state=waiting"),
        ("", "/"),
        ("jobs", "/"),
        ("//elsewhere.example", "/"),
        ("/\\elsewhere.example", "/"),
        ("/a\\b", "/"),
        ("https://elsewhere.example", "/"),
        ("/jobs\r\nSet-Cookie: a=b", "/"),
    ],
)
def test_no_redirect_leads_to_another_host(target: str, path: str) -> None:
    assert local_path(target) == path
