"""The product as `make up` starts it, on either database, with a workspace to measure in and others that wait."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from cluster.domain.people.actor import Actor
from cluster.domain.states import EnvironmentState, JobState, TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.images import environments
from cluster.services.nodes import queries
from cluster.services.people import api_tokens
from cluster.settings import Settings
from cluster.store.jobs import Job
from tests.bench.bulk_rows import a_line_of_workspaces
from tests.bench.programs import TRAINING_CODE
from tests.builders import a_workspace, actor_of, an_administrator
from tests.databases import DURABLE, PostgresqlServer, postgresql_server
from tests.installation import Installation, an_installation
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.embedded.state_directory import ensure_state_directory

WORKSPACES = 200
"""Besides the one that is measured."""
SLOTS = 2


class TooSlow(Exception):
    """What was waited for did not come in time."""


@dataclass
class House:
    """`training_id` has programs that say when they run; `elsewhere` are the ids of other workspaces' trainings."""

    kind: str
    installation: Installation
    cluster: Cluster
    server: PostgresqlServer | None
    actor: Actor
    token: str
    workspace_id: int
    training_id: int
    elsewhere: list[int]

    @property
    def port(self) -> int:
        return self.installation.port

    @property
    def storage(self) -> Path:
        return self.cluster.settings.storage_dir

    def states_of(self, job_ids: Collection[int]) -> set[JobState]:
        with self.cluster.store.read() as session:
            return set(session.scalars(select(Job.state).where(Job.id.in_(job_ids))))


def wait_until(is_so: Callable[[], object], seconds: float, what: str, pause: float = 0.05) -> float:
    """Seconds that it took. Raises TooSlow."""
    begun = time.monotonic()
    while not is_so():
        if time.monotonic() - begun > seconds:
            raise TooSlow(f"not within {seconds:.0f} s: {what}")
        time.sleep(pause)
    return time.monotonic() - begun


@contextmanager
def a_house(kind: str, slots: int = SLOTS) -> Iterator[House]:
    """`kind` is postgresql (durable: fsync and synchronous_commit on) or sqlite (synchronous=FULL)."""
    with ExitStack() as stack:
        server = stack.enter_context(postgresql_server(DURABLE)) if kind == "postgresql" else None
        url = stack.enter_context(server.migrated()) if server else None
        installation = stack.enter_context(an_installation())
        ensure_state_directory(installation.places)
        first = {"GROUNDCREW_CPU_SLOTS": str(slots)} | ({"GROUNDCREW_DATABASE_URL": url} if url else {})
        write_settings_file(installation.places.settings_file, first)
        installation.up()
        settings = Settings.from_environment(read_settings_file(installation.places.settings_file))
        cluster = open_cluster(settings)
        stack.callback(cluster.store.close)
        wait_until(lambda: is_environment_ready(cluster), 1800, "the training environment")
        wait_until(lambda: queries.count_working_units(cluster) == slots, 30, f"{slots} CPU slots")
        yield furnish(kind, installation, cluster, server, slots)


def is_environment_ready(cluster: Cluster) -> bool:
    environment = environments.read_default_environment(cluster)
    return environment is not None and environment.state is EnvironmentState.READY


def furnish(
    kind: str, installation: Installation, cluster: Cluster, server: PostgresqlServer | None, slots: int
) -> House:
    person = an_administrator(cluster, "benchmark")
    actor = actor_of(person)
    workspace = a_workspace(cluster, person, units=slots, name="measured")
    training = trainings.create_training(
        cluster,
        actor,
        workspace.id,
        "stamps",
        "",
        TrainingKind.ADVANCED,
        None,
        Visibility.PUBLIC,
        TRAINING_CODE,
    )
    _, token = api_tokens.create_api_token(cluster, actor, "benchmark", ["write"], 1)
    elsewhere = a_line_of_workspaces(cluster, person, WORKSPACES)
    return House(kind, installation, cluster, server, actor, token, workspace.id, training.id, elsewhere)
