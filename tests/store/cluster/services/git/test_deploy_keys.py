"""Keys in the forms that people have: OpenSSH and PEM, never with a passphrase."""

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ed25519, rsa

from cluster.domain.errors import Refused
from cluster.services.git.deploy_keys import make_deploy_key, read_deploy_key

PEM = serialization.Encoding.PEM


def test_a_made_key_is_read_again_also_with_line_ends_of_a_form() -> None:
    key = make_deploy_key()
    assert read_deploy_key(key.private).public == key.public
    assert read_deploy_key("  " + key.private.replace("\n", "\r\n")).public == key.public


def test_a_pem_key_becomes_one_of_openssh() -> None:
    key = rsa.generate_private_key(65537, 2048)
    text = key.private_bytes(
        PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
    assert "OPENSSH" in read_deploy_key(text).private


@pytest.mark.parametrize(
    "text", ["", "ssh-ed25519 AAAA", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "x" * 9000]
)
def test_no_key(text: str) -> None:
    with pytest.raises(Refused) as refused:
        read_deploy_key(text)
    assert (refused.value.field, refused.value.code) == ("private_key", "git.key_unusable")


def test_a_passphrase_or_a_kind_that_ssh_dropped_is_refused() -> None:
    locked = ed25519.Ed25519PrivateKey.generate().private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
    old = dsa.generate_private_key(1024).private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for text in (locked, old):
        with pytest.raises(Refused):
            read_deploy_key(text.decode())
