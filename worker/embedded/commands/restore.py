"""``make restore FILE=…``, on servers ``groundcrew-restore FILE``: restore a backup while the services are stopped."""

import argparse
import os
from pathlib import Path

from cluster.settings import Settings
from cluster.settings_reader import MissingSettings
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_sentence
from worker.embedded.commands.restored_file import RestoreRequest, restore_with_settings
from worker.embedded.processes import list_installation_processes
from worker.embedded.settings_file import ensure_settings_file
from worker.embedded.startup import hold_make_lock
from worker.embedded.state_directory import ensure_state_directory

ON_SERVERS = "GROUNDCREW_DATABASE_URL"
"""This variable is set by the program that reads the settings of a master; `make restore` reads its own file."""


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
