"""Public keys are read as OpenSSH reads them; what must not open anything is refused with the way out."""

import base64
import struct
from pathlib import Path

import pytest

from cluster.domain.errors import Refused
from cluster.domain.people.ssh_keys import parse_public_key

KEYS = Path("tests/data/ssh_keys")
ED25519 = (KEYS / "ed25519.pub").read_text()
NIST_POINT = b"\x04" + bytes(64)


def a_key(kind: str, *parts: bytes, named: str | None = None) -> str:
    blob = b"".join(struct.pack(">I", len(part)) + part for part in (kind.encode(), *parts))
    return f"{named or kind} {base64.b64encode(blob).decode()}"


@pytest.mark.parametrize("name", ["ed25519", "ecdsa", "rsa3072"])
def test_a_key_is_shown_as_ssh_keygen_shows_it(name: str) -> None:
    text = (KEYS / f"{name}.pub").read_text()
    shown = [line.split() for line in (KEYS / "fingerprints").read_text().splitlines()]
    key = parse_public_key(f"  {text}\n\n")
    assert [key.fingerprint] == [words[1] for words in shown if words[2] == text.split()[2]]
    assert key.text == " ".join(text.split()[:2]), "without the comment"


def test_a_security_key_is_a_key() -> None:
    typed = a_key("sk-ssh-ed25519@openssh.com", bytes(32), b"ssh:")
    assert parse_public_key(typed).kind == "sk-ssh-ed25519@openssh.com"
    parse_public_key(a_key("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", NIST_POINT, b"ssh:"))


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("", "ssh_key.missing"),
        (" \n ", "ssh_key.missing"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", "ssh_key.private"),
        ("PuTTY-User-Key-File-3: ssh-ed25519", "ssh_key.private"),
        (ED25519 * 2, "ssh_key.several_lines"),
        (f'command="/bin/sh" {ED25519}', "ssh_key.options"),
        (f"no-pty,cert-authority {ED25519}", "ssh_key.options"),
        ("ssh-ed25519-cert-v01@openssh.com AAAA", "ssh_key.certificate"),
        ("hello", "ssh_key.unknown_kind"),
        (a_key("ssh-dss", b"", b"", b"", b""), "ssh_key.weak_kind"),
        ((KEYS / "rsa2048.pub").read_text(), "ssh_key.rsa_bits"),
        ("ssh-ed25519", "ssh_key.damaged"),
        ("ssh-ed25519 %%%", "ssh_key.damaged"),
        (ED25519[:60], "ssh_key.damaged"),
        (a_key("ssh-rsa", b"\1\0\1", b"\0" + b"\xff" * 384, named="ssh-ed25519"), "ssh_key.damaged"),
        (a_key("ssh-ed25519", bytes(31)), "ssh_key.damaged"),
        (a_key("ssh-ed25519", bytes(32), b"more"), "ssh_key.damaged"),
        (a_key("ssh-rsa", b"\1", b"\0" + b"\xff" * 384), "ssh_key.damaged"),
        (a_key("ssh-rsa", b"\1\0\1", b"\xff" * 384), "ssh_key.damaged"),
        (a_key("ssh-rsa", b"\1\0\1", b"\0" + b"\xff" * 4096), "ssh_key.rsa_bits"),
        (a_key("ecdsa-sha2-nistp256", b"nistp384", NIST_POINT), "ssh_key.damaged"),
        (a_key("ecdsa-sha2-nistp256", b"nistp256", b"\2" + bytes(32)), "ssh_key.damaged"),
        ("ssh-ed25519 " + "A" * 20_000, "ssh_key.too_long"),
    ],
)
def test_what_is_no_good_key_is_refused(typed: str, code: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_public_key(typed)
    assert refusal.value.code == code
    words = typed.split()
    assert not any(len(word) > 30 and word in str(refusal.value) for word in words), "nothing is repeated"
