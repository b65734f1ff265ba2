"""Makes a key pair for a repository, and reads one that a person has pasted."""

from dataclasses import dataclass

from cluster.domain.errors import Refused

LONGEST_KEY = 8000
COMMENT = "groundcrew"


@dataclass(frozen=True)
class DeployKey:
    """Both halves of a key in OpenSSH's text form. A person adds the public one to the repository."""

    private: str
    public: str


def make_deploy_key() -> DeployKey:
    # Slow to import, and only forms that set a key need it.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return write_key(Ed25519PrivateKey.generate())


def read_deploy_key(text: str) -> DeployKey:
    """Raises Refused on `private_key` for anything but a private key without a passphrase."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    content = (text.strip().replace("\r\n", "\n") + "\n").encode()
    if len(content) > LONGEST_KEY:
        raise Refused("private_key", "git.key_unusable")
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in content else load_pem_private_key
    try:
        return write_key(load(content, password=None))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise Refused("private_key", "git.key_unusable") from error


def write_key(key: object) -> DeployKey:
    """Raises ValueError for a kind of key that ssh does not use."""
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    if not isinstance(key, Ed25519PrivateKey | EllipticCurvePrivateKey | RSAPrivateKey):
        raise ValueError(type(key).__name__)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return DeployKey(private, f"{public} {COMMENT}")
