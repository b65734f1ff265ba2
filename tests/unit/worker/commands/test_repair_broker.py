"""Behind the door of repairs: whoever may ask gets a repair of the catalogue on hosts of the inventory, or no run."""

import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.conftest import ANSIBLE
from worker.commands.repair_broker import REPAIR_COMMAND, BrokerPaths, read_repair_files, serve_connection
from worker.repairs.broker_protocol import BrokerRequest, read_json_line, write_json_line

OWN = os.getuid()
INVENTORY = """all:
  vars: {ansible_user: groundcrew-repair}
  children:
    master: {hosts: {gpu01: }}
    nodes: {hosts: {gpu01: {ansible_host: 10.0.0.1}, gpu02: {ansible_host: 10.0.0.2}}}
"""
GOOD = {
    "do": "run",
    "number": "7",
    "repair": "restart-front",
    "hosts": ["gpu01"],
    "locks": ["master"],
    "dry_run": False,
    "probe_port": None,
}
LOOK = {"locks": [], "probe_port": 443}
FAKE = """#!/bin/sh
env > "$4/environment"; printf '%s\\n' "$@" > "$4/words"; echo '{"done": true}' >&"$GROUNDCREW_REPAIR_REPLY"
"""


@pytest.fixture
def place(tmp_path: Path) -> BrokerPaths:
    tree, keys = tmp_path / "ansible", tmp_path / "keys"
    for part in ("repairs", "playbooks"):
        shutil.copytree(ANSIBLE / part, tree / part)
    shutil.copy(ANSIBLE / "repairs.cfg", tree)
    install(tree)
    for folder in (keys, tmp_path / "runs", tmp_path / "locks"):
        folder.mkdir()
    (keys / "inventory.yml").write_text(INVENTORY)
    python = tmp_path / "python"
    python.write_text(FAKE)
    python.chmod(0o755)
    asker = pwd.getpwuid(OWN).pw_name
    return BrokerPaths(tree, tmp_path / "runs", tmp_path / "locks", python, asker, keys, owner=OWN)


def install(tree: Path) -> None:
    """As the role does: a manifest of all files, and nobody else may write."""
    files = sorted(path for path in tree.rglob("*") if path.is_file() and path.name != "MANIFEST")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files]
    (tree / "MANIFEST").write_text("".join(lines))
    for path in (tree, *tree.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def say(place: BrokerPaths, words: Any) -> dict[str, Any]:
    """What the door says to it, and that it has left nothing where runs are."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        if isinstance(words, bytes):
            ours.sendall(words + b"\n")
        else:
            write_json_line(ours, words)
        assert serve_connection(place, theirs) == 1
        said = read_json_line(ours)
    assert not list(place.runs.iterdir())
    return said


@pytest.mark.parametrize(
    ("changed", "code", "data"),
    [
        ({"repair": "../look"}, "repair.refused_name", {"name": "../look"}),
        ({"repair": "/tmp/evil.yml"}, "repair.refused_name", {"name": "/tmp/evil.yml"}),
        ({"repair": "restart-portal"}, "repair.refused_name", {"name": "restart-portal"}),
        ({"repair": ["restart-front"]}, "repair.refused_name", {"name": "['restart-front']"}),
        ({"hosts": ["gpu03"]}, "repair.refused_hosts", {"names": ["gpu03"]}),
        ({"hosts": ["localhost"]}, "repair.refused_hosts", {"names": ["localhost"]}),
        (
            {"hosts": ["{{ lookup('pipe', 'id') }}"]},
            "repair.refused_hosts",
            {"names": ["{{ lookup('pipe', 'id') }}"]},
        ),
        ({"hosts": ["gpu02"]}, "repair.refused_hosts", {"names": ["gpu02"]}),
        ({"hosts": []}, "repair.refused_hosts", {"names": ["-"]}),
        ({"hosts": "gpu01"}, "repair.refused_hosts", {"names": ["-"]}),
        ({"hosts": ["gpu01", "gpu01"]}, "repair.refused_hosts", {"names": ["-"]}),
        ({"number": "../7"}, "repair.refused_run", {"number": "../7"}),
        ({"number": 7}, "repair.refused_run", {"number": "7"}),
        ({"number": "records"}, "repair.refused_run", {"number": "records"}),
        ({"locks": ["../../etc/x"]}, "repair.refused_request", {"what": "locks ['../../etc/x']"}),
        ({"locks": []}, "repair.refused_request", {"what": "locks []"}),
        ({"probe_port": "443; id"}, "repair.refused_request", {"what": "probe_port 443; id"}),
        ({"probe_port": 443}, "repair.refused_request", {"what": "locks ['master']"}),
        ({"dry_run": "true"}, "repair.refused_request", {"what": "dry_run true"}),
        ({"dry_run": 1}, "repair.refused_request", {"what": "dry_run 1"}),
        ({"repair": "reboot-node", "dry_run": True}, "repair.no_look_ahead", {}),
        ({"environment": {"LD_PRELOAD": "x"}}, "repair.refused_request", {"what": "environment"}),
        ({"cmdline": "-e x"}, "repair.refused_request", {"what": "cmdline"}),
        ({"playbook": "/tmp/x"}, "repair.refused_request", {"what": "playbook"}),
        ({"do": "eval"}, "repair.refused_request", {"what": "do eval"}),
        ({"do": ["run"]}, "repair.refused_request", {"what": "do ['run']"}),
        ({"do": "cancel"}, "repair.refused_run", {"number": "7"}),
        ({"do": "forget", "number": "../../etc"}, "repair.refused_run", {"number": "../../etc"}),
    ],
)
def test_what_is_not_known_is_refused_and_written_down(
    place: BrokerPaths, changed: dict[str, Any], code: str, data: dict[str, Any]
) -> None:
    with capture_logs() as logs:
        said = say(place, GOOD | changed)
    assert said == {"code": code, "data": data}
    assert [(entry["event"], entry["code"], entry["log_level"]) for entry in logs] == [
        ("refused", code, "warning")
    ]


@pytest.mark.parametrize("words", [b"7", b"[]", b"{", b"[" * 60_000, b"\xff", b""])
def test_what_is_no_request_is_refused(place: BrokerPaths, words: bytes) -> None:
    assert say(place, words)["code"] == "repair.refused_request"


def test_another_user_is_refused_before_anything_is_read(
    place: BrokerPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.commands.repair_broker.ROOT_UID", -1)
    stranger = next(each for each in pwd.getpwall() if each.pw_uid != OWN)
    other = BrokerPaths(**{**vars(place), "client_user": stranger.pw_name})
    assert say(other, GOOD) == {"code": "repair.refused_asker", "data": {"user": OWN}}


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: (tree / "playbooks/repair/restart-front.yml").write_text("- hosts: all\n"),
        lambda tree: (tree / "repairs/mine.yml").write_text("{}"),
        lambda tree: (tree / "repairs.cfg").chmod(0o666),
    ],
    ids=["a playbook changed", "a repair added", "a file that others may write"],
)
def test_a_tree_that_is_not_as_it_was_installed_runs_nothing(
    place: BrokerPaths, change: Callable[[Path], object]
) -> None:
    change(place.playbooks)
    assert say(place, GOOD)["code"] == "repair.tree_changed"


def test_a_tree_that_is_not_roots_runs_nothing(place: BrokerPaths) -> None:
    assert say(BrokerPaths(**{**vars(place), "owner": OWN + 1}), GOOD)["code"] == "repair.tree_changed"


PROGRAM = """
import json, socket, sys
from pathlib import Path
from worker.commands.repair_broker import BrokerPaths, serve_connection
told = json.loads(sys.argv[1])
paths = {name: Path(value) for name, value in told.items() if name not in ("client_user", "owner")}
raise SystemExit(serve_connection(BrokerPaths(**told | paths), socket.socket(fileno=0)))
"""


def run(place: BrokerPaths, words: dict[str, Any], waits: bool = True) -> tuple[dict[str, Any], Path]:
    """The door's answer to what is well, and the folder of the run; nobody hears it who does not wait."""
    told = {name: value if isinstance(value, int) else str(value) for name, value in vars(place).items()}
    ours, theirs = socket.socketpair()
    with ours, theirs:
        write_json_line(ours, words)
        # What the one who asked has in its environment reaches nobody; what systemd gives the unit does.
        environment = {
            "HOME": "/var/lib/x",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ANSIBLE_LIBRARY": "/tmp/evil",
        }
        command = [sys.executable, "-c", PROGRAM, json.dumps(told)]
        if not waits:
            ours.close()
        subprocess.run(command, stdin=theirs, env=environment, check=waits, timeout=60)
        theirs.close()
        return (read_json_line(ours) if waits else {}), place.runs / words["number"]


def test_a_repair_of_the_catalogue_runs_as_it_was_installed(place: BrokerPaths) -> None:
    said, folder = run(place, GOOD)
    assert said == {"done": True}
    request = json.loads((folder / "request.json").read_text())
    environment = request.pop("environment")
    assert request == {
        "playbook": str(place.playbooks / "playbooks/repair/restart-front.yml"),
        "timeout": 300,
        "check": False,
        "locks": [str(place.locks / "repair-master.lock")],
    }
    assert set(environment) == {
        *("HOME", "PATH", "LC_ALL", "CREDENTIALS_DIRECTORY", "GROUNDCREW_REPAIR"),
        *("ANSIBLE_CONFIG", "ANSIBLE_NOCOLOR", "ANSIBLE_LOCAL_TEMP"),
        *("ANSIBLE_PRIVATE_KEY_FILE", "ANSIBLE_SSH_COMMON_ARGS"),
    }
    assert "evil" not in (folder / "environment").read_text()
    assert environment["ANSIBLE_CONFIG"] == str(place.playbooks / "repairs.cfg")
    assert (folder / "words").read_text().split()[:2] == ["-I", "-B"]
    inventory = (folder / "inventory" / "hosts.yml").read_text()
    assert '"gpu01":' in inventory and "ansible_connection" not in inventory
    assert f'repair_command: !unsafe "{REPAIR_COMMAND}"' in inventory


def test_a_look_asks_what_the_catalogue_says_and_nothing_else(place: BrokerPaths) -> None:
    _, folder = run(place, GOOD | LOOK)
    request = json.loads((folder / "request.json").read_text())
    assert request["playbook"] == str(place.playbooks / "playbooks/look.yml")
    inventory = (folder / "inventory" / "hosts.yml").read_text()
    assert "/run/groundcrew/stream.sock" in inventory and "nginx.service" in inventory
    assert "repair_folder" not in inventory


def test_nothing_begins_for_somebody_who_has_given_up_waiting(place: BrokerPaths) -> None:
    """Its operation counts as one that never ran: a run would be watched by nobody."""
    run(place, GOOD, waits=False)
    assert not list(place.runs.iterdir())


def test_a_run_that_has_begun_is_not_begun_again(place: BrokerPaths) -> None:
    _, folder = run(place, GOOD)
    (folder / "words").unlink()
    said, _ = run(place, GOOD)
    assert said == {"done": True} and not (folder / "words").exists()


def test_a_run_is_cancelled_and_forgotten_by_its_number(place: BrokerPaths) -> None:
    _, folder = run(place, GOOD)
    assert run(place, {"do": "cancel", "number": "7"})[0] == {"done": True}
    assert (folder / "cancel").exists()
    assert run(place, {"do": "forget", "number": "7"})[0] == {"done": True}
    assert not folder.exists()


def test_the_journal_says_what_ran_also_when_its_folder_was_forgotten(
    place: BrokerPaths, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whoever asks at the door could ask for both."""
    run(place, GOOD)
    run(place, {"do": "forget", "number": "7"})
    said = capfd.readouterr().out
    assert "begun" in said and "restart-front.yml" in said and "gpu01" in said and "forgotten" in said


def test_what_a_task_worker_asks_for_is_what_the_door_takes(place: BrokerPaths) -> None:
    repair = read_repair_files(place.playbooks)["restart-front"]
    assert {"do": "run", **BrokerRequest("7", repair, ("gpu01",), ("master",)).to_data()} == GOOD


def test_a_file_that_cannot_be_read_is_left_out_of_what_is_known(place: BrokerPaths) -> None:
    whole = read_repair_files(place.playbooks)
    (place.playbooks / "repairs" / "broken.yml").write_text("title: [")
    (place.playbooks / "repairs" / "lonely.yml").write_text("{}")
    (place.playbooks / "playbooks" / "repair" / "lonely.yml").write_text("- {name: x, tasks: []}")
    assert read_repair_files(place.playbooks) == whole
