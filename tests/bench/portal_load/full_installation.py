"""The product as `make up` starts it over rows of full size, with people who have signed in and a training to run."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from urllib.request import urlopen

import psutil

from cluster.domain.people.actor import Actor
from cluster.domain.states import TrainingKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.people import api_tokens
from cluster.services.people.sessions import begin_session
from cluster.settings import Settings
from tests.bench.bench_installation import is_environment_ready, wait_until
from tests.bench.full_size.database_file import copy_full_size, keep_nodes_ready
from tests.bench.full_size.postgresql_template import full_size_database
from tests.bench.full_size.rows import administrator_ids, member_ids, user_name
from tests.bench.full_size.sizes import SEAL_SECRET, InstallationSize
from tests.bench.programs import TRAINING_CODE
from tests.databases import DURABLE, postgresql_server
from tests.installation import Installation, an_installation
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.embedded.state_directory import ensure_state_directory
from worker.embedded.supervisor_client import SupervisorClient
from worker.executors.simulated_cluster import SimulatedCluster
from worker.executors.simulated_run import Behaviour

MEMBERS = 12


@dataclass(frozen=True)
class SignedInPerson:
    """Somebody with a browser and a token; `workspace_id` is where they are a member."""

    user_id: int
    is_administrator: bool
    workspace_id: int
    cookie: str
    token: str


@dataclass
class FullInstallation:
    """`training_id` is one whose jobs are simulated; its workspace has no other job."""

    size: InstallationSize
    installation: Installation
    cluster: Cluster
    simulated: SimulatedCluster
    training_id: int

    @property
    def port(self) -> int:
        return self.installation.port

    def behave(self, seconds: float) -> None:
        """Jobs that start from now on run for so long."""
        self.simulated.set_behaviour(Behaviour(seconds=seconds))

    def cpu_seconds(self) -> dict[str, float]:
        """What each service has used so far, with the processes below it."""
        return {name: cpu_of(psutil.Process(pid)) for name, pid in self.installation.pids().items()}

    def memory(self, service: str) -> int:
        """Bytes of proportional memory (PSS) of a service with the processes below it."""
        process = psutil.Process(self.installation.pids()[service])
        return sum(each.memory_full_info().pss for each in [process, *process.children(recursive=True)])

    def sign_in(self, user_id: int, workspace_id: int) -> SignedInPerson:
        return sign_in(self.cluster, self.size, self.port, user_id, workspace_id)

    def people(self) -> list[SignedInPerson]:
        return sign_in_people(self.cluster, self.size, self.port)


def sign_in(
    cluster: Cluster, size: InstallationSize, port: int, user_id: int, workspace_id: int
) -> SignedInPerson:
    is_administrator = user_id <= size.administrators
    actor = Actor(user_id, user_name(size, user_id), is_administrator)
    name = f"measure-{uuid.uuid4().hex[:12]}"  # One person has no two tokens of a name.
    _, token = api_tokens.create_api_token(cluster, actor, name, ["write"], 1)
    secret = begin_session(cluster, user_id, "127.0.0.1", "a measurement")
    return SignedInPerson(user_id, is_administrator, workspace_id, f"gc_session_{port}={secret}", token)


def sign_in_people(cluster: Cluster, size: InstallationSize, port: int) -> list[SignedInPerson]:
    """All administrators, and members of as many different workspaces."""
    chosen = [(user_id, 1) for user_id in administrator_ids(size)]
    chosen += [(member_ids(size, number)[1], number) for number in range(1, MEMBERS + 1)]
    return [sign_in(cluster, size, port, *one) for one in chosen]


def cpu_of(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in [process, *process.children(recursive=True)]]
    return sum(one.user + one.system for one in times)


@contextmanager
def full_installation(kind: str, size: InstallationSize) -> Iterator[FullInstallation]:
    """On `postgresql` (durable) or `sqlite`; jobs are simulated, everything else is real."""
    with ExitStack() as stack:
        installation = stack.enter_context(an_installation())
        places = installation.places
        ensure_state_directory(places)
        more = {}
        if kind == "postgresql":
            server = stack.enter_context(postgresql_server(DURABLE))
            more["GROUNDCREW_DATABASE_URL"] = stack.enter_context(full_size_database(server, size))
        else:
            copy_full_size(places.database_file, size)
        first = {
            "GROUNDCREW_CPU_SLOTS": "0",
            "GROUNDCREW_EXECUTOR": "simulated",
            "GROUNDCREW_AUDIT_KEY": SEAL_SECRET,
        }
        write_settings_file(places.settings_file, first | more)
        installation.up()
        settings = Settings.from_environment(read_settings_file(places.settings_file))
        cluster = open_cluster(settings)
        stack.callback(cluster.store.close)
        keep_nodes_ready(cluster)
        wait_until(lambda: is_environment_ready(cluster), 1800, "the training environment")
        training = trainings.create_training(
            cluster,
            Actor(1, user_name(size, 1), True),
            size.workspaces,
            "simulated",
            "",
            TrainingKind.ADVANCED,
            None,
            Visibility.PUBLIC,
            TRAINING_CODE,
        )
        simulated = SimulatedCluster(settings.state_dir / "simulated")
        yield FullInstallation(size, installation, cluster, simulated, training.id)


def read_cache_counters(port: int) -> dict[str, float]:
    """Counters of caches among the portal's metrics: `…_cache_hits_total` and `…_cache_misses_total`; often none."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[:1] != "#"]
    return {
        name: float(value)
        for name, value in lines
        if "_cache_hits_total" in name or "_cache_misses_total" in name
    }


def services(installation: Installation) -> list[psutil.Process]:
    """supervisord and everything below it."""
    parent = psutil.Process(SupervisorClient(installation.places).read_pid())
    return [parent, *parent.children(recursive=True)]
