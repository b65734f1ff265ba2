"""The door's process may die at any moment: its sessions end, and the next one opens the same door."""

import time
from dataclasses import replace

import pytest

from tests.integration.worker.ssh_door.conftest import SshLab, until
from worker.ssh_door.door_keeper import DoorClosed, check_machine, check_port_free, listen_addresses


def test_the_end_of_the_door_ends_its_sessions_and_a_new_door_opens(lab: SshLab) -> None:
    """Killed, it can say nothing any more: its programs and sshd end because it is gone."""
    program = lab.run(lab.person("minji"))
    session = lab.begin("minji", program.login, "trap '' HUP TERM; echo ready; sleep 1000")
    assert session.stdout is not None and session.stdout.readline() == "ready\n"
    assert lab.door is not None
    lab.door.kill()
    lab.door.wait()
    assert session.wait(20) != 0
    session.communicate()
    begun = time.monotonic()
    lab.open_door()
    until(lambda: lab.ssh("minji", program.login, "true").returncode == 0, 40)
    assert time.monotonic() - begun < 40


def test_a_door_that_cannot_open_says_why(lab: SshLab) -> None:
    settings = lab.cluster.settings
    check_machine(settings)
    with pytest.raises(DoorClosed) as closed:
        check_machine(replace(settings, ssh_port=0))
    assert closed.value.code == "ssh_door.switched_off"
    with pytest.raises(DoorClosed) as closed:
        check_port_free(settings)
    assert (closed.value.code, closed.value.data) == ("ssh_door.port_taken", {"port": lab.port})


def test_addresses_are_written_as_sshd_reads_them(lab: SshLab) -> None:
    settings = replace(lab.cluster.settings, ssh_port=2222)
    assert listen_addresses(replace(settings, ssh_address="127.0.0.1")) == ["127.0.0.1:2222"]
    assert listen_addresses(replace(settings, ssh_address="::1")) == ["[::1]:2222"]
