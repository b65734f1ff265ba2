"""SSH keys over REST."""

from pathlib import Path

from tests.builders import a_user
from tests.pages.portal.rest_lab import Lab

PATH = "/api/v1/ssh-keys"
KEY = Path("tests/data/ssh_keys/ed25519.pub").read_text()


def test_a_key_is_added_listed_and_removed(lab: Lab) -> None:
    headers = lab.headers()
    added = lab.client.post(PATH, headers=headers, json={"name": "laptop", "key": KEY})
    assert added.status_code == 201 and added.json["kind"] == "ssh-ed25519"
    assert added.json["ends_at"] is not None, "it ends with the token"
    assert [key["name"] for key in lab.client.get(PATH, headers=headers).json["items"]] == ["laptop"]
    number = added.json["id"]
    stranger = lab.headers(a_user(lab.cluster))
    assert lab.client.delete(f"{PATH}/{number}", headers=stranger).status_code == 404
    assert lab.client.delete(f"{PATH}/{number}", headers=headers).status_code == 204
    assert lab.client.get(PATH, headers=headers).json["items"] == []


def test_a_wrong_key_names_its_field(lab: Lab) -> None:
    refused = lab.client.post(PATH, headers=lab.headers(), json={"name": "laptop", "key": "ssh-dss AAAA"})
    assert refused.status_code == 422
    assert [each["pointer"] for each in refused.json["errors"]] == ["/key"]
