"""The command keeps SSH keys, and writes entries for ssh, which OpenSSH itself reads as they are meant.

`groundcrew shell` submits a job, says why it waits, and becomes ssh to the door, whose key it knows.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.states import DesiredState, JobState
from cluster.services.ssh.door_state import SshDoorState, record_door_state
from cluster.store.jobs import Job
from portal.cli.commands import ssh
from tests.pages.portal.command_lab import Run
from tests.pages.portal.rest_lab import Lab

KEY = Path("tests/data/ssh_keys/ed25519.pub")
FINGERPRINT = "SHA256:oIDs0K3tISddEqvQVs7KLkjtiwIYjiiPcStPoOm9/IY"


def test_a_key_is_added_listed_and_removed(run: Run) -> None:
    assert FINGERPRINT in run("ssh-key", "add", str(KEY), "--name", "laptop").output
    assert FINGERPRINT in run("ssh-key", "list").stdout
    assert "laptop is removed." in run("ssh-key", "remove", FINGERPRINT).output
    run("ssh-key", "remove", "laptop", expected=4)


def test_a_key_of_this_account_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "ssh-keygen" in run("ssh-key", "add", expected=2).output
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text(KEY.read_text())
    assert FINGERPRINT in run("ssh-key", "add").output


def test_a_private_key_stays_here(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "id_ed25519"
    file.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert "is a private key" in run("ssh-key", "add", str(file), expected=2).output


HOST_KEY = " ".join(Path("tests/data/ssh_keys/ed25519.pub").read_text().split()[:2])


def test_a_closed_door_says_why(run: Run) -> None:
    assert "No SSH door runs here" in run("ssh-config", expected=5).output


def test_entries_are_written_once(
    lab: Lab, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    record_door_state(lab.cluster, SshDoorState(True, 2222, HOST_KEY))
    folder = tmp_path / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("Host lab\n    User minji\n")
    for _ in range(2):
        assert "Written to" in run("ssh-config").output
    assert (folder / "config").read_text().splitlines() == [
        "Include groundcrew_config",
        "",
        "Host lab",
        "    User minji",
    ]
    assert (folder / "groundcrew_known_hosts").read_text() == f"groundcrew-door {HOST_KEY}\n"
    shown = subprocess.run(
        ["ssh", "-F", str(folder / "groundcrew_config"), "-G", "job-42"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "user job\n" in shown and "proxycommand ssh -q %n@groundcrew-door groundcrew-sshd" in shown
    assert "Host job-*" in run("ssh-config", "--print").stdout


class BecameSsh(Exception):
    """The words of the ssh that the command became."""


@pytest.fixture
def opened(lab: Lab, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """With an open door, a key, and a training of own code."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "code").mkdir()
    (tmp_path / "code/train.py").write_text("print(1)\n")
    run("training", "create", "vision/mine", "--code", str(tmp_path / "code"))
    record_door_state(lab.cluster, SshDoorState(True, 2222, HOST_KEY))
    run("ssh-key", "add", str(KEY))

    def become(path: str, words: list[str]) -> None:
        raise BecameSsh(words)

    monkeypatch.setattr(os, "execv", become)
    return lab


def let_happen(lab: Lab, monkeypatch: pytest.MonkeyPatch, state: JobState | None) -> None:
    """While the command waits, the newest job comes into this state; None: the person presses ^C."""

    def sleep(_seconds: float) -> None:
        if state is None:
            raise KeyboardInterrupt
        with lab.cluster.store.write() as session:
            newest_job(session).state = state

    monkeypatch.setattr(ssh.time, "sleep", sleep)


def newest_job(session: Any) -> Job:
    job: Job = session.query(Job).order_by(Job.id.desc()).first()
    return job


def test_the_command_waits_and_becomes_ssh(
    opened: Lab, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_happen(opened, monkeypatch, JobState.RUNNING)
    result = run("shell", "-t", "mine", "--time-limit", "30m", "-i", "/keys/mine", expected=1)
    assert isinstance(result.exception, BecameSsh), result.output
    words = result.exception.args[0]
    with opened.cluster.store.read() as session:
        job = newest_job(session)
        assert (job.command, job.time_limit_seconds, job.name) == (list(ssh.PROGRAM), 1800, "shell")
    assert words[-3:] == ["--", f"job-{job.id}@127.0.0.1", ssh.OPENING]
    assert words[words.index("-p") + 1] == "2222" and words[words.index("-i") + 1] == "/keys/mine"
    known = tmp_path / ".ssh" / "groundcrew_known_hosts"
    assert f'UserKnownHostsFile="{known}"' in words and "StrictHostKeyChecking=yes" in words
    assert known.read_text() == f"groundcrew-door {HOST_KEY}\n"
    assert "at the latest" in result.stderr


def test_a_job_that_ends_before_it_starts_ends_the_command(
    opened: Lab, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_happen(opened, monkeypatch, JobState.STOPPED)
    assert "at the latest" not in run("shell", "-t", "mine", expected=1).output


def test_an_interrupt_stops_the_job(opened: Lab, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    let_happen(opened, monkeypatch, None)
    assert "is being stopped" in run("shell", "-t", "mine", expected=130).output
    with opened.cluster.store.read() as session:
        assert newest_job(session).desired is DesiredState.STOP


@pytest.mark.parametrize(
    ("arguments", "expected", "said"),
    [
        (("-t", "digits-lenet"), 2, "needs a training of own code"),
        (("-t", "nothing"), 4, "No training is called nothing."),
        (("-t", "mine", "--time-limit", "soon"), 2, "Write it as 90s, 30m, 2h or 1d."),
        (("-t", "mine", "--time-limit", "1s"), 6, "time_limit_seconds"),
    ],
)
def test_what_is_wrong_is_said_before_a_job_exists(
    opened: Lab, run: Run, arguments: tuple[str, ...], expected: int, said: str
) -> None:
    assert said in run("shell", *arguments, expected=expected).output
    with opened.cluster.store.read() as session:
        assert session.query(Job).count() == 0


def test_without_a_door_or_a_key_no_job_is_made(lab: Lab, run: Run) -> None:
    assert "No SSH door runs here" in run("shell", "-t", "digits-lenet", expected=5).output
    record_door_state(lab.cluster, SshDoorState(True, 2222, HOST_KEY))
    assert "groundcrew ssh-key add" in run("shell", "-t", "digits-lenet", expected=2).output


@pytest.mark.parametrize("host", ["-oProxyCommand=evil", "a b", ""])
def test_an_address_that_is_none_reaches_no_ssh(
    opened: Lab, run: Run, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr("portal.api.people.ssh_door.door_host", lambda _cluster: host)
    assert "sent an address that is none" in run("shell", "-t", "mine", expected=1).output
