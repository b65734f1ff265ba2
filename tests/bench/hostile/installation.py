"""The product as `make up` starts it, with people who work in it and one member who is up to no good."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import func, select

from cluster.domain.states import JobState, OperationState, TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.people import api_tokens
from cluster.services.people.sessions import begin_session
from cluster.store.operations import Operation
from cluster.store.users import User
from cluster.store.workspaces import Workspace
from tests.bench.bench_installation import House, a_house, wait_until
from tests.bench.bulk_rows import fill
from tests.bench.rest_clients import Client
from tests.builders import a_user, a_workspace, actor_of
from worker.embedded.supervisor_client import SupervisorClient

HOST = "127.0.0.1"
PEOPLE = 3
WAITING_JOBS = 300
SESSIONS = 25
"""Of the attacker: as many browsers as one person may sign in with."""
METRICS_FILES = 3
METRICS_MIB = 32
LOG_LINES, LINE_BYTES = 40, 256 * 1024

PROGRAM = f"""\
import json, os, sys

if sys.argv[1] == "log":
    for _ in range({LOG_LINES}):
        sys.stdout.write("A" * {LINE_BYTES - 1} + "\\n")
elif sys.argv[1] == "metrics":
    room, step = {METRICS_MIB} * 1024 * 1024, 0
    with open(os.path.join(os.environ["GROUNDCREW_OUT"], "metrics.jsonl"), "w") as file:
        while room > 0:
            step += 1
            scalars = {{"loss/train": 1 / step, "accuracy/validation": 1 - 1 / step}}
            room -= file.write(json.dumps({{"step": step, "epoch": step / 1000, "scalars": scalars}}) + "\\n")
else:
    for step in range(1, 201):
        print("step", step, "loss", 1 / step)
        with open(os.path.join(os.environ["GROUNDCREW_OUT"], "metrics.jsonl"), "a") as file:
            file.write(json.dumps({{"step": step, "epoch": step / 20, "scalars": {{"loss/train": 1 / step}}}}) + "\\n")
"""


@dataclass(frozen=True)
class Person:
    """Somebody who has signed in; `job_id` is a small job of their own that has ended."""

    cookies: tuple[str, ...]
    token: str
    workspace_id: int
    training_id: int
    job_id: int

    @property
    def as_browser(self) -> dict[str, str]:
        return {"Cookie": self.cookies[0]}

    @property
    def as_program(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True)
class Target:
    """All that an attacker knows: an address, an own account, and own jobs that wrote what nobody expects."""

    host: str
    port: int
    attacker: Person
    log_job: int
    metrics_jobs: tuple[int, ...]
    folder: str
    """Where the archives lie that are uploaded."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Target":
        attacker = Person(**values.pop("attacker"))
        return cls(attacker=attacker, **values)


@dataclass(frozen=True)
class Site:
    house: House
    people: tuple[Person, ...]
    target: Target

    def service_pids(self) -> dict[str, int]:
        """By the names that `make status` shows."""
        processes = SupervisorClient(self.house.installation.places).list_services()
        return {each.name: each.pid for each in processes if each.pid}

    def restart_portal(self) -> None:
        SupervisorClient(self.house.installation.places).restart_service("portal")

    def has_operations(self) -> bool:
        """Whether something that was uploaded is still being worked on."""
        open_states = (OperationState.REQUESTED, OperationState.RUNNING)
        query = select(func.count(Operation.id)).where(Operation.state.in_(open_states))
        with self.house.cluster.store.read() as session:
            return bool(session.scalar(query))


@contextmanager
def a_site(folder: str) -> Iterator[Site]:
    """On SQLite, as the embedded set comes. Everything goes with it, however the run ends."""
    with a_house("sqlite") as house:
        yield furnish(house, folder)


def furnish(house: House, folder: str) -> Site:
    people = tuple(a_person(house, f"person-{number}") for number in range(1, PEOPLE + 1))
    attacker = a_person(house, "attacker", SESSIONS)
    log_job = run_job(house, attacker, "log")
    metrics_jobs = tuple(run_job(house, attacker, "metrics") for _ in range(METRICS_FILES))
    fill(house.cluster, house.elsewhere, WAITING_JOBS)
    target = Target(HOST, house.port, attacker, log_job, metrics_jobs, folder)
    return Site(house, people, target)


def a_person(house: House, name: str, sessions: int = 1) -> Person:
    """With a workspace, a training and a job of their own."""
    cluster = house.cluster
    user: User = a_user(cluster, name)
    workspace: Workspace = a_workspace(cluster, user, units=2, name=f"of-{name}")
    training = trainings.create_training(
        cluster,
        actor_of(user),
        workspace.id,
        "writes",
        "",
        TrainingKind.ADVANCED,
        None,
        Visibility.PUBLIC,
        [("program.py", PROGRAM.encode())],
    )
    _, token = api_tokens.create_api_token(cluster, actor_of(user), "benchmark", ["write"], 1)
    secrets = [begin_session(cluster, user.id, HOST, "benchmark") for _ in range(sessions)]
    cookies = tuple(f"gc_session_{house.port}={secret}" for secret in secrets)
    person = Person(cookies, token, workspace.id, training.id, 0)
    job_id = run_job(house, person, "small")
    return Person(cookies, token, workspace.id, training.id, job_id)


def run_job(house: House, person: Person, kind: str) -> int:
    """Submitted over REST and waited for; its files are what the bench is about."""
    client = Client(house.port, person.token)
    body = {"training_id": person.training_id, "name": kind, "command": ["python3", "program.py", kind]}
    job_id: int = client.ask("POST", "/api/v1/jobs", body, expected=201)["id"]

    def state() -> str:
        return str(client.ask("GET", f"/api/v1/jobs/{job_id}")["state"])

    wait_until(lambda: state() in (JobState.FINISHED, JobState.FAILED), 60, f"job-{job_id} ({kind}) ends")
    if state() != JobState.FINISHED:
        raise RuntimeError(f"job-{job_id} ({kind}) failed: {client.ask('GET', f'/api/v1/jobs/{job_id}/why')}")
    client.close()
    return job_id


def answers_soon(site: Site, within: float) -> bool:
    """Whether /health answers in that time."""
    begun = time.monotonic()
    try:
        return site.house.installation.health() == "ok" and time.monotonic() - begun <= within
    except (OSError, ValueError):
        return False
