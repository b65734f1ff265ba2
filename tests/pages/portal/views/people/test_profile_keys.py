"""The profile page adds and removes SSH keys, and never shows a private key again."""

from pathlib import Path

from cluster.services.ssh.door_state import SshDoorState, record_door_state
from tests.pages.portal.filled_portal import House

KEY = Path("tests/data/ssh_keys/ed25519.pub").read_text()


def test_a_key_is_added_and_removed(house: House) -> None:
    browser = house.visitor("member")
    added = browser.post("/profile/ssh-keys", data={"key_name": "laptop-7", "key": KEY})
    assert added.status_code == 303
    page = browser.get("/profile").text
    assert "laptop-7" in page and "SHA256:oIDs0K3tISddEqvQVs7KLkjtiwIYjiiPcStPoOm9/IY" in page
    number = page.split("/profile/ssh-keys/")[1].split("/")[0]
    assert house.visitor("owner").post(f"/profile/ssh-keys/{number}/remove").status_code == 404
    assert browser.post(f"/profile/ssh-keys/{number}/remove").status_code == 303
    assert "laptop-7" not in browser.get("/profile").text


def test_what_is_wrong_stands_beside_its_field(house: House) -> None:
    browser = house.visitor("member")
    typed = {"key_name": "My Laptop", "key": "hello"}
    refused = browser.post("/profile/ssh-keys", data=typed)
    assert refused.status_code == 422
    assert 'id="key_name-problem"' in refused.text and 'id="key-problem"' in refused.text
    assert "My Laptop" in refused.text and "hello" in refused.text


def test_a_private_key_is_not_sent_back(house: House) -> None:
    typed = {"key_name": "laptop", "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk"}
    refused = house.visitor("member").post("/profile/ssh-keys", data=typed)
    assert refused.status_code == 422 and "b3BlbnNzaC1rZXk" not in refused.text


def test_a_closed_door_says_how_it_opens(house: House) -> None:
    missing = {"packages": ["openssh-server"]}
    record_door_state(house.cluster, SshDoorState(False, 2222, "", "ssh_door.packages_missing", missing))
    page = house.visitor("member").get("/profile").text
    assert "apt-get install openssh-server libnss-extrausers" in page
