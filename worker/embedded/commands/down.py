"""``make down``: list the running jobs, ask for confirmation, requeue them and end every process."""

import sys
import xmlrpc.client

from cluster.settings import Settings
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_sentence, terminal_text
from worker.embedded.commands.job_interruption import interrupt_jobs, remove_routing_rules
from worker.embedded.commands.options import parse_make_options
from worker.embedded.commands.running_jobs import RunningJobLine, list_running_job_lines
from worker.embedded.processes import end_processes, list_installation_processes
from worker.embedded.settings_file import read_settings_file
from worker.embedded.startup import hold_make_lock
from worker.embedded.supervisor_client import SupervisorClient


def main(arguments: list[str]) -> int:
    options = parse_make_options(arguments)
    places = find_installation_paths()
    if not places.settings_file.exists():
        print_sentence("Nothing is installed for {clone}. Begin with: make up", clone=places.clone)
        return 0
    settings = Settings.from_environment(read_settings_file(places.settings_file))
    jobs = list_running_job_lines(settings)
    if jobs and not options.keeps_jobs_running and not options.is_confirmed:
        confirm_interruption(jobs)
    with hold_make_lock(places):
        supervisor = SupervisorClient(places)
        belonging = list_installation_processes(places)
        if supervisor.is_running():
            # The scheduler ends first, or it would start again the jobs that are being stopped.
            stop_service(supervisor, "scheduler")
        if not options.keeps_jobs_running:
            interrupt_jobs(settings)
        if supervisor.is_running():
            supervisor.stop_all()
        end_processes([*belonging, *list_installation_processes(places)], patience=5)
        remove_routing_rules(settings)
    if jobs:
        print_job_outcomes(jobs, options.keeps_jobs_running)
    print_sentence("Groundcrew is down.") if belonging else print_sentence("Groundcrew was not running.")
    return 0


def confirm_interruption(jobs: list[RunningJobLine]) -> None:
    """Ends the command if the person says no, or if there is nobody to ask."""
    print_sentence("{count} jobs are running:", count=len(jobs))
    for job in jobs:
        print(f"  {job.to_text()}")
    if not sys.stdin.isatty():
        exit_with_error(
            "Nothing was stopped: there is no terminal to ask. To stop them and put them back in the queue: "
            "make down YES=1. To leave them running: make down KEEP=1"
        )
    print_sentence(
        "They are stopped and wait in the queue until the next make up. "
        "To leave them running: make down KEEP=1"
    )
    if input(terminal_text("Stop them? Type yes: ")).strip().lower() not in {"yes", "y", "예", "네"}:
        exit_with_error("Nothing was stopped.")


def stop_service(supervisor: SupervisorClient, name: str) -> None:
    try:
        supervisor.call("stopProcess", name, True)
    except xmlrpc.client.Fault:
        return  # The installation was not running.


def print_job_outcomes(jobs: list[RunningJobLine], kept: bool) -> None:
    for job in jobs:
        if kept:
            print_sentence("still running: {job}", job=job.to_text())
        else:
            print_sentence("back in the queue, interrupted: {job}", job=job.to_text())
