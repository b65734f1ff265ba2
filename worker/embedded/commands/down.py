"""``make down``: list the running jobs, ask for confirmation, requeue them and end every process."""

import os
import sys
import xmlrpc.client

import psutil

from cluster.settings import Settings
from cluster.store.migrate import is_schema_current
from worker.adapters.job_runtime import install_runtime
from worker.bootstrap.paths import find_installation_paths
from worker.bootstrap.terminal import exit_with_error, print_error, print_sentence, terminal_text
from worker.composition import open_cluster
from worker.embedded.commands.options import parse_make_options
from worker.embedded.commands.running_jobs import RunningJobLine, list_running_job_lines
from worker.embedded.processes import end_processes, list_installation_processes
from worker.embedded.settings_file import read_settings_file
from worker.embedded.startup import hold_make_lock
from worker.embedded.supervisor_client import SupervisorClient
from worker.executors.factory import open_executor
from worker.inside import shim_cloud_metadata
from worker.scheduling.loop import interrupt_all


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
            # First of all the scheduler, or it would start again what is being stopped.
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
        return  # It was not running.


def interrupt_jobs(settings: Settings) -> None:
    """Ends every attempt within its patience, and its job waits again. The rows say so at once."""
    if not is_schema_current(settings):
        return
    runtime = install_runtime(settings.runtime_dir, settings.job_ids)
    cluster = open_cluster(settings)
    left = interrupt_all(cluster, open_executor(cluster, runtime), runtime)
    if left:
        print_error("{count} trainings did not end; make down again looks at them once more.", count=left)


def remove_routing_rules(settings: Settings) -> None:
    """Removes the closed addresses from this machine's routing, unless a job still runs under such a number."""
    first, last = settings.job_ids.uid_range
    if os.geteuid() == 0 and not any(first <= uid <= last for uid in list_process_uids()):
        shim_cloud_metadata.unblock_cloud_metadata(first, last)


def list_process_uids() -> set[int]:
    """The numbers as which processes of this machine run."""
    return {process.info["uids"].real for process in psutil.process_iter(["uids"]) if process.info["uids"]}


def print_job_outcomes(jobs: list[RunningJobLine], kept: bool) -> None:
    for job in jobs:
        if kept:
            print_sentence("still running: {job}", job=job.to_text())
        else:
            print_sentence("back in the queue, interrupted: {job}", job=job.to_text())
