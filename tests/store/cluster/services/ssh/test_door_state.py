"""How the door stands is one fact; without one, no door runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.domain.executors import ExecutorKind
from cluster.services.context import Cluster
from cluster.services.ssh.door_state import SshDoorState, read_door_state, record_door_state

HOST_KEY = " ".join(Path("tests/data/ssh_keys/ed25519.pub").read_text().split()[:2])


def test_the_last_word_counts(cluster: Cluster) -> None:
    assert read_door_state(cluster).reason == "ssh_door.not_running"
    for state in (
        SshDoorState(True, 2222, HOST_KEY),
        SshDoorState(False, 2222, "", "ssh_door.port_taken", {"port": 2222}),
    ):
        record_door_state(cluster, state)
        assert read_door_state(cluster) == state
    assert (
        SshDoorState(True, 2222, HOST_KEY).fingerprint == "SHA256:oIDs0K3tISddEqvQVs7KLkjtiwIYjiiPcStPoOm9/IY"
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ssh_port": 0}, "ssh_door.switched_off"),
        ({"executor": ExecutorKind.KUBERNETES}, "ssh_door.executor"),
        ({"executor": ExecutorKind.DOCKER}, "ssh_door.executor"),
    ],
)
def test_where_there_can_be_no_door_the_settings_say_why(
    cluster: Cluster, changed: dict[str, Any], reason: str
) -> None:
    record_door_state(cluster, SshDoorState(True, 2222, HOST_KEY))
    other = replace(cluster, settings=replace(cluster.settings, **changed))
    assert read_door_state(other).reason == reason
