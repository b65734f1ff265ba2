"""The job as adversary: what its program prepares and what its owner does in a session leads nowhere but into the job.

The session runs a list of moves in one connection, and each says what it got hold of.
"""

import json
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cluster.store.users import User
from tests.integration.worker.ssh_door.conftest import RunningProgram, SshLab, until

PREPARES = """
import os, time
home = os.environ["HOME"]
for folder in (home, os.path.join(home, "work")):
    ssh = os.path.join(folder, ".ssh")
    os.makedirs(ssh, exist_ok=True)
    for name in ("authorized_keys", "authorized_keys2", "rc", "environment", "config"):
        open(os.path.join(ssh, name), "w").write("LD_PRELOAD=/tmp/evil.so\\ntouch /tmp/ran-rc\\n")
open("/tmp/evil.so", "w").write("no library")
os.makedirs("/tmp/bin", exist_ok=True)
for name in ("bash", "sh", "sftp-server", "sshd", "python3", "id"):
    path = os.path.join("/tmp/bin", name)
    open(path, "w").write("#!/bin/sh\\necho intercepted\\n")
    os.chmod(path, 0o755)
print("prepared", flush=True)
while True:
    time.sleep(60)
"""
MOVES = """
import ctypes, json, os, socket, subprocess, sys
ground, door_socket, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
got = {}
def move(name):
    def play(act):
        try:
            got[name] = act()
        except BaseException as error:
            got[name] = "refused: %s" % type(error).__name__
    return play
def reads(path):
    with open(path, "rb") as file:
        return "read %d bytes" % len(file.read(100))
@move("the host key of the door")
def _(): return reads(ground + "/ssh/host_key")
@move("the database")
def _(): return reads(ground + "/groundcrew.db")
@move("the machine's shadow file")
def _(): return reads("/etc/shadow")
@move("the socket of the door")
def _():
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(door_socket)
    return "connected"
@move("write the system")
def _():
    open("/etc/groundcrew-test", "w").close()
    return "written"
@move("the session's own passwd")
def _():
    open("/etc/passwd", "a").close()
    return "written"
@move("become root")
def _():
    os.setuid(0)
    return "root"
@move("suid programs")
def _():
    found = subprocess.run(["/usr/bin/su", "-c", "id -u"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return found.stdout or "refused: %d" % found.returncode
@move("leave the namespace by another process")
def _():
    libc = ctypes.CDLL(None, use_errno=True)
    pid = 1
    handle = os.open("/proc/%d/ns/mnt" % pid, os.O_RDONLY)
    assert libc.setns(handle, 0) == 0
    return "entered"
@move("processes of sshd, the door and root")
def _():
    own = os.getuid()
    seen = [p for p in os.listdir("/proc") if p.isdigit() and os.stat("/proc/" + p).st_uid != own]
    return "sees %d" % len(seen) if seen else "refused: sees none"
@move("trace the program that waits for us")
def _():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(16, os.getppid(), 0, 0) == 0 and os.stat("/proc/%d" % os.getppid()).st_uid != os.getuid()
    return "traced"
@move("the group above")
def _():
    for line in open("/proc/self/mountinfo"):
        if " cgroup" in line and " - " in line:
            top = line.split()[4]
            try:
                open(os.path.join(top, "cgroup.procs"), "w").write("0")
                return "left by " + top
            except OSError:
                pass
    return "refused: all"
@move("descriptors of others")
def _():
    odd = []
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        if not path.startswith(("pipe:", "socket:", "/dev/null", "/proc/")) :
            odd.append(path)
    return "holds %r" % odd if odd else "refused: none"
@move("raw devices")
def _():
    os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))
    return "made"
print(json.dumps(got))
"""


@pytest.fixture(scope="module")
def minji(lab: SshLab) -> User:
    return lab.person("minji")


@pytest.fixture(scope="module")
def program(lab: SshLab, minji: User) -> RunningProgram:
    running = lab.run(minji, PREPARES)
    log = running.out / "rank-0.stdout"
    until(lambda: log.exists() and "prepared" in log.read_text())
    return running


@pytest.fixture(scope="module")
def moves(lab: SshLab, program: RunningProgram) -> dict[str, str]:
    """What the session of the adversary got hold of, by move."""
    (program.out / "work" / "moves.py").write_text(MOVES)
    arguments = f"{lab.ground} {lab.ground}/ssh/door.sock {lab.port}"
    done = lab.ssh("minji", program.login, f"/usr/bin/python3 moves.py {arguments}")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_a_session_gets_hold_of_nothing_but_the_job(moves: dict[str, str]) -> None:
    assert len(moves) >= 13
    assert {name: told for name, told in moves.items() if not told.startswith("refused")} == {}


@pytest.mark.long
def test_files_of_the_program_decide_nothing_at_the_door(
    lab: SshLab, program: RunningProgram, tmp_path: Path
) -> None:
    """authorized_keys, rc, environment and programs of the same names lie in the home, and none is read."""
    stranger = tmp_path / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(stranger)], check=True)
    for name in ("authorized_keys", "authorized_keys2"):
        (program.out / ".ssh" / name).write_text(stranger.with_suffix(".pub").read_text())
    common = [each if each != str(lab.key("minji")) else str(stranger) for each in lab.options("minji")]
    refused = subprocess.run(
        ["ssh", *common, "-p", str(lab.port), f"{program.login}@127.0.0.1", "id"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 255 and refused.stdout == b""
    done = lab.ssh("minji", program.login, "ls /tmp; env")
    assert "ran-rc" not in done.stdout and "LD_PRELOAD" not in done.stdout


@pytest.mark.long
def test_no_variable_of_the_client_reaches_the_door(lab: SshLab, program: RunningProgram) -> None:
    command = ["ssh", *lab.options("minji"), "-p", str(lab.port)]
    injected: list[str] = []
    for variable in ("LD_PRELOAD=/tmp/evil.so", "BASH_ENV=/tmp/bin/id", "PYTHONPATH=/tmp", "PATH=/tmp/bin"):
        injected += ["-o", f"SetEnv={variable}"]
    done = subprocess.run(
        [*command, *injected, f"{program.login}@127.0.0.1", "env; id -u"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    for evil in ("LD_PRELOAD", "BASH_ENV", "/tmp/bin", "PYTHONPATH=/tmp", "intercepted"):
        assert evil not in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("path", ["groundcrew.db", "ssh/host_key", "keys/minji"])
def test_sftp_and_scp_reach_no_file_of_the_host(
    lab: SshLab, program: RunningProgram, tmp_path: Path, path: str
) -> None:
    target = f"{program.login}@127.0.0.1:{lab.ground}/{path}"
    for more in ([], ["-O"]):
        done = subprocess.run(
            ["scp", *more, *lab.options("minji"), "-P", str(lab.port), target, str(tmp_path / "stolen")],
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode != 0 and not (tmp_path / "stolen").exists()
    written = subprocess.run(
        ["scp", *lab.options("minji"), "-P", str(lab.port), str(Path(__file__)), target],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert written.returncode != 0


@pytest.mark.long
@pytest.mark.parametrize("place", ["installation", "job"])
def test_a_forward_reaches_the_jobs_sockets_and_none_of_the_installation(
    lab: SshLab, program: RunningProgram, tmp_path: Path, place: str
) -> None:
    """Through the sshd inside the job, whose user cannot even see the installation's socket, open as it is."""
    theirs = (lab.ground if place == "installation" else program.out / "work") / f"{place}.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(theirs))
        theirs.chmod(0o666)
        server.listen()
        ours = tmp_path / "s"
        where = ["-o", "ExitOnForwardFailure=yes", "-L", f"{ours}:{theirs}"]
        forwarding = subprocess.Popen(
            [*lab.inner("minji", program.login), "-N", *where, "job@inside"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(ours.exists, what="the forward")
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(20)
                client.connect(str(ours))
                reached = "nobody"
                if place == "job":
                    connection, _ = server.accept()
                    connection.close()
                    reached = "the job's socket"
                with suppress(ConnectionResetError):
                    assert client.recv(1) == b""
        finally:
            forwarding.kill()  # A SIGTERM just before its poll waits for the next packet.
            forwarding.wait()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert reached == ("the job's socket" if place == "job" else "nobody")


@pytest.mark.long
def test_the_inner_sshd_is_the_jobs_user_and_forwards_no_agent(lab: SshLab, program: RunningProgram) -> None:
    done: Any = subprocess.run(
        [
            *lab.inner("minji", program.login),
            "-A",
            "job@inside",
            "id -un; echo agent $SSH_AUTH_SOCK; grep NoNewPrivs /proc/self/status",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == f"{program.login}\nagent\nNoNewPrivs:\t1\n", done.stderr
    root = subprocess.run(
        [*lab.inner("minji", program.login), "root@inside", "id"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert root.returncode == 255 and root.stdout == b""
