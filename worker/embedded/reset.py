"""``make reset``: delete what this clone keeps, after asking. The shared cache stays."""

import shutil
import sys

from worker.embedded.options import parse_options
from worker.embedded.places import find_places
from worker.embedded.processes import of_installation
from worker.embedded.say import say, stop, text


def main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    places = find_places()
    if not places.state.exists():
        say("There is nothing to delete: {path} does not exist.", path=places.state)
        return 0
    if of_installation(places):
        stop("Groundcrew is still running. First: make down")
    say(
        "This deletes {path} for good: users, workspaces, datasets, trainings, jobs, logs and checkpoints. "
        "The environments in {cache} stay.",
        path=places.state,
        cache=places.cache,
    )
    if not options.yes:
        if not sys.stdin.isatty():
            stop("There is no terminal to ask. To delete without a question: make reset YES=1")
        if input(text("Type the word delete to go on: ")).strip() != "delete":
            say("Nothing was deleted.")
            return 1
    shutil.rmtree(places.state)
    say("Deleted.")
    return 0
