"""On an installed host a person enters the own job, which is a unit of systemd, copies files out, and ends with it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.appliance.installer.ansible_runs import ROOT, Played, play_there
from tests.hosts.machines.testbed import Host

pytestmark = pytest.mark.long

TREE = "/var/tmp/ssh-door"
BRING = f"""set -e; rm -rf {TREE}; mkdir -p {TREE}/tests; cd {ROOT}/tests
cp __init__.py builders.py {TREE}/tests; cp hosts/appliance/installer/ssh_job.py {TREE}/tests"""
PLAY = f"""set -a; . /etc/groundcrew/groundcrew.env; . /etc/groundcrew/scheduler.env; cd {TREE}; PYTHONPATH={TREE}
/opt/groundcrew/current/bin/python -B -m tests.ssh_job"""
PSQL = "runuser -u groundcrew -- psql -At groundcrew -c"
FACT = f"{PSQL} \"select value from installation_facts where name = 'ssh_door'\""
LISTENS = "ss -Hltn 'sport = :2222' | grep -q :2222"


@pytest.fixture(scope="module")
def host(own_host: Host, self_installed: Played) -> Host:
    own_host.wait_until(f"{FACT} | grep -q '\"is_open\": true'")
    return own_host


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    return file


@pytest.fixture(scope="module")
def job(host: Host, key: Path) -> Iterator[str]:
    """The number of a job that runs, unless a test has stopped it."""
    host.ask(BRING)
    host.ask(f"echo '{key.with_suffix('.pub').read_text().strip()}' > {TREE}/key.pub")
    number = host.ask(f"{PLAY} submit {TREE}/key.pub").splitlines()[-1]
    host.wait_until(f"systemctl is-active gc-{number}-1.service", 600)
    yield number
    host.run(f"{PLAY} stop {number}")


@pytest.fixture(scope="module")
def ssh(host: Host, key: Path) -> list[str]:
    """With the key that the door has written down as its own."""
    door = json.loads(host.ask(FACT))
    known = key.with_name("known_hosts")
    known.write_text(f"[{host.address}]:2222 {door['host_key']}\n")
    options = {"UserKnownHostsFile": str(known), "StrictHostKeyChecking": "yes", "BatchMode": "yes"}
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return ["ssh", "-F", "none", "-i", str(key), *words, "-p", "2222"]


def test_a_session_is_in_the_unit_of_the_job(host: Host, job: str, ssh: list[str]) -> None:
    secrets = "cat /etc/groundcrew/*.env /etc/groundcrew/*/* 2>/dev/null | grep -c GROUNDCREW"
    script = (
        f"id -u; id -un; cat /proc/self/cgroup; grep -E 'CapEff|NoNewPrivs' /proc/self/status; {secrets}; "
    )
    script += "echo $(ls /var/lib/groundcrew)"
    done = subprocess.run(
        [*ssh, f"job-{job}@{host.address}", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = done.stdout
    assert int(said.split()[0]) > 100_000, (said, done.stderr, host.ask("journalctl -u groundcrew-ssh -n 50"))
    assert said.splitlines()[1] == f"job-{job}" and f"gc-{job}-1.service" in said
    assert "CapEff:\t0000000000000000" in said and "NoNewPrivs:\t1" in said
    assert said.splitlines()[-2:] == ["0", "runtime storage"], said


def test_files_are_copied_out_and_the_end_of_the_job_ends_the_session(
    host: Host, job: str, ssh: list[str], tmp_path: Path
) -> None:
    target = f"job-{job}@{host.address}"
    subprocess.run(
        ["rsync", "-a", "-e", " ".join(ssh), f"{target}:kept.txt", f"{tmp_path}/"], check=True, timeout=60
    )
    assert (tmp_path / "kept.txt").read_text() == "of the job"
    session = subprocess.Popen(
        [*ssh, target, "echo ready; sleep 1000"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert session.stdout is not None and session.stdout.readline() == "ready\n"
    host.ask(f"{PLAY} stop {job}")
    assert session.wait(60) != 0
    session.communicate()
    host.wait_until(f"! systemctl is-active gc-{job}-1.service")
    written = host.ask(f"{PSQL} \"select action from audit_entries where action like 'ssh.%'\"")
    assert written.split().count("ssh.entered") == written.split().count("ssh.left") >= 3


def test_its_role_of_the_database_reads_no_session(host: Host) -> None:
    refused = host.run("psql -U groundcrew_ssh -At groundcrew -c 'select * from sign_in_sessions'")
    assert refused.returncode != 0 and "permission denied" in refused.stdout


def test_a_door_that_nobody_wants_is_gone_and_comes_back(host: Host, ansible_programs: Path) -> None:
    parts = ("site.yml", "--tags", "portal,ssh_door")
    play_there(host, ansible_programs, *parts, "-e", "groundcrew_ssh_port=0").must_succeed()
    assert host.run(LISTENS).returncode != 0
    assert host.run("systemctl cat groundcrew-ssh.service").returncode != 0
    play_there(host, ansible_programs, *parts).must_succeed()
    host.wait_until(LISTENS)
    host.wait_until(f"{FACT} | grep -q '\"is_open\": true'")
