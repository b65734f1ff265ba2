"""uv is told of the site's index and folder; what only pip understands is left out."""

from pathlib import Path

import pytest

from worker.environments.from_requirements.package_source import PackageSource

MACHINE = {
    "PIP_INDEX_URL": "https://mirror.example/simple",
    "PIP_FIND_LINKS": "/opt/wheels",
    "PIP_CERT": "/etc/ssl/site.pem",
    "HTTPS_PROXY": "http://proxy:3128",
    "PIP_RETRIES": "3",
    "HOME": "/root",
    "GROUNDCREW_SECRET_KEY": "secret",
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            PackageSource(),
            {"UV_DEFAULT_INDEX": "https://mirror.example/simple", "UV_FIND_LINKS": "/opt/wheels"},
        ),
        (PackageSource("https://site.example/simple"), {"UV_DEFAULT_INDEX": "https://site.example/simple"}),
        (PackageSource("none", Path("/wheels")), {"UV_FIND_LINKS": "/wheels"}),
        (
            PackageSource("", Path("/wheels")),
            {"UV_DEFAULT_INDEX": "https://mirror.example/simple", "UV_FIND_LINKS": "/wheels,/opt/wheels"},
        ),
    ],
)
def test_the_sites_own_index_counts_before_that_of_the_machine(
    source: PackageSource, expected: dict[str, str]
) -> None:
    always = {"SSL_CERT_FILE": "/etc/ssl/site.pem", "HTTPS_PROXY": "http://proxy:3128"}
    assert source.variables(MACHINE) == always | expected


@pytest.mark.parametrize(
    ("index", "options", "secrets"),
    [
        ("", [], []),
        ("none", ["--no-index"], []),
        ("https://site.example/simple", [], []),
        ("https://reader:open-sesame@site.example/simple", [], ["reader:open-sesame"]),
    ],
)
def test_what_no_log_may_show_is_known(index: str, options: list[str], secrets: list[str]) -> None:
    assert (PackageSource(index).options, PackageSource(index).secrets) == (options, secrets)
