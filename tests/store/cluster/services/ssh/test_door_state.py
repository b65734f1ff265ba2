"""How the door stands is one fact; without one, no door runs."""

from pathlib import Path

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
