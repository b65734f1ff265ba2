"""Reads when the certificates of the Kubernetes control plane on this machine expire."""

import ssl
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

PKI_FOLDER = Path("/etc/kubernetes/pki")
PATIENCE = 10.0
_known: dict[tuple[str, int, int], str] = {}
"""The dates that were read, by path, time and size of the file, because an agent asks every few seconds."""


def read_expiry_dates(folder: Path = PKI_FOLDER) -> dict[str, str]:
    """Returns certificate name → end, an ISO time with its zone, e.g. of apiserver. Empty without a control plane.

    Files that cannot be read are left out: keys can be read by root only, certificates by everybody.
    """
    found = {}
    for path in list_certificates(folder):
        end = read_expiry(path)
        if end:
            found[str(path.relative_to(folder).with_suffix("")).replace("/", "-")] = end
    return found


def list_certificates(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted([*folder.glob("*.crt"), *folder.glob("*/*.crt")])
    except OSError:
        return


def read_expiry(path: Path) -> str:
    """The end of the certificate; empty if it cannot be read."""
    try:
        about = path.stat()
        key = str(path), about.st_mtime_ns, about.st_size
        if key not in _known:
            _known[key] = read_expiry_by_openssl(path)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return _known[key]


def read_expiry_by_openssl(path: Path) -> str:
    """Converts openssl's `notAfter=Nov 21 10:00:00 2027 GMT` to ISO. Raises ValueError,
    OSError, CalledProcessError.
    """
    command = ["openssl", "x509", "-noout", "-enddate", "-in", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    told = done.stdout.strip().removeprefix("notAfter=")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(told), UTC).isoformat()
