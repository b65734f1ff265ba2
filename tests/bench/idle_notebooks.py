"""Idle notebooks: what they cost the services of the master, and how much memory they take themselves.

python -m tests.bench.idle_notebooks [--notebooks 50] [--seconds 120]

Each is a real JupyterLab with one kernel, started through the queue on a CPU slot. Goal: the services together take at
most 5 % of a core beside 50 of them. Prints the numbers; measure on a silent machine.
"""

import argparse
import contextlib
import time
from collections import Counter
from collections.abc import Sequence

import psutil
from sqlalchemy import func, select

from cluster.domain.notebooks.jupyter_server import base_path
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.notebooks.start import start_notebook
from cluster.services.storage.notebook_folders import socket_path
from cluster.store.jobs import Job, Notebook
from tests.bench.bench_installation import House, a_house, wait_until
from tests.bench.portal_load.footprint import ProcessUse, use_of
from tests.bench.programs import TRAINING_CODE
from tests.installation import trainings_of
from tests.integration.ready_installation import has_editor
from worker.adapters.jupyter_status import SocketConnection

GOAL = 5.0
"""Per cent of a core."""
KERNEL_SECONDS = 60
SETTLED_SECONDS = 40
"""The watch has asked each of them as seldom as it asks later."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notebooks", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120.0)
    told = parser.parse_args(arguments)
    with a_house("sqlite", told.notebooks) as house:
        wait_until(lambda: has_editor(house.cluster), 600, "JupyterLab")
        time.sleep(SETTLED_SECONDS)
        show_services("without notebooks", house, told.seconds)
        begun = time.monotonic()
        jobs = [start_one(house, number) for number in range(told.notebooks)]
        wait_until(lambda: count_ready(house.cluster) == told.notebooks, 1800, "all notebooks", pause=0.5)
        print(f"{told.notebooks} notebooks are ready after {time.monotonic() - begun:.0f} s")
        for job_id in jobs:
            start_kernel(house.cluster, job_id)
        time.sleep(SETTLED_SECONDS)
        used = show_services(f"with {told.notebooks} idle notebooks", house, told.seconds)
        show_notebooks(house, told.notebooks)
    print(f"goal: at most {GOAL:.0f} % of a core: {'kept' if used <= GOAL else 'MISSED'} ({used:.1f} %)")


def start_one(house: House, number: int) -> int:
    made = trainings.create_training(
        *(house.cluster, house.actor, house.workspace_id, f"notes-{number}", ""),
        *(TrainingKind.ADVANCED, None, Visibility.PUBLIC, TRAINING_CODE),
    )
    return start_notebook(house.cluster, house.actor, made.id).id


def count_ready(cluster: Cluster) -> int:
    ready = select(func.count()).select_from(Notebook).join(Job, Job.id == Notebook.job_id)
    with cluster.store.read() as session:
        return session.scalar(ready.where(Notebook.ready_attempt == Job.fence)) or 0


def start_kernel(cluster: Cluster, job_id: int) -> None:
    with cluster.store.read() as session:
        token, fence = session.get_one(Notebook, job_id).token, session.get_one(Job, job_id).fence
    connection = SocketConnection(socket_path(cluster.settings, job_id, fence))
    try:
        connection.connect()
        connection.sock.settimeout(KERNEL_SECONDS)
        headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        connection.request("POST", f"{base_path(job_id)}api/kernels", "{}", headers)
        status = connection.getresponse().status
        assert status == 201, f"the kernel of job-{job_id} was not started: {status}"
    finally:
        connection.close()


def show_services(what: str, house: House, seconds: float) -> float:
    """Prints the CPU and memory of each service over so many seconds; returns per cent of a core."""
    before, begun = use_of(house.installation), time.monotonic()
    time.sleep(seconds)
    after, took = use_of(house.installation), time.monotonic() - begun
    cpu, memory = Counter[str](), Counter[str]()
    for key, use in after.items():
        cpu[key[0]] += use.cpu_seconds - before.get(key, ProcessUse(0, use.cpu_seconds, 0)).cpu_seconds
        memory[key[0]] += use.pss
    total = 100 * cpu.total() / took
    print(f"services {what}: {total:.1f} % of a core, {memory.total() / 2**20:.0f} MiB (PSS)")
    for name in sorted(memory):
        print(f"  {name:<20} {100 * cpu[name] / took:5.1f} %  {memory[name] / 2**20:6.0f} MiB")
    return total


def show_notebooks(house: House, count: int) -> None:
    tops = trainings_of(house.installation.places)
    memory = 0
    for each in {below for top in tops for below in (top, *top.children(recursive=True))}:
        with contextlib.suppress(psutil.NoSuchProcess):
            memory += each.memory_full_info().pss
    print(f"the notebooks themselves: {memory / 2**20:.0f} MiB (PSS), {memory / 2**20 / count:.0f} MiB each")


if __name__ == "__main__":
    main()
