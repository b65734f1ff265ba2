"""The whole way of a newcomer on a bare machine. The tests of this file follow each other."""

import json
import re
import shutil
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.free_ports import free_port
from tests.hosts.bare_machine import BareMachine
from tests.hosts.conftest import NewMachine

Write = Callable[[str, float, float], None]
CACHE = "var/cache/groundcrew"


class PortalWatch(threading.Thread):
    """Notes when the portal first answers; the bare machine shares the network of this one."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.began = time.monotonic()
        self.answered_after: float | None = None
        self.start()

    def run(self) -> None:
        while self.answered_after is None and time.monotonic() - self.began < 900:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                    if json.load(answer)["status"] == "ok":
                        self.answered_after = time.monotonic() - self.began
            except (OSError, ValueError, KeyError):
                time.sleep(0.5)


def accuracy_in(output: str) -> float:
    found = re.search(
        r"Finished: validation accuracy ([\d.]+) % in [\d a-z]+, [\d,]+ images/s\. http", output
    )
    assert found, output[-3000:]
    return float(found.group(1)) / 100


def first_up(machine: BareMachine, port: int) -> tuple[str, float, float]:
    """What it printed, when the portal answered, how long it took in all; seconds."""
    watch = PortalWatch(port)
    done = machine.run(f"cd /root/groundcrew && make up PORT={port}")
    seconds = time.monotonic() - watch.began
    assert done.returncode == 0, done.stdout[-4000:]
    assert watch.answered_after is not None
    return done.stdout, watch.answered_after, seconds


def starts_at_boot(machine: BareMachine, service: str) -> list[str]:
    """The links by which systemd or the older init would start it."""
    etc = machine.root / "etc"
    links = [*etc.glob(f"rc[2-5].d/S??{service}"), *etc.glob(f"systemd/system/*.wants/{service}.service")]
    return [str(link.relative_to(etc)) for link in links]


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def machine(new_machine: NewMachine) -> BareMachine:
    return new_machine()


def test_the_first_training_finishes(machine: BareMachine, port: int, write_down: Write) -> None:
    output, answered, seconds = first_up(machine, port)
    assert accuracy_in(output) >= 0.95
    assert "One-time secret:" in output
    assert "The workspace first-training has ended" in output
    assert starts_at_boot(machine, "redis-server") == []
    write_down("first make up, with a compile: whole", seconds, 900)


def test_the_second_time_takes_seconds_and_does_not_train(
    machine: BareMachine, port: int, write_down: Write
) -> None:
    began = time.monotonic()
    done = machine.run("cd /root/groundcrew && make up")
    assert done.returncode == 0, done.stdout
    assert "Finished:" not in done.stdout and str(port) in done.stdout
    write_down("second make up", time.monotonic() - began, 15)


def test_make_down_leaves_no_process(machine: BareMachine) -> None:
    done = machine.run("cd /root/groundcrew && make down")
    assert done.returncode == 0, done.stdout
    assert machine.processes() == []


def test_with_cached_wheels_a_new_machine_flies_in_three_minutes(
    machine: BareMachine, new_machine: NewMachine, write_down: Write
) -> None:
    fresh = new_machine()
    (fresh.root / CACHE).mkdir(parents=True)
    for wheels in (machine.root / CACHE).glob("wheels-*"):
        shutil.copytree(wheels, fresh.root / CACHE / wheels.name)
    output, answered, seconds = first_up(fresh, free_port())
    assert accuracy_in(output) >= 0.95
    write_down("make up on a bare machine: the portal answers", answered, 90)
    write_down("make up with cached wheels: whole", seconds, 180)
    assert fresh.run("cd /root/groundcrew && make down").returncode == 0


def test_a_user_without_root_gets_the_line_for_the_administrator_and_then_a_portal(
    new_machine: NewMachine,
) -> None:
    machine = new_machine()
    machine.run("apt-get -q update && apt-get install -q -y python3")
    machine.run("useradd -m kim && cp -r /root/groundcrew /home/kim/ && chown -R kim /home/kim")
    port = free_port()
    typed = f"su kim -c 'cd ~/groundcrew && make up TRAINING=no PORT={port}'"
    refused = machine.run(typed)
    assert refused.returncode != 0
    line = re.search(r"^ +(apt-get install .*)$", refused.stdout, re.MULTILINE)
    assert line, refused.stdout
    assert machine.run(f"DEBIAN_FRONTEND=noninteractive {line.group(1)}").returncode == 0
    assert machine.run("pkill redis-server; true").returncode == 0
    done = machine.run(typed)
    assert done.returncode == 0, done.stdout
    assert f"http://127.0.0.1:{port}" in done.stdout
    assert (machine.root / "home/kim/.local/share/groundcrew").is_dir()
    assert not list(Path(machine.root / "var/lib").glob("groundcrew"))
    assert machine.run("su kim -c 'cd ~/groundcrew && make down'").returncode == 0


def test_without_a_network_and_killed_in_between_the_last_one_converges(new_machine: NewMachine) -> None:
    machine, port = new_machine(), free_port()
    typed = f"make up TRAINING=no PORT={port}"
    assert machine.run("apt-get -q update && apt-get install -q -y python3").returncode == 0
    offline = machine.run(f"cd /root/groundcrew && unshare --net {typed}")
    assert offline.returncode != 0
    assert "Installing" in offline.stdout and "redis-server" in offline.stdout
    assert "The package server did not answer" in offline.stdout
    for seconds in (4, 8, 12, 16):
        # The whole process group: apt and dpkg are killed in the middle of their work, too.
        machine.run(f"cd /root/groundcrew && timeout -s KILL {seconds} {typed}")
    done = machine.run(f"cd /root/groundcrew && {typed}")
    assert done.returncode == 0, done.stdout[-4000:]
    assert machine.run("dpkg --audit").stdout == ""
    assert not (machine.root / "usr/sbin/policy-rc.d").exists()
    assert machine.run("cd /root/groundcrew && make down").returncode == 0
    assert machine.processes() == []
