"""The build that is begun beside other roles, played by Ansible on this machine with a stand-in for the builder."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.lint import ROOT, environment

pytestmark = pytest.mark.long
BEGIN, GO_ON, WAIT = "begin", "go on", "wait"
PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  roles: [{role: training_environment, training_environment_waits: false, tags: [begin]}]
- hosts: localhost
  gather_facts: false
  tags: [go on]
  tasks:
    - name: See that the run goes on while it is built
      ansible.builtin.shell: test -e calls && test ! -e stands; touch may-end
      args: {chdir: FOLDER}
      changed_when: false
- hosts: localhost
  gather_facts: false
  roles: [{role: training_environment, tags: [wait]}]
"""
UNINSTALL = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Take it off
      ansible.builtin.include_role: {name: training_environment, tasks_from: uninstall}
"""
BUILDER = """#!/bin/sh
cd FOLDER
case "$*" in
  *" path "*) test -e stands && exit 0; exit 3;;
esac
exec 9> lock; flock 9
test -e stands && exit 0
echo "$@" >> calls
if test -e broken; then echo 'NoSpaceForBuild: 9 GB are needed on FOLDER' >&2; exit 1; fi
until test -e may-end; do sleep 0.1; done
touch stands
"""
APPLIANCE = """#!/bin/sh
if test -e FOLDER/known; then echo '{"changed": false}'; else touch FOLDER/known; echo '{"changed": true}'; fi
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    for name, text in (
        ("home/current/bin/python", BUILDER),
        ("bin/groundcrew-appliance", APPLIANCE),
        ("play.yml", PLAYBOOK),
        ("uninstall.yml", UNINSTALL),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("FOLDER", str(tmp_path)))
        path.chmod(0o755)
    return tmp_path


def play(host: Path, *words: str, playbook: str = "play.yml") -> "subprocess.CompletedProcess[str]":
    known = environment()
    programs = Path(known["ANSIBLE_COLLECTIONS_PATH"]).parents[2] / "bin"
    given = {
        "groundcrew_home": host / "home",
        "groundcrew_cache": host,
        "groundcrew_state": host,
        "groundcrew_bundle": "",
        "groundcrew_pip_environment": "{{ {} }}",
        "training_environment_compiler": "false",
        "ansible_become": "false",
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    more = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    told = known | {
        "PATH": f"{host}/bin:{programs}:/usr/bin:/bin",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
        "ANSIBLE_LOCAL_TEMP": str(host / "tmp"),
    }
    return subprocess.run(
        ["ansible-playbook", "-i", "localhost,", "-c", "local", *more, *words, str(host / playbook)],
        cwd=ROOT, env=told, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def calls(host: Path) -> int:
    return len((host / "calls").read_text().splitlines()) if (host / "calls").exists() else 0


def test_the_run_goes_on_while_it_is_built_and_a_second_run_changes_nothing(host: Path) -> None:
    first = play(host)
    assert first.returncode == 0, first.stdout[-3000:]
    assert (host / "stands").exists() and calls(host) == 1
    assert first.stdout.count("TASK [training_environment : Look whether it stands]") == 1
    second = play(host)
    assert second.returncode == 0 and "changed=0" in second.stdout, second.stdout[-3000:]
    assert calls(host) == 1


def test_a_build_that_fails_ends_the_run_with_its_reason(host: Path) -> None:
    (host / "broken").touch()
    played = play(host)
    assert played.returncode == 2
    words = " ".join(played.stdout.split())
    assert "localhost: training_environment : Build it" in words
    assert f"NoSpaceForBuild: 9 GB are needed on {host}" in words.partition("has not ended well")[2]
    (host / "broken").unlink()
    assert play(host).returncode == 0 and (host / "stands").exists()


def test_a_run_that_was_cut_short_leaves_a_build_that_the_next_one_waits_for(host: Path) -> None:
    assert play(host, "--tags", BEGIN).returncode == 0
    assert not (host / "known").exists() and not (host / "stands").exists()
    assert play(host).returncode == 0
    assert (host / "stands").exists() and (host / "known").exists() and calls(host) == 1


def test_without_the_beginning_it_is_built_as_well(host: Path) -> None:
    (host / "may-end").touch()
    played = play(host, "--tags", WAIT)
    assert played.returncode == 0, played.stdout[-3000:]
    assert (host / "stands").exists() and calls(host) == 1


def test_a_look_ahead_begins_nothing(host: Path) -> None:
    assert play(host, "--check", "-e", '{"release_before": {"stat": {"exists": true}}}').returncode == 0
    assert calls(host) == 0 and not (host / "lock").exists()


def test_an_uninstall_ends_a_build_that_is_at_work(host: Path) -> None:
    (host / "training-0123").mkdir()
    marked = os.environ | {"GROUNDCREW_BUILD": f"{host}/.training.lock:1:2"}
    with subprocess.Popen(["sleep", "300"], env=marked) as build:
        played = play(host, playbook="uninstall.yml")
        code = build.poll()
        build.kill()
    assert played.returncode == 0, played.stdout[-3000:]
    assert code == -9 and not (host / "training-0123").exists()
    assert "changed=0" in play(host, playbook="uninstall.yml").stdout
