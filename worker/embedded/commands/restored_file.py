"""Restores one file, plain or encrypted, and prints the result."""

from dataclasses import dataclass
from pathlib import Path

from cluster import words
from cluster.domain.errors import GroundcrewError, Refused
from cluster.services.context import utc_now
from cluster.settings import Settings
from worker.backups.encryption import ENDING, decrypted_backup
from worker.backups.restore import RestoreResult, restore_backup
from worker.bootstrap.terminal import language_of_terminal, print_error, print_sentence


@dataclass(frozen=True)
class RestoreRequest:
    """`identity` is the file with the private half of the recovery key, which an encrypted copy needs."""

    file: Path
    goes_on: bool
    identity: Path | None = None


def restore_with_settings(settings: Settings, request: RestoreRequest) -> int:
    """Returns 0, or 1 after it has printed what is wrong and the way out."""
    try:
        done = restore_file(settings, request)
    except GroundcrewError as error:
        for sentence in (words.sentence, words.hint):
            print_error("{sentence}", sentence=sentence(error.code, error.data, language_of_terminal()))
        return 1
    print_restore_result(settings, done)
    return 0


def restore_file(settings: Settings, request: RestoreRequest) -> RestoreResult:
    """Raises GroundcrewError."""
    if not request.file.name.endswith(ENDING):
        return restore_backup(settings, request.file, utc_now, holds=not request.goes_on)
    if request.identity is None:
        raise Refused("file", "restore.encrypted", name=request.file.name)
    with decrypted_backup(request.file, request.identity) as plain:
        return restore_backup(settings, plain, utc_now, holds=not request.goes_on)


def print_restore_result(settings: Settings, done: RestoreResult) -> None:
    made_at, settled = done.made_at.astimezone(settings.zone), done.counts
    print_sentence(
        "The database is as it was on {at}: {rows} rows.",
        at=f"{made_at:%Y-%m-%d %H:%M}",
        rows=f"{done.rows:,}",
    )
    if done.pre_restore_copy is not None:
        print_sentence("  What was there is kept: {aside}", aside=done.pre_restore_copy)
    print_sentence("  Jobs that ran then and count as lost: {count}", count=settled.lost)
    if settled.held:
        print_sentence(
            "  Jobs that waited and are held: {count}. Each may have run since; let them go on their pages.",
            count=settled.held,
        )
    print_sentence(
        "  Everybody signs in again. Whatever was changed since is gone, also who was disabled since."
    )
    if settled.audit == "audit.other_key":
        print_sentence(
            "  The old installation's keys are not here: the access log of before is kept by its digest alone."
        )
    elif settled.audit:
        print_sentence(
            "  The access log was no longer what was sealed when the backup was made: Verify names the place."
        )
    print_sentence(
        "  Datasets, code, logs and checkpoints are in no backup: put their folder back yourself, {folder}",
        folder=settings.storage_dir,
    )
