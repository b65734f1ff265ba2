"""kill -9 of everything, the database too, while jobs run and 10,000 wait: when is all of it right again?

Right is: the portal answers; every acknowledged job is there once; what ran still runs, in the same attempt; what was
killed with its wrapper runs again, in the next attempt; every unit is held once; and a job submitted now starts as
soon as a unit is free. Slurm loses its controller right after 40 acknowledged `sbatch`.
"""

import os
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import psutil
from sqlalchemy import select

from cluster.domain.states import AttemptState, JobState
from cluster.store.jobs import Attempt, Job
from cluster.store.nodes import Allocation
from tests.bench.baselines.slurm import Slurm
from tests.bench.bench_installation import House, a_house, wait_until
from tests.bench.bench_run import DURABLE, OURS, SLURM, Ground
from tests.bench.bulk_rows import fill
from tests.bench.rest_clients import Client
from tests.installation import trainings_of
from worker.embedded.supervisor_client import SupervisorClient

MEASURE = "P13"
TITLE = "Everything is killed"
RUNNING, WITH_WRAPPER, JUST_BEFORE = 20, 5, 40
PATIENCE = 120.0


def run(ground: Ground) -> None:
    waiting = ground.few(500, 10_000)
    with a_house("postgresql", slots=RUNNING) as house:
        fill(house.cluster, house.elsewhere, waiting)
        running = [submit(house, f"runs-{number}") for number in range(RUNNING)]
        wait_until(lambda: house.states_of(running) == {JobState.RUNNING}, PATIENCE, "20 jobs run")
        for number in range(ground.few(1, 3)):
            # Others each time: a job whose wrapper has vanished three times is believed to be the cause itself.
            victims = running[number * WITH_WRAPPER : (number + 1) * WITH_WRAPPER]
            running = kill_and_come_back(ground, house, running, victims, waiting)
        for process in trainings_of(house.installation.places):
            process.kill()
    if ground.slurm:
        for _ in range(ground.few(1, 3)):
            lose_the_controller(ground, ground.slurm)


def submit(house: House, name: str) -> int:
    body = {"training_id": house.training_id, "units": 1, "name": name, "command": ["sleep", "100000"]}
    client = Client(house.port, house.token)
    try:
        return int(client.ask("POST", "/api/v1/jobs", body, 201)["id"])
    finally:
        client.close()


def attempts_of(house: House, jobs: list[int]) -> dict[int, int]:
    """The living attempt's number by job."""
    query = select(Attempt.job_id, Attempt.number).where(
        Attempt.job_id.in_(jobs), Attempt.ended_at.is_(None), Attempt.state == AttemptState.RUNNING
    )
    with house.cluster.store.read() as session:
        return {row[0]: row[1] for row in session.execute(query)}


def kill_and_come_back(
    ground: Ground, house: House, running: list[int], victims: list[int], waiting: int
) -> list[int]:
    """The jobs that run afterwards; the victims' wrappers are killed, too."""
    before = attempts_of(house, running)
    with ThreadPoolExecutor(8) as pool:
        acknowledged = list(pool.map(lambda number: submit(house, f"late-{number}"), range(JUST_BEFORE)))
    kill_everything(house, victims)
    begun = time.monotonic()
    assert house.server
    house.cluster.store.close()
    house.server.start()
    house.installation.up()
    wait_until(lambda: house.installation.health() == "ok", PATIENCE, "the portal answers", pause=0.02)
    answers = time.monotonic() - begun
    wait_until(lambda: runs_as_before(house, before, victims), PATIENCE, "all jobs run as they should")
    client = Client(house.port, house.token)
    stopped = running[-1]
    client.ask("POST", f"/api/v1/jobs/{stopped}/stop", None, 202)
    wait_until(lambda: house.states_of(acknowledged) != {JobState.WAITING}, PATIENCE, "a waiting job starts")
    right = time.monotonic() - begun
    check(house, acknowledged, waiting)
    note = DURABLE[OURS]
    ground.ledger.value(MEASURE, "the portal answers", OURS, "s", answers, note)
    ground.ledger.value(MEASURE, "everything is right", OURS, "s", right, note)
    ground.ledger.value(MEASURE, f"lost of {JUST_BEFORE} acknowledged jobs", OURS, "jobs", 0, note)
    begun_now = [job for job in acknowledged if job in attempts_of(house, acknowledged)]
    drop(house, client, [job for job in acknowledged if job not in begun_now])
    return [job for job in running if job != stopped] + begun_now


def kill_everything(house: House, victims: list[int]) -> None:
    """The process manager first, so that it starts nothing again; then services, wrappers and the database."""
    supervisor = psutil.Process(SupervisorClient(house.installation.places).read_pid())
    doomed = [supervisor, *supervisor.children(recursive=True)]
    folders = [f"/jobs/{job}/" for job in victims]
    doomed += [
        each
        for each in trainings_of(house.installation.places)
        if any(folder in word for word in each.cmdline() for folder in folders)
    ]
    for process in doomed:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    assert house.server
    house.server.kill()


def runs_as_before(house: House, before: dict[int, int], victims: list[int]) -> bool:
    """Same attempts, but the next one where the wrapper had died."""
    wanted = {job: number + (job in victims) for job, number in before.items()}
    return attempts_of(house, list(before)) == wanted


def check(house: House, acknowledged: list[int], waiting: int) -> None:
    """Nothing is lost and no unit is held twice."""
    with house.cluster.store.read() as session:
        found = session.scalars(select(Job.id).where(Job.id.in_(acknowledged))).all()
        held = session.scalars(select(Allocation.unit_id).where(Allocation.ended_at.is_(None))).all()
        elsewhere = len(session.scalars(select(Job.id).where(Job.name == "filled")).all())
    assert sorted(found) == sorted(acknowledged), "an acknowledged job is not there"
    assert elsewhere == waiting, f"{elsewhere} of {waiting} waiting jobs"
    assert max(Counter(held).values()) == 1, "a unit is held twice"


def drop(house: House, client: Client, jobs: list[int]) -> None:
    for job in jobs:
        client.ask("POST", f"/api/v1/jobs/{job}/stop", None, 202)


def lose_the_controller(ground: Ground, cluster: Slurm) -> None:
    known = cluster.count("true.sh")
    for _ in range(JUST_BEFORE):
        cluster.submit("--licenses=blocked:1", "--nice=1000", "--output=/dev/null", "true.sh")
    cluster.kill_controller()
    begun = time.monotonic()
    cluster.start_controller()
    cluster.wait_until_it_answers()
    answers = time.monotonic() - begun
    left = cluster.count("true.sh") - known
    note = DURABLE[SLURM]
    ground.ledger.value(MEASURE, "the portal answers", SLURM, "s", answers, "squeue answers")
    lost = JUST_BEFORE - left
    ground.ledger.value(MEASURE, f"lost of {JUST_BEFORE} acknowledged jobs", SLURM, "jobs", lost, note)
    cluster.cancel_waiting()
