"""``make down``: name the running jobs, ask, send them back to the queue, and leave no process."""

import sys
import xmlrpc.client

from cluster.settings import Settings
from cluster.store.migrate import is_current
from worker.adapters.runtime import install_runtime
from worker.embedded.options import parse_options
from worker.embedded.places import find_places
from worker.embedded.processes import end, of_installation
from worker.embedded.running_jobs import RunningJob, list_running_jobs
from worker.embedded.say import complain, say, stop, text
from worker.embedded.services import Supervisor
from worker.embedded.settings_file import read_settings
from worker.embedded.start import only_one
from worker.executors.chosen import open_executor
from worker.scheduler import interrupt_all
from worker.wiring import open_cluster


def main(arguments: list[str]) -> int:
    options = parse_options(arguments)
    places = find_places()
    if not places.environment_file.exists():
        say("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
        return 0
    settings = Settings.from_environment(read_settings(places.environment_file))
    jobs = list_running_jobs(settings)
    if jobs and not options.keep and not options.yes:
        ask(jobs)
    with only_one(places):
        supervisor = Supervisor(places)
        belonging = of_installation(places)
        if supervisor.is_running():
            # First of all the scheduler, or it would start again what is being stopped.
            stop_service(supervisor, "scheduler")
        if not options.keep:
            stop_trainings(settings)
        if supervisor.is_running():
            supervisor.stop()
        end([*belonging, *of_installation(places)], patience=5)
    if jobs:
        print_what_becomes_of(jobs, options.keep)
    say("Groundcrew is down.") if belonging else say("Groundcrew was not running.")
    return 0


def ask(jobs: list[RunningJob]) -> None:
    """Ends where the person says no, and where there is nobody to ask."""
    say("{count} jobs are running:", count=len(jobs))
    for job in jobs:
        print(f"  {job.line()}")
    if not sys.stdin.isatty():
        stop(
            "Nothing was stopped: there is no terminal to ask. To stop them and put them back in the queue: "
            "make down YES=1. To leave them running: make down KEEP=1"
        )
    say(
        "They are stopped and wait in the queue until the next make up. "
        "To leave them running: make down KEEP=1"
    )
    if input(text("Stop them? Type yes: ")).strip().lower() not in {"yes", "y", "예", "네"}:
        stop("Nothing was stopped.")


def stop_service(supervisor: Supervisor, name: str) -> None:
    try:
        supervisor.ask("stopProcess", name, True)
    except xmlrpc.client.Fault:
        return  # It was not running.


def stop_trainings(settings: Settings) -> None:
    """Every attempt ends within its patience and its job waits again; the rows say so at once."""
    if not is_current(settings):
        return
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    cluster = open_cluster(settings)
    left = interrupt_all(cluster, open_executor(cluster, runtime), runtime)
    if left:
        complain("{count} trainings did not end; make down again looks at them once more.", count=left)


def print_what_becomes_of(jobs: list[RunningJob], kept: bool) -> None:
    for job in jobs:
        if kept:
            say("still running: {job}", job=job.line())
        else:
            say("back in the queue, interrupted: {job}", job=job.line())
