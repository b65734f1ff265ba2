"""``make status``: the processes, the address, the versions and the running jobs."""

import sys
import time

from rich.console import Console
from rich.table import Table

from cluster import words
from cluster.settings import VERSION, Settings
from worker.bootstrap.paths import InstallationPaths, find_installation_paths
from worker.bootstrap.terminal import (
    language_of_terminal,
    print_sentence,
    terminal_text,
    until_reader_leaves,
)
from worker.embedded.commands.running_jobs import list_running_job_lines
from worker.embedded.settings_file import read_settings_file
from worker.embedded.supervisor_client import SupervisorClient


def main(arguments: list[str]) -> int:
    """Returns 0 if every service runs, 1 if one does not."""
    places = find_installation_paths()
    supervisor = SupervisorClient(places)
    if not supervisor.is_running():
        print_sentence("Groundcrew is not running. Start it with: make up")
        return 1
    processes = supervisor.list_services()
    language = language_of_terminal()
    table = Table(box=None, pad_edge=False)
    for title in (
        terminal_text("service"),
        terminal_text("state"),
        terminal_text("process"),
        terminal_text("runs for"),
    ):
        table.add_column(title)
    for each in processes:
        age = words.format_duration(time.time() - each.started_at, language) if each.pid else ""
        table.add_row(each.name, each.state.lower(), str(each.pid or ""), age)
    with until_reader_leaves():
        print(drawn(table), end="")
        print_installation(places)
    return 0 if all(each.state == "RUNNING" for each in processes) else 1


def drawn(table: Table) -> str:
    """The table as text. If rich printed it, a reader that leaves would end the program."""
    console = Console(soft_wrap=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def print_installation(places: InstallationPaths) -> None:
    settings = Settings.from_environment(read_settings_file(places.settings_file))
    print_sentence("address   {url}", url=settings.public_url)
    print_sentence(
        "version   {version}, Python {python}",
        version=VERSION,
        python=".".join(map(str, sys.version_info[:3])),
    )
    print_sentence("state     {path}", path=places.state_dir)
    print_sentence("cache     {path}", path=places.cache_dir)
    print_sentence("logs      {path}", path=places.log_dir)
    jobs = list_running_job_lines(settings)
    print_sentence("running jobs: {count}", count=len(jobs))
    for job in jobs:
        print(f"  {job.to_text()}")
