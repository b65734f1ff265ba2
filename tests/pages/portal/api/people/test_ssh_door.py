"""REST says where the SSH door is, or why it is closed, in the caller's language."""

from pathlib import Path

from cluster.services.ssh.door_state import SshDoorState, record_door_state
from tests.pages.portal.rest_lab import Lab

PATH = "/api/v1/ssh-door"
HOST_KEY = " ".join(Path("tests/data/ssh_keys/ed25519.pub").read_text().split()[:2])


def test_a_door_is_open_or_says_why_not(lab: Lab) -> None:
    headers = lab.headers()
    closed = lab.client.get(PATH, headers=headers | {"Accept-Language": "ko"}).json
    assert closed["is_open"] is False and closed["reason"]["code"] == "ssh_door.not_running"
    assert "SSH 입구" in closed["reason"]["sentence"]
    record_door_state(lab.cluster, SshDoorState(True, 2222, HOST_KEY))
    door = lab.client.get(PATH, headers=headers).json
    assert (door["is_open"], door["host"], door["port"], door["reason"]) == (True, "127.0.0.1", 2222, None)
    assert door["host_key"] == HOST_KEY and door["fingerprint"].startswith("SHA256:")
    assert lab.client.get(PATH).status_code == 401
