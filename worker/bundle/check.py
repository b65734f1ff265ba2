"""Check that a bundle is signed, and matches its manifest. Standard library only: hosts run this file by itself.

The signature is of `ssh-keygen -Y sign` (openssh, PROTOCOL.sshsig), which every host that Ansible reaches has.
"""

import argparse
import base64
import binascii
import hashlib
import json
import os
import platform
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

FORMAT = 1
MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
SIGNER = "signer.pub"
"""The public key of the signature, one line as ssh-keygen writes it. It counts only until a host has pinned one."""
UNLISTED = frozenset({MANIFEST, SIGNATURE, SIGNER})
NAMESPACE = "groundcrew-bundle"
PUBLIC_KEY = re.compile(
    r"(ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa|sk-[a-z0-9@.-]{1,60}) ([A-Za-z0-9+/=]{16,1400})(?: .*)?"
)
LARGEST_KEY = 4096
"""Bytes of a public key's file."""
TEXTS = ("path", "kind", "name", "version", "sha256", "licence", "source")
"""The fields of each file in the manifest, besides its size."""


class BundleSentence(str):
    """An English sentence. It keeps its template and data, so that `verify` can print it in Korean.

    The hosts print the English, because they run this file without any other.
    """

    template: str
    data: dict[str, object]

    def __new__(cls, template: str, **data: object) -> "BundleSentence":
        made = super().__new__(cls, template.format(**data))
        made.template, made.data = template, data
        return made


class NotABundle(Exception):
    """The folder is not a bundle, or not one that this version understands. The message says why."""


def read_manifest_file(folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Reads the manifest, or a copy of it under another name. Raises NotABundle."""
    return parse_manifest(read_manifest_bytes(folder, name), folder / name)


def read_manifest_bytes(folder: Path, name: str = MANIFEST) -> bytes:
    """Raises NotABundle."""
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError as error:
        raise NotABundle(
            BundleSentence("{folder} holds no bundle: {name} is missing", folder=folder, name=name)
        ) from error
    except OSError as error:
        raise NotABundle(
            BundleSentence("{file} cannot be read: {error}", file=folder / name, error=error)
        ) from error


def parse_manifest(content: bytes, file: Path) -> dict[str, Any]:
    """Raises NotABundle, which names `file`."""
    try:
        found: Any = json.loads(content)
    except ValueError as error:
        raise NotABundle(BundleSentence("{file} cannot be read: {error}", file=file, error=error)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotABundle(
            BundleSentence("{file} is not a manifest of format {format}", file=file, format=FORMAT)
        )
    if not is_manifest_well_formed(found):
        raise NotABundle(BundleSentence("{file} is damaged, or was not written by a collector", file=file))
    return found


def read_installed_manifest(file: Path | None) -> dict[str, Any] | None:
    """The manifest that a host keeps of its last bundle. None if there is none or it is damaged; then every file is
    read.
    """
    try:
        return None if file is None else read_manifest_file(file.parent, file.name)
    except NotABundle:
        return None


def is_manifest_well_formed(manifest: dict[str, Any]) -> bool:
    """Whether the manifest has all fields that are used below, and names nothing outside its folder."""
    texts = [manifest.get(name) for name in ("version", "made", "collector")]
    systems, files = manifest.get("systems"), manifest.get("files")
    return (
        isinstance(systems, list)
        and all(isinstance(each, str) for each in [*texts, *systems])
        and isinstance(files, list)
        and all(is_entry_well_formed(each) for each in files)
    )


def is_entry_well_formed(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {*TEXTS, "size"}:
        return False
    path = PurePosixPath(entry["path"] if isinstance(entry["path"], str) else "..")
    is_beneath = bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    return (
        is_beneath and isinstance(entry["size"], int) and all(isinstance(entry[name], str) for name in TEXTS)
    )


def find_faults(folder: Path, manifest: dict[str, Any], whole: bool = True) -> Iterator[BundleSentence]:
    """Yields a sentence for each file that is missing, changed, or not in the manifest.

    Without `whole` only the sizes are compared, which is fast.
    """
    listed = {entry["path"] for entry in manifest["files"]}
    for entry in manifest["files"]:
        try:
            yield from find_fault(folder / entry["path"], entry, whole)
        except OSError as error:
            yield BundleSentence("{file} cannot be read: {error}", file=entry["path"], error=error.strerror)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in UNLISTED and name not in listed and (path.is_symlink() or not path.is_dir()):
            yield BundleSentence("{file} is not in the manifest", file=name)


def find_fault(path: Path, entry: dict[str, Any], whole: bool) -> Iterator[BundleSentence]:
    """Yields at most one sentence about a file. Raises OSError."""
    if path.is_symlink() or not path.is_file():
        yield BundleSentence("{file} is missing", file=entry["path"])
    elif path.stat().st_size != entry["size"]:
        yield BundleSentence(
            "{file} has {found} bytes, not {wanted}",
            file=entry["path"],
            found=path.stat().st_size,
            wanted=entry["size"],
        )
    elif whole and sha256_of(path) != entry["sha256"]:
        yield BundleSentence("{file} is not what was collected: its SHA-256 differs", file=entry["path"])


def parse_public_key(text: str) -> str | None:
    """The key's type and base64 without its comment; None if the text is no public key of one line."""
    found = PUBLIC_KEY.fullmatch(text.strip())
    return f"{found[1]} {found[2]}" if found else None


def fingerprint_of(key: str) -> str:
    """Returns the fingerprint as `ssh-keygen -l` prints it: SHA256:…"""
    try:
        content = base64.b64decode(key.split()[1], validate=True)
    except binascii.Error:
        return "SHA256:?"
    return "SHA256:" + base64.b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def read_signer(folder: Path) -> str:
    """The public key that the bundle names as its signer. Raises NotABundle."""
    for name in (SIGNATURE, SIGNER):
        if (folder / name).is_symlink() or not (folder / name).is_file():
            raise NotABundle(
                BundleSentence(
                    "the bundle is not signed: {name} is missing; groundcrew-bundle sign {folder} signs it",
                    name=name,
                    folder=folder,
                )
            )
    with (folder / SIGNER).open("rb") as file:
        key = parse_public_key(file.read(LARGEST_KEY).decode("utf-8", "replace"))
    if key is None:
        raise NotABundle(BundleSentence("{file} is not the public key of a signer", file=SIGNER))
    return key


def check_signature(folder: Path, manifest: bytes, trusted: str | None) -> str:
    """Returns the key that signed these bytes of the manifest. Raises NotABundle.

    `trusted` is the only key that counts; None if this is the first bundle, whose own signer is then trusted.
    """
    signer = read_signer(folder)
    if trusted is not None and signer != trusted:
        raise NotABundle(
            BundleSentence(
                "the bundle is signed by {signer}, and {trusted} is trusted here: if the site's key has changed, write "
                "the new one into groundcrew_bundle_signer",
                signer=fingerprint_of(signer),
                trusted=fingerprint_of(trusted),
            )
        )
    with tempfile.TemporaryDirectory() as scratch:
        allowed = Path(scratch, "allowed_signers")
        allowed.write_text(f'{NAMESPACE} namespaces="{NAMESPACE}" {signer}\n')
        verify = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", NAMESPACE, "-n", NAMESPACE]
        try:
            ended = subprocess.run(
                [*verify, "-s", str(folder / SIGNATURE)], input=manifest, capture_output=True, check=False
            )
        except FileNotFoundError as error:
            raise NotABundle(
                BundleSentence("ssh-keygen is missing, which checks signatures: install openssh-client")
            ) from error
    if ended.returncode != 0:
        raise NotABundle(
            BundleSentence(
                "manifest.json is not what {signer} signed: {error}",
                signer=fingerprint_of(signer),
                error=ended.stderr.decode("utf-8", "replace").strip(),
            )
        )
    return signer


def find_strangers(folder: Path) -> Iterator[BundleSentence]:
    """Yields a sentence for each path that users other than root and this process' user may change or replace."""
    owners = {0, os.geteuid()}
    # The first path names a link on the way, the second one its target.
    above = sorted({*folder.parents, *folder.resolve().parents})
    for path in [*above, folder, *sorted(folder.resolve().rglob("*"))]:
        status = path.lstat()
        is_above = path in above
        # In a folder with the sticky bit nobody can replace files of others.
        is_open = status.st_mode & 0o022 and not (is_above and status.st_mode & stat.S_ISVTX)
        if status.st_uid not in owners:
            yield BundleSentence(
                "{path} belongs to uid {uid}, who may change it", path=path, uid=status.st_uid
            )
        elif is_open and not stat.S_ISLNK(status.st_mode):
            yield BundleSentence("{path} may be written by others: chmod go-w {path}", path=path)


def find_downgrade(manifest: dict[str, Any], installed: dict[str, Any]) -> Iterator[BundleSentence]:
    """Yields a sentence if the installed version is newer."""
    if manifest["made"] < installed["made"]:
        yield BundleSentence(
            "bundle {version} is older than {installed}, which is installed here",
            version=manifest["version"],
            installed=installed["version"],
        )


def find_trusted_signer(named: str, pinned: Path | None) -> str | None:
    """The key that the site names, else the one that this host has pinned; None on a host's first bundle.

    Raises NotABundle if the named or pinned text is no key.
    """
    if named:
        key, place = parse_public_key(named), "groundcrew_bundle_signer"
    elif pinned is not None and pinned.exists():
        key, place = parse_public_key(pinned.read_text()), str(pinned)
    else:
        return None
    if key is None:
        raise NotABundle(BundleSentence("{file} is not the public key of a signer", file=place))
    return key


def this_system() -> str:
    """The system of this machine, as debian-12."""
    release = platform.freedesktop_os_release()
    return f"{release['ID']}-{release.get('VERSION_ID', '')}"


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str]) -> int:
    """Prints the faults and returns 1, or prints `whole` or, if this bundle was read before, `known`, then the version,
    this system and the signer's key.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--installed", type=Path, help="the manifest that was installed last")
    parser.add_argument("--here", action="store_true", help="it must have packages for this machine")
    parser.add_argument("--may-be-older", action="store_true")
    parser.add_argument("--signer", default="", help="the public key that the site trusts")
    parser.add_argument("--pinned", type=Path, help="the file with the key that this host trusts")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder.absolute()
    try:
        # The signature comes first: until it is verified, nothing in the bundle is trusted.
        content = read_manifest_bytes(folder)
        signer = check_signature(folder, content, find_trusted_signer(chosen.signer, chosen.pinned))
        manifest = parse_manifest(content, folder / MANIFEST)
    except NotABundle as error:
        print(error)
        return 1
    before = read_installed_manifest(chosen.installed)
    faults = [*find_strangers(folder), *find_faults(folder, manifest, whole=manifest != before)]
    if before and not chosen.may_be_older:
        faults += find_downgrade(manifest, before)
    system = this_system()
    if chosen.here and system not in manifest["systems"]:
        faults.append(
            BundleSentence(
                "the bundle holds packages for {systems}, not for {system}",
                systems=", ".join(manifest["systems"]),
                system=system,
            )
        )
    known = "known" if manifest == before else "whole"
    print("\n".join(faults) or f"{known} {manifest['version']} {system} {signer}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
