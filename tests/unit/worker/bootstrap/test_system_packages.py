"""System packages are installed where the machine lacks them, and their services stay off."""

import fcntl
import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from worker.bootstrap import system_packages
from worker.bootstrap.system_packages import (
    EMBEDDED_PACKAGES,
    SystemRequirement,
    ensure_packages,
    forbid_service_starts,
    install_packages,
    list_unmet,
    parse_requirements,
    read_requirements,
    restore_service_policy,
)

ABSENT = SystemRequirement(("groundcrew-no-such-package",), programs=("groundcrew-no-such-program",))
PRESENT = SystemRequirement(("dash",), programs=("sh",))


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(system_packages, "POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(system_packages, "POLICY_BEFORE", tmp_path / "policy-rc.d.before-groundcrew")
    monkeypatch.setattr(system_packages, "LOCK", tmp_path / "lock" / "apt.lock")
    return tmp_path / "policy-rc.d"


def answer(policy: Path) -> int:
    return subprocess.run([policy, "redis-server", "start"], check=False).returncode


def test_only_what_is_not_there_is_missing() -> None:
    header = SystemRequirement(("base-files",), files=("etc/debian_versio[n]", "etc/os-release"))
    assert list_unmet([PRESENT, ABSENT, header]) == [ABSENT]


def test_nothing_is_said_or_done_where_nothing_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ensure_packages([PRESENT], tmp_path / "install.log")
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "install.log").exists()


def test_a_machine_without_apt_gets_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(system_packages, "PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        ensure_packages([ABSENT], tmp_path / "install.log")
    assert "no apt-get" in (said := capsys.readouterr().err)
    assert "groundcrew-no-such-package" in said


def test_a_user_without_root_and_sudo_gets_the_line_to_hand_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        ensure_packages([ABSENT], tmp_path / "install.log")
    said = capsys.readouterr()
    assert "Installing 1 system packages by apt: groundcrew-no-such-package" in said.out
    assert "apt-get install -y --no-install-recommends groundcrew-no-such-package" in said.err


def test_services_are_forbidden_to_start_while_packages_are_installed(policy: Path) -> None:
    with forbid_service_starts():
        assert answer(policy) == 101
    assert not policy.exists()


def test_an_interrupted_installation_gives_the_machines_own_policy_back(policy: Path) -> None:
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    with pytest.raises(KeyboardInterrupt), forbid_service_starts():
        raise KeyboardInterrupt
    assert answer(policy) == 104


def test_what_a_killed_installation_left_behind_forbids_nothing(policy: Path) -> None:
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    with forbid_service_starts() as lock:
        left = policy.read_text()
        fcntl.flock(lock, fcntl.LOCK_UN)  # What the kernel does when the last holder dies.
        assert answer(policy) == 104
    policy.rename(system_packages.POLICY_BEFORE)
    policy.write_text(left)
    restore_service_policy()
    assert answer(policy) == 104
    assert not system_packages.POLICY_BEFORE.exists()


def test_a_program_that_inherited_the_lock_keeps_services_off(policy: Path) -> None:
    """apt lives on where only its parent was killed."""
    with forbid_service_starts() as lock:
        apt = subprocess.Popen(["sleep", "60"], pass_fds=[lock])
        file = system_packages.LOCK
        try:
            with pytest.raises(BlockingIOError), file.open() as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            apt.kill()
            apt.wait()


@pytest.fixture
def dpkg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stands in for dpkg: says what the test writes into `query` and `audit`, notes what it was called for."""
    for program, says in (("dpkg-query", "query"), ("dpkg", "audit")):
        script = tmp_path / program
        script.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/calls\ncat {tmp_path}/{says}\n')
        script.chmod(0o755)
        (tmp_path / says).write_text("")
    monkeypatch.setattr(system_packages, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return tmp_path


@pytest.mark.parametrize(
    ("state", "is_missing"),
    [("installed", False), ("unpacked", True), ("half-configured", True), ("triggers-pending", True)],
)
def test_a_package_whose_installation_was_killed_is_not_there_yet(
    dpkg: Path, state: str, is_missing: bool
) -> None:
    (dpkg / "query").write_text(f"dash {state}\n")
    assert list_unmet([PRESENT]) == ([PRESENT] if is_missing else [])


def test_what_a_killed_installation_has_left_is_finished(
    dpkg: Path, policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dpkg / "audit").write_text("The following packages are only half configured: libjs-underscore\n")
    ensure_packages([PRESENT], dpkg / "install.log")
    assert "interrupted" in capsys.readouterr().out
    assert (dpkg / "calls").read_text().split() == ["--show", "--audit", "--configure"]
    assert not policy.exists()


def test_requirements_are_read_for_one_purpose_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "packages.json"
    wanted = [asdict(need) for need in EMBEDDED_PACKAGES]
    file.write_text(json.dumps({"ours": wanted, "test": [{"packages": ["git"], "programs": ["git"]}]}))
    assert read_requirements(file, "ours") == EMBEDDED_PACKAGES
    assert read_requirements(file, "test") == (SystemRequirement(("git",), programs=("git",)),)
    with pytest.raises(KeyError):
        parse_requirements([{"programs": ["git"]}])


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ({"redis-server", "valkey-server"}, "redis-server"),
        ({"valkey-server"}, "valkey-server"),
        (set(), "redis-server"),
    ],
)
def test_the_second_best_package_is_taken_where_the_first_is_unknown(
    policy: Path, monkeypatch: pytest.MonkeyPatch, candidates: set[str], chosen: str
) -> None:
    calls: list[list[str]] = []
    disabled: list[str] = []

    def apt(arguments: list[str], lock: int) -> "subprocess.CompletedProcess[str]":
        calls.append(arguments)
        assert answer(policy) == 101
        return subprocess.CompletedProcess(arguments, 0, "")

    monkeypatch.setattr(system_packages, "run_apt", apt)
    monkeypatch.setattr(system_packages, "configure_unpacked_packages", lambda: None)
    monkeypatch.setattr(system_packages, "has_candidate", lambda name: name in candidates)
    monkeypatch.setattr(system_packages, "disable_service", disabled.append)
    server = SystemRequirement(("redis-server", "valkey-server"), has_service=True)
    assert install_packages([server, SystemRequirement(("git",))]) == 0
    assert calls == [["update"], ["install", "--no-install-recommends", chosen, "git"]]
    assert disabled == [chosen]
