"""A host that is installed from a bundle asks the bundle's servers and nobody else."""

from typing import Any

import pytest

from tests.unit.roles.rendering import render, value_of

HERE: dict[str, Any] = {
    "groundcrew_bundle": "/srv/bundle",
    "bundle_read": {"stdout_lines": ["whole 0.1.0+20261121T190000Z debian-12 ssh-ed25519 AAAA"]},
}


def test_apt_has_the_bundle_and_no_other_source() -> None:
    source = render("bundle", "bundle.sources", **HERE)
    assert "URIs: file:/srv/bundle/apt/debian-12\nSuites: ./\n" in source
    configuration = render("bundle", "apt.conf", **HERE)
    assert 'Dir::Etc::sourcelist "/etc/apt/groundcrew-bundle.sources";' in configuration
    assert 'Dir::Etc::sourceparts "/dev/null";' in configuration


@pytest.mark.parametrize(
    ("path", "is_usable"),
    [
        ("/srv/bundle", True),
        ("srv/bundle", False),
        ("~/bundle", False),
        ("/srv/my bundle", False),
        ("/a\n", False),
    ],
)
def test_a_path_that_apt_would_take_for_another_is_refused(path: str, is_usable: bool) -> None:
    assert value_of("bundle", "bundle_path_is_usable", groundcrew_bundle=path) is is_usable


def test_what_apt_knew_before_is_not_touched() -> None:
    assert 'Dir::State::lists "/var/lib/apt/groundcrew-bundle";' in render("bundle", "apt.conf", **HERE)


def test_pip_has_the_wheels_of_the_bundle_and_no_index() -> None:
    settings = value_of("bundle", "groundcrew_pip_environment", **HERE)
    wheels = "/srv/bundle/wheels"
    assert settings == {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": wheels,
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": wheels,
    }


def test_without_a_bundle_pip_is_as_the_host_has_it() -> None:
    assert value_of("bundle", "groundcrew_pip_environment") == {}


def test_a_bundle_that_was_read_before_is_known() -> None:
    assert value_of("bundle", "bundle_is_known", **HERE) is False
    known = {"stdout_lines": ["known 0.1.0+20261121T190000Z debian-12 ssh-ed25519 AAAA"]}
    assert value_of("bundle", "bundle_is_known", **HERE | {"bundle_read": known}) is True


def test_the_key_that_was_found_right_is_pinned() -> None:
    assert value_of("bundle", "bundle_signer", **HERE) == "ssh-ed25519 AAAA"
