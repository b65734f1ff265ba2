"""One run, a Job or an MPIJob over two nodes: submitted to us, and by kubectl as bare as it can be, or the same one."""

import json
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import yaml

from cluster.domain.kubernetes.workspace_namespace import GPU_RESOURCE, WorkspaceNamespace
from tests.bench.kubernetes.simulated_cluster import IMAGE, City
from tests.bench.rest_clients import Client
from tests.kubernetes.api_server import ADMINISTRATOR
from tests.kubernetes.compiled_programs import find_programs
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesObject
from worker.kubernetes.object_kinds import object_head

COMMAND = ("sh", "stamp.sh")
SOMEBODY = "elsewhere.org"
A_NAME = "the-run"
"""Stands for the name of each."""
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
    def tenancy(self) -> WorkspaceNamespace:
        """Of the other lane."""
        return WorkspaceNamespace(990_001, "plain", self.nodes * self.gpus, True)

    def main_of(self, name: str) -> str:
        """The MPI operator makes a Job of its own for the launcher."""
        return f"{name}{self.ending}"

    def name_of(self, main: str) -> str:
        return main.removesuffix(self.ending)

    @property
    def ending(self) -> str:
        return "-launcher" if self.kind == "MPIJob" else ""


SHAPES = {"job": Shape("Job", 10, 8, 1), "gang": Shape("MPIJob", 80, 1, 2)}


def by_us(city: City, shape: Shape) -> Submit:
    body = {"training_id": city.trainings[0], "units": shape.units, "name": "stamp", "command": list(COMMAND)}

    def submit(count: int, seconds: float) -> list[str]:
        city.player.seconds = seconds
        # One connection per call, as a command has: the portal closes those that are still for 15 s.
        with closing(Client(city.installation.port, city.token)) as client:
            ids = [client.ask("POST", "/api/v1/jobs", body, 201)["id"] for _ in range(count)]
        return [shape.main_of(object_names.run_name(job, 1)) for job in ids]

    return submit


Make = Callable[[str, float], KubernetesObject]
"""The run of this name, that lasts so many seconds."""


def by_kubectl(city: City, shape: Shape, prefix: str, make: Make) -> Submit:
    program = find_programs("kubectl")["kubectl"]
    words = [str(program), f"--kubeconfig={city.server.kubeconfig(ADMINISTRATOR)}", "create", "-f"]
    made = iter(range(1_000_000))

    def submit(count: int, seconds: float) -> list[str]:
        things = [make(f"{prefix}-{next(made)}", seconds) for _ in range(count)]
        file = city.server.folder / "jobs.yaml"
        file.write_text(yaml.dump_all(things, Dumper=Spelt))
        subprocess.run([*words, str(file)], check=True, stdout=subprocess.DEVNULL)
        return [shape.main_of(thing["metadata"]["name"]) for thing in things]

    return submit


def copy_claims(city: City, shape: Shape) -> None:
    """The folders of our workspace, for the pods of the other lane."""
    api, place = city.server.api, object_names.workspace_namespace(shape.tenancy.workspace)
    ours = object_names.workspace_namespace(city.workspaces[0].id)
    for claim in api.list_all("PersistentVolumeClaim", namespace=ours).things:
        name, volume = claim["metadata"]["name"], api.get("PersistentVolume", claim["spec"]["volumeName"])
        assert volume is not None
        for_them = volume["spec"] | {"claimRef": {"namespace": place, "name": name}}
        by_them = claim["spec"] | {"volumeName": f"same-{name}"}
        api.create(object_head("PersistentVolume", f"same-{name}") | {"spec": for_them})
        api.create(object_head("PersistentVolumeClaim", name, place) | {"spec": by_them})


class Spelt(yaml.SafeDumper):
    """Each object in full, as kubectl reads them: nothing by reference."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def plain(shape: Shape) -> Make:
    """What Kueue and `restricted` want, and nothing that a training needs: no data, no code, no memory to share."""
    make = plain_gang if shape.kind == "MPIJob" else plain_job
    return lambda name, seconds: begin(shape, name) | {"spec": make(shape.units, seconds)}


def begin(shape: Shape, name: str) -> KubernetesObject:
    place = object_names.workspace_namespace(shape.tenancy.workspace)
    return object_head(shape.kind, name, place, {object_names.QUEUE_LABEL: object_names.LOCAL_QUEUE})


def same_as(made: KubernetesObject, shape: Shape) -> Make:
    """A run of ours as somebody else's: pods as large, on nodes that Kubernetes chooses, and gone once it has ended."""
    spec = json.loads(json.dumps(made["spec"]))
    (spec.get("runPolicy") or spec).pop("suspend")
    spec.pop("selector", None)
    spec |= {"ttlSecondsAfterFinished": 0} if shape.kind == "Job" else {}
    for template in templates_of(spec):
        about, pod = template["metadata"], template["spec"]
        for part in ("labels", "annotations"):
            about[part] = ours_renamed(about.get(part) or {})
        pod.pop("affinity")
        for constraint in pod.get("topologySpreadConstraints") or ():
            wanted = constraint["labelSelector"]["matchLabels"]
            wanted |= ours_renamed(wanted)
    text = json.dumps(spec).replace(object_names.LABEL_DOMAIN, SOMEBODY)

    def make(name: str, seconds: float) -> KubernetesObject:
        its = json.loads(text.replace(A_NAME, name))
        templates_of(its)[0]["metadata"]["annotations"]["simulated/seconds"] = f"{seconds}s"
        return begin(shape, name) | {"spec": its}

    return make


def templates_of(spec: KubernetesObject) -> list[KubernetesObject]:
    """That of the pod which is the run first."""
    roles = spec.get("mpiReplicaSpecs") or {"Launcher": spec}
    return [roles[role]["template"] for role in sorted(roles)]


def ours_renamed(labels: KubernetesObject) -> KubernetesObject:
    return {key: A_NAME for key in labels if key.startswith(object_names.LABEL_DOMAIN)}


def plain_job(units: int, seconds: float) -> KubernetesObject:
    """It goes once it has ended, as ours do."""
    pod = plain_pod("run", list(COMMAND), units, seconds)
    return {"backoffLimit": 0, "ttlSecondsAfterFinished": 0, "template": pod}


def plain_gang(pods: int, seconds: float) -> KubernetesObject:
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


def plain_pod(name: str, command: list[str], units: int, seconds: float | None = None) -> KubernetesObject:
    """One that ends by itself is the run."""
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
        "runAsUser": 1000,
    }
    asked = {"cpu": "4", "memory": "64Gi"} | ({GPU_RESOURCE: str(units)} if units else {})
    container = {"name": name, "image": IMAGE, "command": command, "securityContext": secure}
    container["resources"] = {"requests": asked, "limits": asked}
    made: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    ends = {"metadata": {"annotations": {"simulated/seconds": f"{seconds}s"}}}
    return made | (ends if seconds is not None else {})
