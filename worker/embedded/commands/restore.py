"""``make restore FILE=…``, on servers ``groundcrew-restore FILE``: restore a backup while the services are stopped."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

from cluster import words
from cluster.domain.errors import GroundcrewError, Refused
from cluster.services.context import utc_now
from cluster.settings import Settings
from cluster.settings_reader import MissingSettings
from worker.backups.encryption import ENDING, decrypted_backup
from worker.backups.restore import RestoreResult, restore_backup
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, language_of_terminal, print_error, print_sentence
from worker.embedded.processes import list_installation_processes
from worker.embedded.settings_file import ensure_settings_file
from worker.embedded.startup import hold_make_lock
from worker.embedded.state_directory import ensure_state_directory

ON_SERVERS = "GROUNDCREW_DATABASE_URL"
"""Set by what reads the settings of a master; `make restore` reads its own file."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="groundcrew-restore")
    parser.add_argument("file", help="groundcrew-YYYYMMDD-hhmmss.sql.zst, with its .json beside it")
    parser.add_argument("--go-on", action="store_true", help="do not hold the jobs that waited")
    parser.add_argument(
        "--identity", type=Path, help="the private half of the recovery key, for a file ….age"
    )
    chosen = parser.parse_args(arguments)
    if not chosen.file:
        exit_with_error("Which backup? make restore FILE=backups/groundcrew-YYYYMMDD-hhmmss.sql.zst")
    request = RestoreRequest(Path(chosen.file), chosen.go_on, chosen.identity)
    if os.environ.get(ON_SERVERS):
        return restore_with_settings(Settings.from_environment(), request)
    return restore_embedded(request)


@dataclass(frozen=True)
class RestoreRequest:
    """`identity` is the file with the private half of the recovery key, which an encrypted copy needs."""

    file: Path
    goes_on: bool
    identity: Path | None = None


def restore_embedded(request: RestoreRequest) -> int:
    """Restores on the machine of make up, also before its first make up."""
    places = find_installation_paths()
    ensure_state_directory(places)
    with hold_make_lock(places):
        if list_installation_processes(places):
            exit_with_error("Groundcrew is still running. First: make down")
        try:
            settings = Settings.from_environment(ensure_settings_file(places, None))
        except MissingSettings as error:
            names = ", ".join(error.data["names"])
            exit_with_error("{file} has no usable value for: {names}", file=places.settings_file, names=names)
        code = restore_with_settings(settings, request)
    if code == 0:
        print_sentence("Start it with: make up")
    return code


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
