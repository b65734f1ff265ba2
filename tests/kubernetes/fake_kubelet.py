"""Plays kubelet and scheduler for tests: pods of a real API server become real processes between walls of their own.

A container is a process in namespaces of its own (mounts, process numbers), below a root that is the machine's system
read-only with the pod's mounts laid over it, as the pod's user and without privileges. So a shim is process 1 as in a
pod, sees the paths of a pod, and is ended as a kubelet would: SIGTERM, the grace, SIGKILL. What is left out: images,
network, limits of memory.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.kubernetes.pod_namespaces import start_container
from worker.kubernetes import object_names
from worker.kubernetes.api_client import (
    ApiConflict,
    ApiRefused,
    ApiUnreachable,
    KubernetesApi,
    KubernetesObject,
)

LOOKS_EVERY = 0.05
KILLED = 137
GONE_MEANWHILE = 404


@dataclass
class Container:
    """One pod's only container while it runs here."""

    process: "subprocess.Popen[bytes]"
    root: Path
    pod: KubernetesObject
    asked_at: float | None = None
    has_told: bool = False
    was_killed: bool = False


@dataclass
class Kubelet:
    """All nodes of a cluster at once; `images` are those that a node has."""

    api: KubernetesApi
    nodes: tuple[str, ...] = ("node-1", "node-2")
    python: str = sys.executable
    starts: bool = True
    """False: pods get a node, and then wait for ever."""
    instead: dict[str, list[str]] = field(default_factory=dict)
    """By a container's name: what is run in its place, for programs that this machine does not have."""
    gpus: dict[str, str] = field(default_factory=dict)
    """By a pod's node: what the device plugin would say."""
    containers: dict[str, Container] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)
    trouble: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> "Kubelet":
        for node in self.nodes:
            self.api.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}},
                }
            )
            self.say_ready(node)
        self.ground = tempfile.TemporaryDirectory(prefix="gc-pods-")
        self.thread = threading.Thread(target=self.loop, name="kubelet")
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()
        for container in self.containers.values():
            container.process.kill()
            container.process.wait()
        self.ground.cleanup()
        for node in self.nodes:
            self.api.delete("Node", node)
        if self.trouble:
            raise self.trouble[0]

    def say_ready(self, node: str, status: str = "True") -> None:
        ready = {"type": "Ready", "status": status, "reason": "Played", "lastTransitionTime": now()}
        self.api.patch("Node", node, "", {"status": {"conditions": [ready]}}, "status")

    def loop(self) -> None:
        while not self.is_over.wait(LOOKS_EVERY):
            try:
                self.look()
            except (ApiUnreachable, ApiConflict):
                continue  # A server that is away tells nothing, and a kubelet goes on.
            except (ApiRefused, OSError, KeyError, AssertionError) as error:
                if isinstance(error, ApiRefused) and error.status == GONE_MEANWHILE:
                    continue
                self.trouble.append(error)
                return

    def look(self) -> None:
        """At the pods of runs: what other tests put there stays as they say it is."""
        listed = self.api.list_all("Pod", object_names.label_selector(part=object_names.RUN_PART)).things
        pods = {pod["metadata"]["uid"]: pod for pod in listed if self.minds(pod)}
        for uid, pod in pods.items():
            if uid in self.containers:
                self.attend(self.containers[uid], pod)
            elif pod["metadata"].get("deletionTimestamp"):
                self.let_go(pod)
            elif pod.get("status", {}).get("phase") == "Pending":
                self.take(uid, pod)
        for uid in self.containers.keys() - pods.keys():
            self.kill(self.containers[uid])
            if self.containers[uid].process.poll() is not None:
                del self.containers[uid]

    def minds(self, pod: KubernetesObject) -> bool:
        """Also what has no node yet; simulated nodes are minded by others."""
        return pod["spec"].get("nodeName", self.nodes[0]) in self.nodes

    def take(self, uid: str, pod: KubernetesObject) -> None:
        """Bound to the first node that its affinity allows; begun in the next round."""
        if pod["spec"].get("schedulingGates"):
            return
        if not pod["spec"].get("nodeName"):
            wanted = nodes_wanted(pod) or self.nodes
            taken = [each["spec"].get("nodeName") for each in self.api.list_all("Pod").things]
            node = min((n for n in self.nodes if n in wanted), key=taken.count, default=None)
            if node is not None:
                self.bind(pod, node)
        elif self.starts and self.is_answering(pod["spec"]["nodeName"]):
            self.begin(uid, pod)

    def bind(self, pod: KubernetesObject, node: str) -> None:
        about = pod["metadata"]
        path = f"/api/v1/namespaces/{about['namespace']}/pods/{about['name']}/binding"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": about["name"]},
            "target": {"kind": "Node", "name": node},
        }
        self.api._ask("POST", path, {}, body)

    def is_answering(self, node: str) -> bool:
        found = self.api.get("Node", node)
        return bool(found) and found["status"]["conditions"][0]["status"] == "True"

    def begin(self, uid: str, pod: KubernetesObject) -> None:
        root, container = Path(self.ground.name) / uid, pod["spec"]["containers"][0]
        command = self.instead.get(container["name"], container["command"])
        gpus = self.gpus.get(pod["spec"]["nodeName"], "")
        process = start_container(root, pod, command, self.mounts_of(root, pod), gpus)
        self.containers[uid] = Container(process, root, pod)
        self.tell(pod, "Running", {"running": {"startedAt": now()}})

    def attend(self, container: Container, pod: KubernetesObject) -> None:
        if not self.is_answering(pod["spec"]["nodeName"]):
            return
        leaving = pod["metadata"].get("deletionTimestamp")
        code = container.process.poll()
        if code is not None and not container.has_told:
            container.has_told = True
            code = KILLED if container.was_killed else (128 - code if code < 0 else code)
            word = "Completed" if code == 0 else "Error"
            ended = {"exitCode": code, "reason": word, "startedAt": now(), "finishedAt": now()}
            self.tell(pod, "Failed" if code else "Succeeded", {"terminated": ended})
        if leaving and code is None:
            self.end_politely(container, pod)
        elif leaving:
            self.let_go(pod)

    def end_politely(self, container: Container, pod: KubernetesObject) -> None:
        if container.asked_at is None:
            container.asked_at = time.monotonic()
            for pid in first_processes(container):
                os.kill(pid, signal.SIGTERM)
        elif time.monotonic() - container.asked_at > pod["metadata"]["deletionGracePeriodSeconds"]:
            self.kill(container)

    def kill(self, container: Container) -> None:
        container.was_killed = container.process.poll() is None
        for pid in first_processes(container):
            os.kill(pid, signal.SIGKILL)

    def container_of(self, name: str) -> Container:
        return next(
            each for each in self.containers.values() if each.pod["metadata"]["name"].startswith(name)
        )

    def let_go(self, pod: KubernetesObject) -> None:
        about = pod["metadata"]
        self.api.delete("Pod", about["name"], about["namespace"], about["uid"], grace_seconds=0)

    def tell(self, pod: KubernetesObject, phase: str, state: KubernetesObject) -> None:
        about, container = pod["metadata"], pod["spec"]["containers"][0]
        status = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        status |= {"ready": phase == "Running", "state": state}
        ready = {"type": "Ready", "status": str(phase == "Running"), "lastTransitionTime": now()}
        others = [
            each for each in pod["status"].get("conditions") or () if each["type"] == "DisruptionTarget"
        ]
        content = {"phase": phase, "containerStatuses": [status], "startTime": now()}
        content["conditions"] = [
            ready,
            *others,
        ]  # A merge would forget what others than the kubelet have said.
        self.api.patch("Pod", about["name"], about["namespace"], {"status": content}, "status")

    def mounts_of(self, root: Path, pod: KubernetesObject) -> list[tuple[Path, str, bool]]:
        """What is laid where, and whether to write."""
        sources = {each["name"]: self.source_of(root, each, pod) for each in pod["spec"]["volumes"]}
        return [
            (sources[each["name"]] / each.get("subPath", ""), each["mountPath"], not each.get("readOnly"))
            for each in pod["spec"]["containers"][0]["volumeMounts"]
            if each["name"] in sources
        ]

    def source_of(self, root: Path, volume: KubernetesObject, pod: KubernetesObject) -> Path:
        namespace = pod["metadata"]["namespace"]
        if claim := volume.get("persistentVolumeClaim"):
            found = self.api.get("PersistentVolumeClaim", claim["claimName"], namespace)
            assert found is not None
            behind = self.api.get("PersistentVolume", found["spec"]["volumeName"])
            assert behind is not None
            return Path(behind["spec"]["local"]["path"])
        folder = root.with_name(f"{root.name}.{volume['name']}")
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o777)
        if told := volume.get("configMap"):
            data = (self.api.get("ConfigMap", told["name"], namespace) or {})["data"]
            for name, text in data.items():
                (folder / name).write_text(text)
        return folder


def first_processes(container: Container) -> list[int]:
    """Process 1 of the container: the one child of `unshare`."""
    try:
        listed = Path(f"/proc/{container.process.pid}/task/{container.process.pid}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in listed.split()]


def nodes_wanted(pod: KubernetesObject) -> list[str]:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    if told := (pod["spec"].get("nodeSelector") or {}).get("kubernetes.io/hostname"):
        return [told]
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms") or []
    return [value for term in terms for each in term["matchExpressions"] for value in each["values"]]


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
