"""``make restore FILE=…``, on servers ``groundcrew-restore FILE``: a backup put back while the services are stopped."""

import argparse
import os
from pathlib import Path

from cluster import words
from cluster.domain.errors import GroundcrewError
from cluster.services.context import utc_now
from cluster.settings import MissingSettings, Settings
from worker.backups.put_back import PutBack, put_back
from worker.embedded.places import find_places
from worker.embedded.processes import of_installation
from worker.embedded.say import complain, language, say, stop
from worker.embedded.settings_file import ensure_settings
from worker.embedded.start import only_one
from worker.embedded.state import ensure_state

ON_SERVERS = "GROUNDCREW_DATABASE_URL"
"""Set by what reads the settings of a master; `make restore` reads its own file."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="groundcrew-restore")
    parser.add_argument("file", help="groundcrew-YYYYMMDD-hhmmss.sql.zst, with its .json beside it")
    parser.add_argument("--go-on", action="store_true", help="do not hold the jobs that waited")
    chosen = parser.parse_args(arguments)
    if not chosen.file:
        stop("Which backup? make restore FILE=backups/groundcrew-YYYYMMDD-hhmmss.sql.zst")
    if os.environ.get(ON_SERVERS):
        return restore(Settings.from_environment(), Path(chosen.file), chosen.go_on)
    return restore_here(Path(chosen.file), chosen.go_on)


def restore_here(file: Path, goes_on: bool) -> int:
    """On the machine of make up, also before its first one."""
    places = find_places()
    ensure_state(places)
    with only_one(places):
        if of_installation(places):
            stop("Groundcrew is still running. First: make down")
        try:
            settings = Settings.from_environment(ensure_settings(places, None))
        except MissingSettings as error:
            names = ", ".join(error.data["names"])
            stop("{file} has no usable value for: {names}", file=places.environment_file, names=names)
        code = restore(settings, file, goes_on)
    if code == 0:
        say("Start it with: make up")
    return code


def restore(settings: Settings, file: Path, goes_on: bool) -> int:
    """0, or 1 with a sentence of what is wrong and one of the way out."""
    try:
        done = put_back(settings, file, utc_now, holds=not goes_on)
    except GroundcrewError as error:
        for sentence in (words.say, words.hint):
            complain("{sentence}", sentence=sentence(error.code, error.data, language()))
        return 1
    tell(settings, done)
    return 0


def tell(settings: Settings, done: PutBack) -> None:
    made_at, settled = done.made_at.astimezone(settings.zone), done.settled
    say(
        "The database is as it was on {at}: {rows} rows.",
        at=f"{made_at:%Y-%m-%d %H:%M}",
        rows=f"{done.rows:,}",
    )
    if done.aside is not None:
        say("  What was there is kept: {aside}", aside=done.aside)
    say("  Jobs that ran then and count as lost: {count}", count=settled.lost)
    if settled.held:
        say(
            "  Jobs that waited and are held: {count}. Each may have run since; let them go on their pages.",
            count=settled.held,
        )
    say("  Everybody signs in again. Whatever was changed since is gone, also who was disabled since.")
    if settled.audit == "audit.other_key":
        say(
            "  The old installation's keys are not here: the access log of before is kept by its digest alone."
        )
    elif settled.audit:
        say(
            "  The access log was no longer what was sealed when the backup was made: Verify names the place."
        )
    say(
        "  Datasets, code, logs and checkpoints are in no backup: put their folder back yourself, {folder}",
        folder=settings.storage_dir,
    )
