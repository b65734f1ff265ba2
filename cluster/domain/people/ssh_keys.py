"""Read the public SSH key that a person pastes, and refuse one that must not open anything."""

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass

from cluster.domain.errors import Refused

LONGEST_TEXT = 16 * 1024
"""Characters. The public half of an RSA key of 16384 bits has fewer than 3000."""
LEAST_RSA_BITS, MOST_RSA_BITS = 3072, 16384
CURVES = {"nistp256": 65, "nistp384": 97, "nistp521": 133}
"""The length of an uncompressed point on each curve, in bytes (RFC 5656)."""
ED25519_BYTES = 32
KINDS = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
"""The kinds of keys that may open a job. Keys of the kinds that begin with `sk-` are stored in a security key."""
WEAK_KINDS = frozenset({"ssh-dss"})


@dataclass(frozen=True)
class PublicKey:
    """A public key in OpenSSH's form, `KIND BASE64`, without options and comment."""

    kind: str
    text: str
    fingerprint: str
    """The fingerprint that `ssh-keygen -l` shows: `SHA256:` and 43 characters."""


def parse_public_key(typed: str, field: str = "key") -> PublicKey:
    """Raises Refused, whose data never contain what was typed: it may be a private key."""
    if len(typed) > LONGEST_TEXT:
        raise Refused(field, "ssh_key.too_long", most=LONGEST_TEXT)
    if "PRIVATE KEY" in typed or "PuTTY-User-Key-File" in typed:
        raise Refused(field, "ssh_key.private")
    lines = [line for line in typed.splitlines() if line.strip()]
    if not lines:
        raise Refused(field, "ssh_key.missing")
    if len(lines) > 1:
        raise Refused(field, "ssh_key.several_lines")
    words = lines[0].split()
    check_kind(words, field)
    try:
        if len(words) < 2 or not words[1].isascii():
            raise ValueError
        blob = base64.b64decode(words[1], validate=True)
        bits = check_blob(words[0], blob)
    except (ValueError, binascii.Error, struct.error):
        raise Refused(field, "ssh_key.damaged") from None
    if bits is not None and not LEAST_RSA_BITS <= bits <= MOST_RSA_BITS:
        raise Refused(field, "ssh_key.rsa_bits", bits=bits, least=LEAST_RSA_BITS, most=MOST_RSA_BITS)
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return PublicKey(words[0], f"{words[0]} {base64.b64encode(blob).decode()}", f"SHA256:{digest}")


def check_kind(words: list[str], field: str) -> None:
    """Raises Refused for a line that does not begin with one of the accepted kinds of keys."""
    kind = words[0]
    if kind in KINDS:
        return
    if kind in WEAK_KINDS:
        raise Refused(field, "ssh_key.weak_kind", kind=kind)
    if any(word in KINDS or word in WEAK_KINDS for word in words[1:]):
        raise Refused(field, "ssh_key.options")
    if "-cert-v01@" in kind:
        raise Refused(field, "ssh_key.certificate")
    raise Refused(field, "ssh_key.unknown_kind", kinds=["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])


def check_blob(kind: str, blob: bytes) -> int | None:
    """The number of bits of an RSA key, else None. Raises ValueError if the parts are not those of this kind."""
    parts = split_blob(blob)
    if parts[0] != kind.encode():
        raise ValueError(kind)
    if kind == "ssh-rsa":
        return check_rsa(parts)
    expected = 3 if kind.startswith("sk-") else 2
    if "ecdsa" in kind:
        curve = kind.removesuffix("@openssh.com").rpartition("-")[2]
        point = parts[2]
        if len(parts) != expected + 1 or parts[1] != curve.encode():
            raise ValueError(curve)
        if len(point) != CURVES[curve] or point[0] != 4:
            raise ValueError(curve)
    elif len(parts) != expected or len(parts[1]) != ED25519_BYTES:
        raise ValueError(kind)
    return None


def check_rsa(parts: list[bytes]) -> int:
    """The bits of the modulus. Raises ValueError, also for an exponent that makes signatures worthless."""
    if len(parts) != 3:
        raise ValueError("ssh-rsa")
    exponent, modulus = (int.from_bytes(part, "big", signed=True) for part in parts[1:])
    if exponent < 3 or exponent % 2 == 0 or modulus <= 0 or modulus % 2 == 0:
        raise ValueError("ssh-rsa")
    return modulus.bit_length()


def split_blob(blob: bytes) -> list[bytes]:
    """The strings of the wire format (RFC 4251, section 5). Raises ValueError if they do not fill it exactly."""
    parts: list[bytes] = []
    position = 0
    while position < len(blob):
        (length,) = struct.unpack_from(">I", blob, position)
        position += 4 + length
        if position > len(blob):
            raise ValueError("cut")
        parts.append(blob[position - length : position])
    if len(parts) < 2:
        raise ValueError("too few parts")
    return parts
