"""Ansible as a person calls it, from this machine or on a host itself; what each run has cost is written down."""

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.containers.engine import command_line
from tests.hosts.machines.testbed import Host, Testbed

ROOT = Path(__file__).resolve().parents[4]
CACHE = Path("/var/cache/groundcrew")
RECAP = re.compile(r"^(\S+)\s+: ok=(\d+)\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.M)
COSTS = ROOT / "tests" / "output" / "hosts.txt"
"""What each run of site.yml has cost, a line each, printed when the tests have ended; workers share the file."""


@dataclass(frozen=True)
class Played:
    """One run of ansible-playbook; `changed` and `failed` by host, seconds of wall time."""

    code: int
    output: str
    seconds: float

    @property
    def changed(self) -> dict[str, int]:
        return {host: int(changed) for host, _, changed, _, _ in RECAP.findall(self.output)}

    @property
    def tasks(self) -> int:
        """Tasks times hosts, those that were well and those that changed something."""
        return sum(int(ok) for _, ok, _, _, _ in RECAP.findall(self.output))

    def must_succeed(self) -> "Played":
        assert self.code == 0, self.output[-6000:]
        return self

    @property
    def task_names(self) -> list[str]:
        """In the order in which they were begun, those of handlers left out."""
        return re.findall(r"^TASK \[(.*?)\] \*", self.output, re.M)

    def changed_tasks(self, host: str = "") -> list[str]:
        """Names of the tasks that changed something, on one host or on any."""
        found, name = [], ""
        for line in self.output.splitlines():
            if line.startswith(("TASK [", "RUNNING HANDLER [")):
                name = line.partition("[")[2].partition("]")[0]
            if line.startswith(f"changed: [{host}"):
                found.append(name)
        return found


def note(line: str) -> None:
    COSTS.parent.mkdir(exist_ok=True)
    with COSTS.open("a") as file:
        file.write(f"{line}\n")


def play(
    bed: Testbed, ansible_programs: Path, playbook: str, inventory: Path, *options: str, **variables: str
) -> Played:
    """`variables` are of the environment."""
    command = [str(ansible_programs / "ansible-playbook"), "-i", str(inventory), playbook, *options]
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    path = f"{ansible_programs}:/usr/sbin:/usr/bin:/sbin:/bin"
    # Another testbed may have the same addresses: no connection of an earlier one is taken up.
    own = {"ANSIBLE_SSH_CONTROL_PATH_DIR": str(bed.folder / "cp"), "ANSIBLE_NOCOLOR": "1"}
    played = watched(command, {**kept, "PATH": path, **own, **variables})
    note_cost(f"{bed.name}: {' '.join([playbook, *options])}", played)
    return played


def play_there(host: Host, ansible_programs: Path, *options: str, **variables: str) -> Played:
    """As a person types it on that very host, with inventory/local.yml; it sees our checkout and our Ansible."""
    path = f"{ansible_programs}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    given = {"PATH": path, "ANSIBLE_NOCOLOR": "1", "LANG": "C.UTF-8", "HOME": "/root"} | variables
    words = [word for name, value in given.items() for word in ("-e", f"{name}={value}")]
    there = [command_line(), "exec", "-w", str(ROOT), *words, host.name]
    played = watched([*there, "ansible-playbook", *options, "-e", "training_environment_compiler=false"], {})
    note_cost(f"{host.name}, from itself: {' '.join(options)}", played)
    return played


def watched(command: list[str], environment: dict[str, str]) -> Played:
    started = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Played(done.returncode, done.stdout, time.monotonic() - started)


def note_cost(words: str, played: Played) -> None:
    each = played.seconds / max(1, played.tasks)
    note(
        f"{words}: {played.seconds:.0f} s = {played.tasks} tasks on hosts x {each:.2f} s, "
        f"changed {sum(played.changed.values())}, load of this machine {os.getloadavg()[0]:.1f}"
    )
