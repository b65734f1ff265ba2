"""Makes the installation's certificate authority and the portal's certificate with the machine's openssl.

A browser that trusts the authority trusts every certificate that it signs.
"""

import os
import subprocess
from collections.abc import Sequence
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cluster.files.atomic import write_atomically

AUTHORITY_DURATION = timedelta(days=3650)
CERTIFICATE_DURATION = timedelta(days=397)
"""The longest validity that browsers accept."""
RENEW_BEFORE = timedelta(days=60)
CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class CertificateFailed(OSError):
    """openssl has failed. The message is the end of its output."""


def ensure_authority(folder: Path, name: str) -> bool:
    """Ensures `authority.pem` and `authority.key` in the folder. Returns whether they were made now."""
    certificate, key = folder / "authority.pem", folder / "authority.key"
    if certificate.exists() and key.exists() and is_valid_for(certificate, timedelta()):
        return False
    extensions = [
        *("-addext", "basicConstraints=critical,CA:TRUE,pathlen:0"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
    ]
    subject = ["-subj", f"/CN={name}", "-days", str(AUTHORITY_DURATION.days)]
    make_certificate(key, certificate, [*subject, *extensions])
    return True


def ensure_certificate(folder: Path, names: Sequence[str]) -> bool:
    """Ensures `portal.pem` (with the authority's certificate) and `portal.key` for exactly these names and addresses.

    They are made again two months before they expire, if the names have changed, and if the authority is another one.
    """
    certificate, key = folder / "portal.pem", folder / "portal.key"
    if key.exists() and certificate.exists() and is_certificate_valid(folder, certificate, names):
        return False
    words = [
        *("-CA", str(folder / "authority.pem"), "-CAkey", str(folder / "authority.key")),
        *("-subj", f"/CN={names[0]}", "-days", str(CERTIFICATE_DURATION.days)),
        *("-addext", f"subjectAltName={subject_alternative_names(names)}"),
        *("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth"),
    ]
    make_certificate(key, certificate, words, (folder / "authority.pem").read_bytes())
    return True


def make_certificate(key: Path, certificate: Path, words: Sequence[str], chain: bytes = b"") -> None:
    """Makes a key and its certificate, followed by the certificates of `chain`. Raises CertificateFailed."""
    with TemporaryDirectory(dir=key.parent, prefix=".openssl-") as place:
        made_key, made = Path(place, "key"), Path(place, "certificate")
        run_openssl(["req", "-x509", *CURVE, "-keyout", str(made_key), "-out", str(made), *words])
        write_atomically(key, made_key.read_bytes(), 0o600)
        write_atomically(certificate, made.read_bytes() + chain, 0o644)


def read_certificate_names(folder: Path) -> list[str]:
    """The names in the existing certificate, the public one first. Raises CertificateFailed."""
    shown = run_openssl(
        ["x509", "-in", str(folder / "portal.pem"), "-noout", "-ext", "subjectAltName"]
    ).stdout
    return [comparable_name(word.strip().partition(":")[2]) for word in shown.partition("\n")[2].split(",")]


def is_certificate_valid(folder: Path, certificate: Path, names: Sequence[str]) -> bool:
    authority = str(folder / "authority.pem")
    trusted = ["verify", "-CAfile", authority, "-x509_strict", str(certificate)]
    shown = run_openssl(["x509", "-in", str(certificate), "-noout", "-ext", "subjectAltName"], must=False)
    words = shown.stdout.partition("\n")[2].split(",")
    found = {comparable_name(word.strip().partition(":")[2]) for word in words}
    return (
        is_valid_for(certificate, RENEW_BEFORE)
        and found == {comparable_name(name) for name in names}
        and run_openssl(trusted, must=False).returncode == 0
    )


def subject_alternative_names(names: Sequence[str]) -> str:
    return ",".join(f"{'IP' if is_address(name) else 'DNS'}:{name}" for name in names)


def comparable_name(name: str) -> str:
    """The name in the form of openssl, which writes out each group of an IPv6 address."""
    return str(ip_address(name)) if is_address(name) else name


def is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_valid_for(certificate: Path, longer: timedelta) -> bool:
    seconds = str(int(longer.total_seconds()))
    return (
        run_openssl(["x509", "-in", str(certificate), "-noout", "-checkend", seconds], must=False).returncode
        == 0
    )


def run_openssl(words: Sequence[str], must: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs openssl with a umask that lets nobody else read new files. Raises CertificateFailed if it fails and `must`
    is set.
    """
    before = os.umask(0o077)
    try:
        done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    finally:
        os.umask(before)
    if must and done.returncode != 0:
        raise CertificateFailed(f"openssl {words[0]}: {done.stderr.strip()[-500:]}")
    return done
