"""The product with Kubernetes below it and no machine below that: nodes are simulated, all else is real.

Real are the API server, etcd, the controllers, kube-scheduler, Kueue with its webhooks and the MPI operator; portal,
scheduler and PostgreSQL as `make up` starts them. kwok says what kubelets would, the player leaves what shims would,
and heartbeats come from here. No image is pulled, no program runs, and nothing crosses a network.
"""

import json
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from cluster.domain.states import TrainingKind, UnitKind, Visibility
from cluster.services import trainings
from cluster.services.context import Cluster
from cluster.services.nodes import node_tokens, queries
from cluster.services.people import api_tokens
from cluster.settings import Settings
from cluster.store.workspaces import Workspace
from tests.bench.bench_installation import is_environment_ready, wait_until
from tests.bench.programs import TRAINING_CODE
from tests.bench.rest_clients import Client
from tests.builders import a_workspace, actor_of, an_administrator
from tests.databases import DURABLE, postgresql_server
from tests.installation import Installation, an_installation
from tests.kube_api.access import give_access
from tests.kube_api.kueue import JOBS, MPI_JOBS, kueue
from tests.kubernetes.api_server import SCHEDULER, ApiServer, api_server, mpi_operator
from tests.kwok.nodes import add_nodes, simulated_nodes
from tests.kwok.player import Player
from worker.composition import open_cluster
from worker.embedded.settings_file import read_settings_file, write_settings_file
from worker.embedded.state_directory import ensure_state_directory
from worker.kubernetes.object_names import workspace_namespace

IMAGE = "registry.example/training@sha256:1"
BEAT_SECONDS = 4.5
POLICY = """apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {{level: Metadata, users: ["{user}"]}}
- {{level: None}}
"""


@dataclass
class City:
    """`trainings` are one of each workspace, without a gap between their ids."""

    server: ApiServer
    installation: Installation
    cluster: Cluster
    player: Player
    token: str
    workspaces: list[Workspace]
    trainings: list[int]
    asked_log: Path
    read_to: int = field(default=0)

    def asked(self) -> Counter[str]:
        """What our scheduler has asked of the API server since the last call: `verb resource`."""
        with self.asked_log.open() as file:
            file.seek(self.read_to)
            whole, self.read_to = file.read(), file.tell()
        lines = [json.loads(line) for line in whole.splitlines() if line]
        return Counter(f"{one['verb']} {one.get('objectRef', {}).get('resource', '')}" for one in lines)

    def process(self, name: str) -> psutil.Process:
        if name == "kube-apiserver":
            return psutil.Process(self.server.server.pid)
        return psutil.Process(self.installation.pids()[name])


@contextmanager
def a_city(count: int, gpus: int, seconds: float, places: int) -> Iterator[City]:
    """`count` nodes of `gpus`, dealt out to `places` workspaces; each run lasts `seconds`. Raises NotCompiled."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gc-city-")))
        server = stack.enter_context(a_cluster_of_nodes(folder, count, gpus))
        database = stack.enter_context(postgresql_server(DURABLE))
        url = stack.enter_context(database.migrated())
        installation = stack.enter_context(an_installation())
        ensure_state_directory(installation.places)
        told = {
            "GROUNDCREW_CPU_SLOTS": "0",
            "GROUNDCREW_DATABASE_URL": url,
            "GROUNDCREW_EXECUTOR": "kubernetes",
            "GROUNDCREW_KUBECONFIG": str(server.kubeconfig(SCHEDULER)),
            "GROUNDCREW_KUBERNETES_IMAGE": IMAGE,
        }
        write_settings_file(installation.places.settings_file, told)
        installation.up()
        cluster = open_cluster(
            Settings.from_environment(read_settings_file(installation.places.settings_file))
        )
        stack.callback(cluster.store.close)
        stack.enter_context(
            agents(cluster, installation.port, [name_of(each) for each in range(count)], gpus)
        )
        wait_until(lambda: is_environment_ready(cluster), 1800, "the training environment")
        wait_until(lambda: queries.count_working_units(cluster) == count * gpus, 60, "the units of all nodes")
        player = stack.enter_context(Player(server.api, seconds))
        city = furnish(server, installation, cluster, player, folder / "asked.log", places, count * gpus)
        wait_until(lambda: all(map(is_kept(server), city.workspaces)), 120, "the workspaces in Kubernetes")
        yield city


def name_of(number: int) -> str:
    return f"simulated-{number:03}"


@contextmanager
def a_cluster_of_nodes(folder: Path, count: int, gpus: int) -> Iterator[ApiServer]:
    """Kubernetes with all that places pods; what our scheduler asks of it is written down."""
    (folder / "policy.yaml").write_text(POLICY.format(user=SCHEDULER))
    told = (f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={folder}/asked.log")
    with api_server(folder, *told, "--audit-log-mode=batch") as server, ExitStack() as stack:
        give_access(server)
        stack.enter_context(simulated_nodes(server))
        stack.enter_context(kueue(server, (JOBS, MPI_JOBS), is_asked=True))
        stack.enter_context(mpi_operator(server))
        add_nodes(server, [name_of(each) for each in range(count)], gpus)
        yield server


def furnish(
    server: ApiServer,
    installation: Installation,
    cluster: Cluster,
    player: Player,
    asked: Path,
    places: int,
    units: int,
) -> City:
    person = an_administrator(cluster, "benchmark")
    actor = actor_of(person)
    made = [a_workspace(cluster, person, units=units // places, name=f"lab-{n}") for n in range(places)]
    submitted = [
        trainings.create_training(
            cluster,
            actor,
            each.id,
            "stamps",
            "",
            TrainingKind.ADVANCED,
            None,
            Visibility.PUBLIC,
            TRAINING_CODE,
        ).id
        for each in made
    ]
    _, token = api_tokens.create_api_token(cluster, actor, "benchmark", ["write"], 1)
    return City(server, installation, cluster, player, token, made, submitted, asked)


def is_kept(server: ApiServer):  # type: ignore[no-untyped-def]
    def has_queue(workspace: Workspace) -> bool:
        queue = server.api.get("LocalQueue", "units", workspace_namespace(workspace.id))
        said = ((queue or {}).get("status") or {}).get("conditions") or []
        return any(each["type"] == "Active" and each["status"] == "True" for each in said)

    return has_queue


@contextmanager
def agents(cluster: Cluster, port: int, names: list[str], gpus: int) -> Iterator[None]:
    """Heartbeats of all nodes, spread over their pause, by the portal's REST as agents send them."""
    texts = [node_tokens.create_node_token(cluster, name, True) for name in names]
    is_over, troubles = threading.Event(), list[Exception]()

    def beat() -> None:
        try:
            with closing(Client(port, "")) as client:
                while not is_over.is_set():
                    for name, text in zip(names, texts, strict=True):
                        begun = time.monotonic()
                        client.headers["Authorization"] = f"Bearer {text}"
                        client.ask("POST", "/api/v1/heartbeats", report_of(name, gpus), 204)
                        is_over.wait(max(0.0, BEAT_SECONDS / len(names) - (time.monotonic() - begun)))
        except Exception as trouble:  # noqa: BLE001
            troubles.append(trouble)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        if troubles:
            raise troubles[0]


def report_of(name: str, gpus: int) -> dict[str, object]:
    units = [
        {
            "identity": f"GPU-{name}-{position}",
            "kind": UnitKind.GPU.value,
            "position": position,
            "model": "simulated",
            "memory_bytes": 80 * 2**30,
            "state": "ok",
            "simulated": True,
            "island": None,
        }
        for position in range(gpus)
    ]
    return {"boot_id": f"boot-{name}", "facts": {"cpus": 128, "memory_bytes": 2**40}, "units": units}
