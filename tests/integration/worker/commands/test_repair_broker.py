"""A repair by real Ansible behind the door of servers, as systemd would start it: who asks is another user."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.worker.executors.conftest import until
from tests.unit.worker.commands.test_repair_broker import install
from worker.adapters.playbooks import CLONE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="two users are needed, and root to be either"),
]
HOLDER, ASKER = 45_001, 2
"""With the keys, and who asks: bin, whom every Debian knows by name."""
WORDS = """title: {en: Say who, ko: 누구}
text: {en: Says who, ko: 누구}
group: mend
installations: [servers]
jobs: go_on
timeout: 60
undo: {en: nothing, ko: 없음}
checks: [{kind: redis_answers}]
korean: {Say who: 누구, Take long: 오래}
"""
PLAYBOOK = """---
- name: Who
  hosts: targets
  gather_facts: false
  tasks:
    - name: Say who
      ansible.builtin.command: id -u
      changed_when: false
    - name: Take long
      ansible.builtin.command: sleep 0
      changed_when: false
"""
INVENTORY = """all:
  children:
    master: {hosts: {gpu01: {ansible_connection: local, ansible_python_interpreter: /usr/bin/python3}}}
    nodes: {hosts: {}}
"""
ASK = """
import json, sys
from pathlib import Path
from cluster.domain.errors import GroundcrewError
from worker.adapters import playbooks
from worker.repairs.broker_protocol import ask_broker
try:
    ask_broker(Path(sys.argv[1]), json.loads(sys.argv[2]))
    said = {"done": True}
except GroundcrewError as error:
    said = {"code": error.code}
folder = Path(sys.argv[3])
end = playbooks.read_playbook_end(folder) if folder.exists() else None
print(json.dumps(said | {
    "end": [end.rc, end.status] if end else None,
    "events": [event["event"] for event in playbooks.EventReader(folder).read_new_events()],
    "log": playbooks.log_file(folder).read_text() if playbooks.log_file(folder).exists() else "",
}))
"""


@dataclass
class Door:
    """The socket of systemd: each connection begins a process as the user with the keys."""

    root: Path
    python: Path
    begun: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                self.begun.append(self.begin(connection))

    def begin(self, connection: socket.socket) -> "subprocess.Popen[bytes]":
        root = self.root
        places = [root / "ansible", root / "runs", root / "locks", self.python]
        return subprocess.Popen(
            [sys.executable, "-B", "-m", "worker", "repair-door", *map(str, places), "bin"],
            stdin=connection,
            cwd=CLONE,
            env={
                "CREDENTIALS_DIRECTORY": str(root / "keys"),
                "HOME": str(root / "home"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            user=HOLDER,
            group=HOLDER,
            extra_groups=[],
            umask=0o027,
        )

    def ask(self, words: dict[str, Any]) -> dict[str, Any]:
        """By the other user; with what it sees of the run."""
        folder = self.root / "runs" / str(words["number"])
        command = [sys.executable, "-B", "-c", ASK, str(self.root / "door"), json.dumps(words), str(folder)]
        done = subprocess.run(
            command, cwd=CLONE, user=ASKER, group=ASKER, extra_groups=[], stdout=subprocess.PIPE, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def may(self, *command: str) -> bool:
        """Whether the one who asks can do that."""
        done = subprocess.run(
            command, user=ASKER, group=ASKER, extra_groups=[], stderr=subprocess.DEVNULL, check=False
        )
        return done.returncode == 0


@pytest.fixture
def door() -> Iterator[Door]:
    root = Path(tempfile.mkdtemp(prefix="gc-door-"))
    root.chmod(0o755)
    for name in ("repairs", "playbooks/repair"):
        (root / "ansible" / name).mkdir(parents=True)
    (root / "ansible" / "repairs" / "say-who.yml").write_text(WORDS)
    (root / "ansible" / "playbooks" / "repair" / "say-who.yml").write_text(PLAYBOOK)
    shutil.copy(CLONE / "ansible" / "repairs.cfg", root / "ansible")
    install(root / "ansible")
    for name, mode in (("runs", 0o2750), ("locks", 0o2750), ("keys", 0o700), ("home", 0o700)):
        (root / name).mkdir()
        os.chown(root / name, HOLDER, ASKER if mode & 0o2000 else HOLDER)
        (root / name).chmod(mode)
    (root / "keys" / "inventory.yml").write_text(INVENTORY)
    python = Path(
        subprocess.run(
            ["/usr/bin/python3", "-B", "-m", "worker.bootstrap", "ansible", "--path"],
            cwd=CLONE,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[-1]
    )
    door = Door(root, python / "python")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "door"))
        os.chown(root / "door", ASKER, ASKER)
        (root / "door").chmod(0o600)
        listener.listen()
        thread = threading.Thread(target=door.serve, args=(listener,))
        thread.start()
        yield door
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for process in door.begun:
        process.kill()
        process.wait()
    shutil.rmtree(root)


WANTED = {
    "do": "run",
    "number": "7",
    "repair": "say-who",
    "hosts": ["gpu01"],
    "locks": ["master"],
    "dry_run": False,
    "probe_port": None,
}


def test_who_asks_reads_what_the_holder_of_the_keys_did_and_can_change_none_of_it(door: Door) -> None:
    assert door.ask(WANTED)["done"]
    seen: dict[str, Any] = {}
    until(lambda: bool(seen.update(door.ask(WANTED)) or seen["end"]), 60, "the end of the run")
    assert seen["end"] == [0, "successful"]
    assert seen["events"].count("runner_on_ok") == 2 and "TASK [Say who]" in seen["log"]
    folder = door.root / "runs" / "7"
    assert str(HOLDER) in json.dumps(
        [path.read_text() for path in folder.glob("artifacts/run/job_events/*.json")]
    )
    assert not door.may("touch", str(folder / "cancel"))
    assert not door.may("touch", str(folder / "env"))
    assert not door.may("rm", "-r", str(folder))
    assert not door.may("mkdir", str(door.root / "runs" / "8"))
    assert not door.may("ls", str(door.root / "keys"))
    assert door.ask({"do": "forget", "number": "7"})["done"] and not folder.exists()


def test_a_run_under_way_is_seen_by_its_lock_cancelled_and_never_forgotten(door: Door) -> None:
    playbook = door.root / "ansible" / "playbooks" / "repair" / "say-who.yml"
    playbook.write_text(PLAYBOOK.replace("sleep 0", "sleep 600"))
    install(door.root / "ansible")
    assert door.ask(WANTED)["done"]
    until(lambda: "runner_on_ok" in door.ask(WANTED)["events"], 60, "the first task")
    holder = door.begun[0].pid
    assert not door.may("cat", f"/proc/{holder}/environ") and not door.may("ls", f"/proc/{holder}/root/")
    assert door.ask(WANTED)["end"] is None
    assert door.ask({"do": "forget", "number": "7"})["code"] == "repair.refused_run"
    assert door.ask({"do": "cancel", "number": "7"})["done"]
    until(lambda: door.ask(WANTED)["end"] == [254, "canceled"], 60, "the end of the run")


def test_what_is_ended_by_force_is_seen_to_have_vanished(door: Door) -> None:
    playbook = door.root / "ansible" / "playbooks" / "repair" / "say-who.yml"
    playbook.write_text(PLAYBOOK.replace("sleep 0", "sleep 600"))
    install(door.root / "ansible")
    assert door.ask(WANTED)["done"]
    until(lambda: "runner_on_ok" in door.ask(WANTED)["events"], 60, "the first task")
    assert door.ask({"do": "end", "number": "7"})["done"]
    until(lambda: door.ask(WANTED)["end"] == [None, "vanished"], 60, "the end of the run")
