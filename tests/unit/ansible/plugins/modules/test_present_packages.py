"""Packages are had where they are missing, and taken off where we have brought them."""

from typing import Any

import pytest

INSTALLED = {"nginx-light": "1.22.1-9", "runc": "1.1.5+ds1-1+deb12u1"}


@pytest.fixture
def typed(module: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What the module types, in order; nothing of it is run."""
    commands: list[tuple[str, ...]] = []

    def run(*words: str) -> str:
        commands.append(words)
        return SAID.get(words[0] + " " + words[-1], "")

    monkeypatch.setattr(module, "run", run)
    return commands


SAID = {
    "apt-get autoremove": "Purg libone [1]\nPurg nginx-light [1.22]\nPurg old-before-us [3]\n",
    "apt-get postgresql-15": "Purg postgresql-15 [15.20]\n",
    "apt-get make": "Purg make [4.3]\nPurg build-essential [12.9]\n",
    "apt-mark showmanual": "nginx-light\nca-certificates\n",
}


@pytest.mark.parametrize("module", ["present_packages"], indirect=True)
@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (["nginx-light"], []),
        (["nginx-light", "redis-server"], ["redis-server"]),
        (["runc>=1.1.5+ds1-1+deb12u1"], []),
        (["runc>=1.2"], ["runc"]),
    ],
)
def test_a_package_is_missing_where_it_is_not_installed_or_too_old(
    module: Any, monkeypatch: pytest.MonkeyPatch, wanted: list[str], missing: list[str]
) -> None:
    monkeypatch.setattr(module, "read_installed", lambda names: INSTALLED)
    monkeypatch.setattr(module, "is_older", lambda version, least: version < least)
    assert module.find_missing(wanted) == missing


@pytest.mark.parametrize("module", ["present_packages"], indirect=True)
def test_what_was_interrupted_is_finished_and_old_lists_are_fetched_before(
    module: Any, monkeypatch: pytest.MonkeyPatch, typed: list[tuple[str, ...]]
) -> None:
    for half, old, broken, steps in (
        (False, False, False, 1),
        (True, False, False, 2),
        (True, True, False, 3),
        (True, True, True, 4),
    ):
        typed.clear()
        monkeypatch.setattr(module, "is_half_done", lambda half=half: half)
        monkeypatch.setattr(module, "are_lists_old", lambda old=old: old)
        monkeypatch.setattr(module, "are_dependencies_broken", lambda broken=broken: broken)
        module.install(["redis-server"])
        assert len(typed) == steps
        assert any("--fix-broken" in command for command in typed) == broken
        assert typed[-1][-2:] == ("install", "redis-server")
        assert (typed[0][0] == "dpkg") == half


@pytest.mark.parametrize("module", ["brought_packages"], indirect=True)
def test_only_what_is_new_and_needed_by_nobody_is_taken_off(
    module: Any, typed: list[tuple[str, ...]]
) -> None:
    assert module.take_off({"nginx-light"}, {"old-before-us"}) == ["libone", "nginx-light"]
    assert typed[0] == ("apt-mark", "auto", "nginx-light")
    assert ("apt-get", "-q", "-y", "purge", "libone", "nginx-light") in typed


@pytest.mark.parametrize("module", ["brought_packages"], indirect=True)
def test_a_server_that_apt_never_takes_off_by_itself_goes_and_what_somebody_needs_stays(
    module: Any, typed: list[tuple[str, ...]]
) -> None:
    ours = {"nginx-light", "postgresql-15", "make"}
    assert module.take_off(ours, {"old-before-us"}) == ["libone", "nginx-light", "postgresql-15"]
    assert ("apt-get", "-q", "-y", "purge", "libone", "nginx-light", "postgresql-15") in typed


@pytest.mark.parametrize("module", ["brought_packages"], indirect=True)
def test_what_had_come_along_before_comes_along_again(module: Any, typed: list[tuple[str, ...]]) -> None:
    assert module.mark_as_before({"ca-certificates", "gone-since"})
    assert typed[-1] == ("apt-mark", "auto", "ca-certificates")


@pytest.mark.parametrize("module", ["brought_packages"], indirect=True)
def test_data_stays_by_name(module: Any) -> None:
    names = {"postgresql-15", "nginx-light", "vim"}
    ours = module.chosen(names, ["nginx.*", "postgresql.*"])
    assert ours - module.chosen(names, ["postgresql.*"]) == {"nginx-light"}
