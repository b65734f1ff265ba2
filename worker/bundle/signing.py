"""Sign a bundle's manifest with the site's key, which is made at the first signature."""

import os
import subprocess
from pathlib import Path

from cluster.files.atomic import write_atomically
from worker.bundle import check
from worker.bundle.build_cache import CollectingFailed


def default_signing_key() -> Path:
    """The private key of the person who collects bundles: one per site, in a place that only that person can read."""
    configuration = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(configuration).expanduser() / "groundcrew" / "bundle-signing-key"


def ensure_signing_key(key: Path) -> None:
    """Makes an Ed25519 key without a passphrase if there is none. Raises CollectingFailed."""
    if not key.exists():
        key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        run_ssh_keygen(["-q", "-t", "ed25519", "-N", "", "-C", check.NAMESPACE, "-f", str(key)])


def sign_bundle(folder: Path, key: Path) -> str:
    """Writes the signature and the signer's public key beside the manifest. Returns the key's fingerprint.

    Raises CollectingFailed, and NotABundle if the folder holds none.
    """
    manifest = check.read_manifest_bytes(folder)
    ensure_signing_key(key)
    public = check.parse_public_key(run_ssh_keygen(["-y", "-f", str(key)]).decode())
    if public is None:
        raise CollectingFailed("{key} is not a key that can sign bundles", key=key)
    signature = run_ssh_keygen(["-q", "-Y", "sign", "-f", str(key), "-n", check.NAMESPACE], manifest)
    write_atomically(folder / check.SIGNER, f"{public} {check.NAMESPACE}\n", 0o644)
    write_atomically(folder / check.SIGNATURE, signature.decode(), 0o644)
    return check.fingerprint_of(public)


def run_ssh_keygen(arguments: list[str], content: bytes | None = None) -> bytes:
    """Raises CollectingFailed with what ssh-keygen said."""
    ended = subprocess.run(["ssh-keygen", *arguments], input=content, capture_output=True, check=False)
    if ended.returncode != 0:
        raise CollectingFailed(
            "ssh-keygen cannot sign the bundle: {error}",
            error=ended.stderr.decode("utf-8", "replace").strip(),
        )
    return ended.stdout
