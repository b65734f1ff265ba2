"""Components are added to the archives that a host has, whichever mirror and whichever form of file that is."""

import pytest

from tests.unit.roles.rendering import own_filters

SOURCES_WITH = own_filters()["sources_with"]
URI, SECURITY = "http://mirror.example/debian", "http://mirror.example/debian-security"
DEB822 = f"""Types: deb deb-src
# a comment
URIs: {URI}
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: {SECURITY}
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQ
"""
KNOWN = [f"{URI}/ bookworm main", f"{URI}/ bookworm-updates main", f"{SECURITY}/ bookworm-security main"]


def test_each_archive_keeps_its_key_and_gets_the_component() -> None:
    text = SOURCES_WITH({"/etc/apt/sources.list.d/debian.sources": DEB822}, KNOWN, ["contrib"])
    assert text == (
        f"Types: deb\nURIs: {URI}\nSuites: bookworm bookworm-updates\nComponents: contrib\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
        f"Types: deb\nURIs: {SECURITY}\nSuites: bookworm-security\nComponents: contrib\n"
        "Signed-By: \n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQ\n"
    )


@pytest.mark.parametrize(
    ("line", "added"),
    [
        (f"deb {URI} bookworm main", f"Types: deb\nURIs: {URI}\nSuites: bookworm\nComponents: contrib\n"),
        (
            f"deb [signed-by=/k.gpg] {URI}/ bookworm main",
            f"Types: deb\nURIs: {URI}/\nSuites: bookworm\nComponents: contrib\nSigned-By: /k.gpg\n",
        ),
        (f"deb-src {URI} bookworm main", ""),
        (f"# deb {URI} bookworm main", ""),
    ],
)
def test_the_one_line_form_is_read_too(line: str, added: str) -> None:
    assert SOURCES_WITH({"/etc/apt/sources.list": line}, KNOWN[:1], ["contrib"]) == added


def test_an_archive_that_has_it_is_left_alone() -> None:
    have = [*KNOWN, *(line.replace("main", "contrib") for line in KNOWN)]
    assert SOURCES_WITH({"/etc/apt/sources.list.d/debian.sources": DEB822}, have, ["contrib"]) == ""
