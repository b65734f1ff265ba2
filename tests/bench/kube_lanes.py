"""One run, submitted to us and by kubectl as somebody would write it by hand: a Job, or an MPIJob over two nodes."""

import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cluster.domain.kube.tenancies import UNIT, Tenancy
from tests.api_server import ADMINISTRATOR
from tests.bench.clients import Client
from tests.bench.kube_city import IMAGE, City
from tests.shelf import find_programs
from worker.kube import names
from worker.kube.api import Thing
from worker.kube.kinds import head

COMMAND = ("sh", "stamp.sh")
Submit = Callable[[int, float], list[str]]
"""So many at once that last so many seconds; the names of those batch Jobs whose pod is the run."""


@dataclass(frozen=True)
class Shape:
    """What is measured, on `nodes` of `gpus`; each run has `units`, and a gang one on each of its nodes."""

    kind: str
    nodes: int
    gpus: int
    units: int

    @property
    def tenancy(self) -> Tenancy:
        """Of the other lane."""
        return Tenancy(990_001, "plain", self.nodes * self.gpus, True)

    def main_of(self, name: str) -> str:
        """The MPI operator makes a Job of its own for the launcher."""
        return f"{name}-launcher" if self.kind == "MPIJob" else name


SHAPES = {"job": Shape("Job", 10, 8, 1), "gang": Shape("MPIJob", 80, 1, 2)}


def by_us(city: City, shape: Shape) -> Submit:
    body = {"training_id": city.trainings[0], "units": shape.units, "name": "stamp", "command": list(COMMAND)}

    def submit(count: int, seconds: float) -> list[str]:
        city.player.seconds = seconds
        # One connection per call, as a command has: the portal closes those that are still for 15 s.
        with closing(Client(city.installation.port, city.token)) as client:
            ids = [client.ask("POST", "/api/v1/jobs", body, 201)["id"] for _ in range(count)]
        return [shape.main_of(names.name_of(job, 1)) for job in ids]

    return submit


def by_kubectl(city: City, shape: Shape, folder: Path) -> Submit:
    program = find_programs("kubectl")["kubectl"]
    words = [str(program), f"--kubeconfig={city.server.kubeconfig(ADMINISTRATOR)}", "create", "-f"]
    made = iter(range(1_000_000))

    def submit(count: int, seconds: float) -> list[str]:
        things = [plain(shape, f"plain-{next(made)}", seconds) for _ in range(count)]
        file = folder / "jobs.yaml"
        file.write_text(yaml.dump_all(things, Dumper=Spelt))
        subprocess.run([*words, str(file)], check=True, stdout=subprocess.DEVNULL)
        return [shape.main_of(thing["metadata"]["name"]) for thing in things]

    return submit


class Spelt(yaml.SafeDumper):
    """Each object in full, as kubectl reads them: nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def plain(shape: Shape, name: str, seconds: float) -> Thing:
    """Within `restricted`."""
    place = names.namespace_of(shape.tenancy.workspace)
    about = head(shape.kind, name, place, {names.QUEUE_LABEL: names.LOCAL_QUEUE})
    make = plain_gang if shape.kind == "MPIJob" else plain_job
    return about | {"spec": make(shape.units, seconds)}


def plain_job(units: int, seconds: float) -> Thing:
    """It goes once it has ended, as ours do."""
    pod = plain_pod("run", list(COMMAND), units, seconds)
    return {"backoffLimit": 0, "ttlSecondsAfterFinished": 0, "template": pod}


def plain_gang(pods: int, seconds: float) -> Thing:
    """The fields by which the MPI operator begins are those of ours."""
    launcher = plain_pod("launcher", ["mpirun", *COMMAND], 0, seconds)
    worker = plain_pod("worker", ["/usr/sbin/sshd", "-De"], 1)
    return {
        "slotsPerWorker": 1,
        "launcherCreationPolicy": "WaitForWorkersReady",
        "sshAuthMountPath": "/home/mpiuser/.ssh",
        "mpiImplementation": "OpenMPI",
        "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "restartPolicy": "Never", "template": launcher},
            "Worker": {"replicas": pods, "restartPolicy": "Never", "template": worker},
        },
    }


def plain_pod(name: str, command: list[str], units: int, seconds: float | None = None) -> Thing:
    """One that ends by itself is the run."""
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
        "runAsUser": 1000,
    }
    asked = {"cpu": "4", "memory": "64Gi"} | ({UNIT: str(units)} if units else {})
    container = {"name": name, "image": IMAGE, "command": command, "securityContext": secure}
    container["resources"] = {"requests": asked, "limits": asked}
    made: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    ends = {"metadata": {"annotations": {"simulated/seconds": f"{seconds}s"}}}
    return made | (ends if seconds is not None else {})
