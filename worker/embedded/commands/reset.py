"""``make reset``: delete the state directory of this clone after a question; the cache directory stays."""

import shutil
import sys

from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_sentence, terminal_text
from worker.embedded.commands.options import parse_make_options
from worker.embedded.processes import list_installation_processes


def main(arguments: list[str]) -> int:
    options = parse_make_options(arguments)
    places = find_installation_paths()
    if not places.state_dir.exists():
        print_sentence("There is nothing to delete: {path} does not exist.", path=places.state_dir)
        return 0
    if list_installation_processes(places):
        exit_with_error("Groundcrew is still running. First: make down")
    print_sentence(
        "This deletes {path} for good: users, workspaces, datasets, trainings, jobs, logs and checkpoints. "
        "The environments in {cache} stay.",
        path=places.state_dir,
        cache=places.cache_dir,
    )
    if not options.is_confirmed:
        if not sys.stdin.isatty():
            exit_with_error("There is no terminal to ask. To delete without a question: make reset YES=1")
        if input(terminal_text("Type the word delete to go on: ")).strip() != "delete":
            print_sentence("Nothing was deleted.")
            return 1
    shutil.rmtree(places.state_dir)
    print_sentence("Deleted.")
    return 0
