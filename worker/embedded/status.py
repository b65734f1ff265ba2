"""``make status``: the processes, the address, the versions and the running jobs."""

import sys
import time

from rich.console import Console
from rich.table import Table

from cluster.settings import VERSION, Settings
from worker.embedded.places import Places, find_places
from worker.embedded.running_jobs import list_running_jobs
from worker.embedded.say import say, text
from worker.embedded.services import Supervisor
from worker.embedded.settings_file import read_settings


def main(arguments: list[str]) -> int:
    """0 where every service runs, 1 where one does not."""
    places = find_places()
    supervisor = Supervisor(places)
    if not supervisor.is_running():
        say("Groundcrew is not running. Start it with: make up")
        return 1
    processes = supervisor.processes()
    table = Table(box=None, pad_edge=False)
    for title in (text("service"), text("state"), text("process"), text("runs for")):
        table.add_column(title)
    for each in processes:
        minutes = text("{minutes} min", minutes=int((time.time() - each.since) / 60)) if each.pid else ""
        table.add_row(each.name, each.state.lower(), str(each.pid or ""), minutes)
    Console(soft_wrap=True).print(table)
    print_facts(places)
    return 0 if all(each.state == "RUNNING" for each in processes) else 1


def print_facts(places: Places) -> None:
    settings = Settings.from_environment(read_settings(places.environment_file))
    say("address   {url}", url=settings.public_url)
    say(
        "version   {version}, Python {python}",
        version=VERSION,
        python=".".join(map(str, sys.version_info[:3])),
    )
    say("state     {path}", path=places.state)
    say("cache     {path}", path=places.cache)
    say("logs      {path}", path=places.log)
    jobs = list_running_jobs(settings)
    say("running jobs: {count}", count=len(jobs))
    for job in jobs:
        print(f"  {job.line()}")
