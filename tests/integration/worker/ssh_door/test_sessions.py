"""Debian's ssh, scp, sftp and rsync work in a running job, as the job's user and with the job's view of the machine."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from cluster.services.people import ssh_keys
from cluster.store.users import User
from tests.audit_entries import entries
from tests.builders import actor_of
from tests.integration.worker.ssh_door.conftest import RunningProgram, SshLab, until


@pytest.fixture(scope="module")
def minji(lab: SshLab) -> User:
    return lab.person("minji")


@pytest.fixture(scope="module")
def program(lab: SshLab, minji: User) -> RunningProgram:
    return lab.run(minji)


def test_a_command_runs_as_the_job_and_nowhere_else(lab: SshLab, program: RunningProgram) -> None:
    script = (
        "id -u; id -un; pwd; cat /proc/self/cgroup; grep -E 'NoNewPrivs|CapEff|CapBnd|Groups' /proc/self/status; "
        f"ls {lab.ground}; echo $MARK; ls -l /proc/self/fd | wc -l"
    )
    done = lab.ssh("minji", program.login, script)
    assert done.returncode == 0, (done.stderr, lab.log())
    said = done.stdout
    ids = lab.cluster.settings.job_ids
    assert said.splitlines()[:3] == [
        str(ids.uid_of(program.job.user_id)),
        program.login,
        str(program.out / "work"),
    ]
    group = json.loads((program.plan.folder / "control" / "group.json").read_text())["name"]
    assert group in said
    assert "NoNewPrivs:\t1" in said and "CapEff:\t0000000000000000" in said
    assert "groundcrew.db" not in said and "keys" not in said, "the installation's files are hidden"
    assert 'it\'s "here"' in said, "it has the program's variables"


def test_the_exit_code_and_the_errors_are_the_commands(lab: SshLab, program: RunningProgram) -> None:
    done = lab.ssh("minji", program.login, "echo oops >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "oops\n")
    assert lab.ssh("minji", program.login, "kill -9 $$").returncode == 128 + 9


def test_a_terminal_is_the_sessions(lab: SshLab, program: RunningProgram) -> None:
    done = lab.ssh(
        "minji", program.login, "test -t 0 && stty size && echo 'in a terminal' > /dev/tty", tty=True
    )
    assert done.returncode == 0 and "in a terminal" in done.stdout
    typed = "echo $((6 * 7)); tty; ps -o tty= -p $$; exit\n"
    shell = lab.ssh("minji", program.login, tty=True, stdin=None, input=typed)
    assert "42" in shell.stdout, shell.stdout
    assert f"{program.login}@" in shell.stdout, "the prompt says where"


def test_files_are_copied_in_and_out(lab: SshLab, program: RunningProgram, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a line\n" * 10_000)
    target = f"{program.login}@127.0.0.1"
    common = lab.options("minji")
    port = str(lab.port)
    subprocess.run(["scp", *common, "-P", port, str(tmp_path / "in.txt"), f"{target}:in.txt"], check=True)
    subprocess.run(
        ["scp", "-O", *common, "-P", port, f"{target}:in.txt", str(tmp_path / "out.txt")], check=True
    )
    assert (tmp_path / "out.txt").read_text() == (tmp_path / "in.txt").read_text()
    copied = program.out / "work" / "in.txt"
    assert copied.stat().st_uid == lab.cluster.settings.job_ids.uid_of(program.job.user_id)
    shell = " ".join(["ssh", *common, "-p", port])
    tree = tmp_path / "tree"
    (tree / "below").mkdir(parents=True)
    (tree / "below" / "file").write_text("content")
    subprocess.run(["rsync", "-a", "-e", shell, f"{tree}/", f"{target}:tree/"], check=True)
    subprocess.run(["rsync", "-a", "-e", shell, f"{target}:tree/", f"{tmp_path}/back/"], check=True)
    assert (tmp_path / "back" / "below" / "file").read_text() == "content"


def test_nothing_is_forwarded_at_the_door_itself(lab: SshLab, program: RunningProgram) -> None:
    done = lab.ssh("minji", program.login, "-W", f"127.0.0.1:{lab.port}")
    assert done.returncode != 0
    command = ["ssh", *lab.options("minji"), "-p", str(lab.port), "-W", f"127.0.0.1:{program.port()}"]
    refused = subprocess.run(
        [*command, f"{program.login}@127.0.0.1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode != 0 and "hello" not in refused.stdout


def test_a_port_is_forwarded_inside_the_job(lab: SshLab, program: RunningProgram) -> None:
    """As editors do: through an sshd inside the job, which is reached by a ProxyCommand."""
    inner, target = lab.inner("minji", program.login), f"{program.login}@inside"
    forwarded = subprocess.run(
        [*inner, "-W", f"127.0.0.1:{program.port()}", target],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert forwarded.stdout == "hello from the job\n", (forwarded.stderr, lab.log())
    command = subprocess.run(
        [*inner, target, "id -u; echo $MARK; echo $HOME"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    uid = lab.cluster.settings.job_ids.uid_of(program.job.user_id)
    assert command.stdout == f'{uid}\nit\'s "here"\n{program.out}\n', (command.stderr, lab.log())


def test_sessions_are_in_the_access_log(lab: SshLab, program: RunningProgram) -> None:
    assert lab.ssh("minji", program.login, "true").returncode == 0
    found = until(lambda: [e for e in entries(lab.cluster) if e.action.startswith("ssh.")][-2:])
    until(lambda: entries(lab.cluster)[-1].action == "ssh.left")
    entered, left = [e for e in entries(lab.cluster) if e.action.startswith("ssh.")][-2:]
    assert found and (entered.action, left.action) == ("ssh.entered", "ssh.left")
    assert (entered.actor_name, entered.address, entered.object_id) == ("minji", "127.0.0.1", program.job.id)
    assert entered.data["key"] == "minji" and entered.data["fingerprint"].startswith("SHA256:")
    assert left.data["cause"] == "left"


def test_the_end_of_the_job_ends_the_session(lab: SshLab, minji: User) -> None:
    program = lab.run(minji)
    session = lab.begin("minji", program.login, "trap '' TERM HUP; echo ready; while true; do sleep 1; done")
    assert session.stdout is not None and session.stdout.readline() == "ready\n"
    before = time.monotonic()
    lab.executor.stop(program.handle)
    assert session.wait(20) != 0
    assert time.monotonic() - before < 15
    until(lambda: lab.executor.read_exit_record(program.plan.folder) is not None, what="the exit record")
    truth = lab.executor.read_exit_record(program.plan.folder)
    assert truth is not None and truth.left_behind == 0, "a session is not something that the program left"
    session.communicate()


def test_a_removed_key_ends_its_sessions(lab: SshLab, minji: User, program: RunningProgram) -> None:
    key = lab.add_key(minji, "laptop")
    session = lab.begin("laptop", program.login, "(sleep 1000 & echo $!); sleep 1000")
    assert session.stdout is not None
    pid = int(session.stdout.readline())
    ssh_keys.remove_ssh_key(lab.cluster, actor_of(minji), key)
    session.wait(20)
    assert session.stderr is not None and "has ended" in session.stderr.read()
    until(lambda: not Path(f"/proc/{pid}").exists(), what="the end of what the session had started")
    assert lab.ssh("laptop", program.login, "true").returncode == 255
    assert entries(lab.cluster)[-1].data["cause"] == "ssh.revoked"
    session.communicate()
