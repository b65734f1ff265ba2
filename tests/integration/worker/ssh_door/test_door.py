"""The door lets in the owner of the job with a key of theirs, asks again each time, and takes no forged ticket."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update

from cluster.domain.people.ssh_keys import parse_public_key
from cluster.domain.states import JobState, UserState
from cluster.services.ssh.job_access import find_entry
from cluster.store.jobs import Attempt, Job
from cluster.store.users import SshKey, User
from cluster.store.workspaces import WorkspaceMember
from tests.integration.worker.ssh_door.conftest import RunningProgram, SshLab, until
from worker.ssh_door.layout import door_ids
from worker.ssh_door.tickets import TicketOffice

ASK = """
import json, socket, sys
door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.settimeout(20)
door.connect(sys.argv[1])
socket.send_fds(door, [sys.argv[2].encode()], [0, 1, 2][: int(sys.argv[3])])
print(door.recv(65536).decode())
"""


CROWD = """
import socket, sys, time
held, until = [], time.monotonic() + 5
while len(held) < 300 and time.monotonic() < until:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.setblocking(False)
    try:
        client.connect(sys.argv[1])
        held.append(client)
    except BlockingIOError:
        time.sleep(0.01)  # So many wait already; the door takes them one after another.
    except PermissionError:
        break
print(len(held), flush=True)
time.sleep(60)
"""
FEW_FILES = 200
"""The door opens some dozens by itself."""


@pytest.fixture(scope="module")
def minji(lab: SshLab) -> User:
    return lab.person("minji")


@pytest.fixture(scope="module")
def program(lab: SshLab, minji: User) -> RunningProgram:
    return lab.run(minji)


def ask(lab: SshLab, uid: int, message: dict[str, Any], descriptors: int) -> str:
    """What the door answers to a process of this user; empty for nothing."""
    path = str(lab.ground / "ssh" / "door.sock")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK, path, json.dumps(message), str(descriptors)],
        user=uid,
        group=uid,
        extra_groups=[],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip()


def test_nobody_enters_the_job_of_another_person(lab: SshLab, program: RunningProgram) -> None:
    lab.person("taeho")
    for login in (program.login, "job-999999", "root", "groundcrew-keys", os.environ.get("USER", "nobody")):
        done = lab.ssh("taeho", login, "id")
        assert (done.returncode, done.stdout) == (255, ""), login


def test_only_the_two_programs_are_answered(lab: SshLab, minji: User, program: RunningProgram) -> None:
    """A job, another service and even the user behind signed-in connections get no line with a ticket."""
    ids, fingerprint = door_ids(lab.cluster), fingerprint_of(lab, minji)
    keys = {"login": program.login, "fingerprint": fingerprint}
    assert "enter.py" in ask(lab, ids.keys, keys, 0)
    job_user = lab.cluster.settings.job_ids.uid_of(minji.id)
    for uid in (job_user, 65534, ids.door):
        assert "enter.py" not in ask(lab, uid, keys, 0)
        assert "enter.py" not in ask(lab, uid, keys, 3)


@contextmanager
def crowd_of(lab: SshLab, uid: int) -> Iterator[int]:
    """A process of this user that connects to the door as often as it is let, and says nothing; yields how often."""
    command = [sys.executable, "-I", "-S", "-c", CROWD, str(lab.ground / "ssh" / "door.sock")]
    crowd = subprocess.Popen(
        command, user=uid, group=uid, extra_groups=[], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    try:
        assert crowd.stdout is not None
        yield int(crowd.stdout.readline())
    finally:
        crowd.kill()
        crowd.communicate()


@pytest.mark.parametrize("who", ["a job", "the user of the keys"])
def test_a_crowd_at_the_door_closes_it_to_nobody(
    lab: SshLab, minji: User, program: RunningProgram, who: str
) -> None:
    """On servers jobs see the folder of the socket. Even where connections use up the door's descriptors it goes on."""
    assert lab.door is not None
    ids = door_ids(lab.cluster)
    uid = ids.keys if who == "the user of the keys" else lab.cluster.settings.job_ids.uid_of(minji.id)
    keys = {"login": program.login, "fingerprint": fingerprint_of(lab, minji)}
    before = resource.prlimit(lab.door.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(lab.door.pid, resource.RLIMIT_NOFILE, (FEW_FILES, before[1]))
    try:
        with crowd_of(lab, uid) as connections:
            assert (connections == 0) is (who == "a job")
            if who == "a job":
                assert "enter.py" in ask(lab, ids.keys, keys, 0)
        # The door notices one after another that they have gone.
        until(lambda: "enter.py" in ask(lab, ids.keys, keys, 0), what="an answer after the crowd")
    finally:
        resource.prlimit(lab.door.pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.long
def test_a_ticket_that_nobody_gave_is_worth_nothing(
    lab: SshLab, minji: User, program: RunningProgram
) -> None:
    entry = find_entry(lab.cluster, program.job.id, fingerprint_of(lab, minji))
    assert entry is not None
    forged = TicketOffice().ticket_of(entry)
    ids = door_ids(lab.cluster)
    line = json.loads(ask(lab, ids.keys, {"login": program.login, "fingerprint": entry.fingerprint}, 0))[
        "line"
    ]
    genuine = line.split("enter.py ")[1].split('"')[0]
    request = {"command": "id", "terminal": None, "connection": ""}
    assert "exit" in ask(lab, ids.door, request | {"ticket": genuine}, 3)
    for ticket in (
        forged,
        genuine[:-1],
        genuine.replace(f"{program.job.id}.", "1.", 1) + "0",
        "",
        "a.b.c",
        "ä",
    ):
        answer = ask(lab, ids.door, request | {"ticket": ticket}, 3)
        assert "Connect again" in answer, ticket
    assert "exit" not in ask(lab, 65534, request | {"ticket": genuine}, 3), "a ticket of another user"


@pytest.mark.long
def test_a_second_line_in_a_row_lets_nobody_in(lab: SshLab, tmp_path: Path) -> None:
    """A portal in foreign hands writes rows; sshd would let its line in without a ticket, as the door's own user."""
    person = lab.person("sohee")
    program = lab.run(person)
    stranger = tmp_path / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(stranger)], check=True)
    with lab.cluster.store.write() as rows:
        key = rows.scalars(select(SshKey).where(SshKey.user_id == person.id)).one()
        second = parse_public_key(stranger.with_suffix(".pub").read_text())
        key.public_key, key.fingerprint = f"{key.public_key}\n{second.text}", second.fingerprint
    done = lab.ssh(str(stranger), program.login, "id")
    assert (done.returncode, done.stdout) == (255, "")


@pytest.mark.long
def test_requests_that_no_program_of_ours_sends_do_no_harm(lab: SshLab, program: RunningProgram) -> None:
    ids = door_ids(lab.cluster)
    for message in ({}, {"ticket": 7}, {"ticket": "x" * 100_000}, {"login": ["job-1"], "fingerprint": {}}):
        for uid in (ids.keys, ids.door):
            for descriptors in (0, 3):
                ask(lab, uid, message, descriptors)
    assert lab.ssh("minji", program.login, "true").returncode == 0


@pytest.mark.long
def test_huge_commands_and_many_keys_are_refused_and_the_door_goes_on(
    lab: SshLab, program: RunningProgram, tmp_path: Path
) -> None:
    huge = lab.ssh("minji", program.login, ": " + "x" * 100_000)
    assert huge.returncode == 255 and "too long" in huge.stderr
    options: list[str] = []
    for number in range(8):
        key = tmp_path / f"key-{number}"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        options += ["-i", str(key)]
    done = subprocess.run(
        ["ssh", *options, *lab.options("minji"), "-p", str(lab.port), f"{program.login}@127.0.0.1", "true"],
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, "an agent may hold more keys than OpenSSH's six tries"


@pytest.mark.long
@pytest.mark.parametrize("loss", ["person", "membership"])
def test_who_loses_the_right_is_put_out(lab: SshLab, loss: str) -> None:
    person = lab.person(f"leaves-{loss}"[:20])
    program = lab.run(person)
    session = lab.begin(person.name, program.login, "echo ready; sleep 1000")
    assert session.stdout is not None and session.stdout.readline() == "ready\n"
    with lab.cluster.store.write() as rows:
        if loss == "person":
            rows.get_one(User, person.id).state = UserState.DISABLED
        else:
            rows.execute(delete(WorkspaceMember).where(WorkspaceMember.user_id == person.id))
    session.wait(20)
    session.communicate()
    assert lab.ssh(person.name, program.login, "true").returncode == 255


@pytest.mark.long
def test_a_job_that_waits_or_has_ended_says_so(lab: SshLab, minji: User) -> None:
    program = lab.run(minji)
    lab.executor.kill(program.handle)
    for state, words in (("waiting", "waits"), ("starting", "starting")):
        with lab.cluster.store.write() as rows:
            rows.get_one(Job, program.job.id).state = JobState(state)
            rows.execute(update(Attempt).where(Attempt.job_id == program.job.id).values(state="starting"))
        assert words in lab.ssh("minji", program.login, "true").stderr
    with lab.cluster.store.write() as rows:
        rows.get_one(Job, program.job.id).state = JobState.FINISHED
    assert "has ended" in lab.ssh("minji", program.login, "true").stderr


def fingerprint_of(lab: SshLab, user: User) -> str:
    with lab.cluster.store.read() as rows:
        query = select(SshKey.fingerprint).where(SshKey.user_id == user.id).order_by(SshKey.id)
        return rows.scalars(query).first() or ""
