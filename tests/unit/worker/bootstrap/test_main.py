"""The first command that `make` runs: it installs what a command needs and becomes the command."""

import shutil
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.machine.system_packages import FILE, packages_for
from worker.bootstrap import __main__ as bootstrap
from worker.bootstrap.paths import InstallationPaths
from worker.bootstrap.system_packages import EMBEDDED_PACKAGES
from worker.bootstrap.virtual_environments import virtual_environment_path


class Replaced(Exception):
    """The process would be another program from here on."""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstallationPaths:
    places = InstallationPaths(tmp_path / "clone", tmp_path / "state", tmp_path / "cache")
    (places.clone / "requirements").mkdir(parents=True)
    (places.clone / "requirements" / "portal.txt").write_text("click==8.5.1 --hash=sha256:aa\n")
    (places.clone / "tests" / "machine").mkdir(parents=True)
    shutil.copy(FILE, places.clone / "tests" / "machine")
    monkeypatch.setattr(bootstrap, "find_installation_paths", lambda: places)
    monkeypatch.setattr(bootstrap.os, "umask", lambda mode: 0)
    return places


@pytest.fixture
def steps(places: InstallationPaths, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the command does in turn; each environment stands in a folder of its name."""
    done: list[str] = []

    def ensure_environment(_: InstallationPaths, name: str) -> Path:
        done.append(f"environment {name}")
        return Path("/environments") / name

    def execute(program: str, command: list[str], values: dict[str, str]) -> NoReturn:
        done.append(" ".join(["exec", *command]))
        raise Replaced(values)

    for name in ("check_hostname", "check_folders_writable", "check_disk_space", "check_system_python"):
        monkeypatch.setattr(bootstrap, name, lambda *_, said=name: done.append(said))
    monkeypatch.setattr(
        bootstrap, "ensure_packages", lambda packages, log: done.append(f"{len(packages)} packages")
    )
    monkeypatch.setattr(bootstrap, "ensure_environment_named", ensure_environment)
    monkeypatch.setattr(bootstrap, "find_running_environment", lambda _: Path("/environments/running"))
    monkeypatch.setattr(bootstrap.os, "execvpe", execute)
    return done


EMBEDDED = len(EMBEDDED_PACKAGES)
FOR_TESTS = EMBEDDED + len(packages_for("test"))
PORTAL = "/environments/portal/bin/python -m worker"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["up", "--port", "8471"],
            ["check_hostname", "check_folders_writable", "check_disk_space", f"{EMBEDDED} packages",
             "environment portal", f"exec {PORTAL} up --port 8471"],
        ),
        (
            ["restore", "one.sql"],
            ["check_folders_writable", f"{EMBEDDED} packages", "environment portal", f"exec {PORTAL} restore one.sql"],
        ),
        (["status"], ["exec /environments/running/bin/python -m worker status"]),
        (["with-tools", "mypy"], ["environment test", "exec mypy"]),
        (["with-test-machine", "pytest", "-q"], [f"{FOR_TESTS} packages", "environment test", "exec pytest -q"]),
    ],
    ids=lambda each: each[0] if isinstance(each[0], str) else "",
)  # fmt: skip
def test_a_command_does_what_it_needs_first(
    steps: list[str], arguments: list[str], expected: list[str]
) -> None:
    with pytest.raises(Replaced):
        bootstrap.main(arguments)
    assert steps == ["check_system_python", *expected]


@pytest.mark.parametrize("arguments", [[], ["invented"], ["with-tools"], ["with-test-machine"]])
def test_any_other_words_are_answered_with_the_usage(steps: list[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="worker.bootstrap up"):
        bootstrap.main(arguments)
    assert not any(step.startswith("exec") for step in steps)


def test_the_command_gets_the_environment_first_on_its_path(
    steps: list[str], places: InstallationPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    with pytest.raises(Replaced) as replaced:
        bootstrap.exec_worker(places, Path("/environments/portal"), ["status"])
    values: dict[str, Any] = replaced.value.args[0]
    assert values["PATH"] == "/environments/portal/bin:/usr/bin"
    assert values["PYTHONPATH"] == str(places.clone)
    assert values["GROUNDCREW_STATE_DIR"] == str(places.state_dir)
    assert values["PYTHONPYCACHEPREFIX"] == str(places.cache_dir / "pycache")
    assert "PYTHONDONTWRITEBYTECODE" not in values


def test_the_ansible_environment_is_shown_to_people_and_to_scripts(
    steps: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for words, lines in ((["--path"], 1), ([], 3)):
        with pytest.raises(SystemExit) as end:
            bootstrap.main(["ansible", *words])
        printed = capsys.readouterr().out.splitlines()
        assert end.value.code == 0 and len(printed) == lines
        assert "/environments/ansible/bin" in printed[0]
    assert sum(step.endswith(" packages") for step in steps) == 2


def test_the_environment_that_runs_counts_before_that_of_the_clone(
    places: InstallationPaths, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit):
        bootstrap.find_running_environment(places)
    current = virtual_environment_path(
        places.cache_dir, "portal", places.clone / "requirements" / "portal.txt"
    )
    running = tmp_path / "running"
    running.mkdir()
    places.environment_link.parent.mkdir(parents=True, exist_ok=True)
    places.environment_link.symlink_to(running)
    assert bootstrap.find_running_environment(places) == running != current
