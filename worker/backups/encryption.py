"""Encrypts the copies of backups to a recovery key whose private half is on no machine of ours, with Debian's age."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.domain.backups.problems import BackupProblem
from cluster.domain.errors import Refused

ENDING = ".age"
UNFINISHED_COPY = ".copy-"
"""The beginning of the name of a folder with an encrypted copy. The next backup deletes what a killed one left."""
LAST_WORDS = 300


class EncryptionFailed(Exception):
    """A copy could not be encrypted, for this reason."""

    def __init__(self, problem: BackupProblem) -> None:
        super().__init__(problem.code)
        self.problem = problem


@contextmanager
def encrypted_copy(file: Path, recipient: str) -> Iterator[Path]:
    """The file, encrypted to the recipient, under its name with `.age` in a folder that is deleted at the end of the
    block.

    Raises EncryptionFailed.
    """
    with tempfile.TemporaryDirectory(prefix=UNFINISHED_COPY, dir=file.parent) as folder:
        target = Path(folder) / f"{file.name}{ENDING}"
        try:
            done = run_age("--recipient", recipient, "--output", str(target), "--", str(file))
        except FileNotFoundError as error:
            raise EncryptionFailed(BackupProblem("copying.no_age")) from error
        if done.returncode != 0:
            said = {"exit_code": done.returncode, "said": last_words(done.stderr)}
            raise EncryptionFailed(BackupProblem("copying.not_encrypted", said))
        yield target


def delete_unfinished_copies(folder: Path) -> None:
    """The caller holds the lock of the backups. A copy in progress holds none, so it fails and is made again."""
    for each in folder.glob(f"{UNFINISHED_COPY}*"):
        shutil.rmtree(each, ignore_errors=True)


@contextmanager
def decrypted_backup(file: Path, identity: Path) -> Iterator[Path]:
    """The backup in plain text, with its manifest beside it, in a folder of its own that is deleted at the end of the
    block.

    `identity` is the file with the private half of the recovery key. Raises Refused on `file`.
    """
    if not file.is_file():
        raise Refused("file", "restore.no_file", file=str(file))
    plain = file.name.removesuffix(ENDING)
    manifest = file.parent / f"{plain}.json"
    if not manifest.is_file():
        raise Refused("file", "restore.no_manifest", manifest=manifest.name)
    with tempfile.TemporaryDirectory(prefix="gc-restore-", dir=file.parent) as folder:
        target = Path(folder) / plain
        try:
            done = run_age("--decrypt", "--identity", str(identity), "--output", str(target), "--", str(file))
        except FileNotFoundError as error:
            raise Refused("file", "restore.no_age", name=file.name) from error
        if done.returncode != 0:
            raise Refused("file", "restore.not_decrypted", name=file.name, said=last_words(done.stderr))
        shutil.copy(manifest, target.with_name(manifest.name))
        yield target


def run_age(*words: str) -> "subprocess.CompletedProcess[str]":
    """Runs age without a terminal, so that it cannot ask for anything. Raises FileNotFoundError if age is missing."""
    return subprocess.run(
        ["age", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )


def last_words(text: str) -> str:
    """The end of age's output, without its advice to report a bug."""
    lines = [
        line for line in text.splitlines() if not re.search(r"report unexpected|age-encryption\.org", line)
    ]
    return " ".join(" ".join(lines).split())[-LAST_WORDS:]
