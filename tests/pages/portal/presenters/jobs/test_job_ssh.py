"""The page of one's own running job has the command for SSH, or says why there is none."""

from pathlib import Path

from cluster.services.people import ssh_keys
from cluster.services.ssh.door_state import SshDoorState, record_door_state
from tests.builders import actor_of
from tests.pages.portal.filled_portal import House

HOST_KEY = " ".join(Path("tests/data/ssh_keys/ed25519.pub").read_text().split()[:2])


def test_the_page_says_how_to_enter_ones_own_job(house: House) -> None:
    path = f"/jobs/{house.ids['job_id']}"
    owner = house.visitor("owner")
    assert "No SSH door runs here" in owner.get(path).text
    record_door_state(house.cluster, SshDoorState(True, 2222, HOST_KEY))
    assert f"ssh -p 2222 job-{house.ids['job_id']}@127.0.0.1" in owner.get(path).text
    assert "SHA256:oIDs0K3tISddEqvQVs7KLkjtiwIYjiiPcStPoOm9/IY" in owner.get(path).text
    ssh_keys.remove_ssh_key(house.cluster, actor_of(house.people["owner"]), house.ids["key_id"])
    page = owner.get(path).text
    assert "Add a public key to your profile first." in page and "ssh -p" not in page


def test_nobody_else_is_told_of_it(house: House) -> None:
    record_door_state(house.cluster, SshDoorState(True, 2222, HOST_KEY))
    for kind in ("manager", "administrator"):
        page = house.visitor(kind).get(f"/jobs/{house.ids['job_id']}")
        assert page.status_code == 200 and "ssh -p" not in page.text
