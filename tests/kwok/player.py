"""Writes what the shims in simulated pods would leave: `started` once the pod runs, `exit.json` once its time is up.

Only then the pod ends, so that nobody ever sees one that is over and has said nothing. No program runs.
"""

import heapq
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.kubernetes.events import Gone, watch
from tests.kwok.nodes import GPU
from worker.inside import shim_files
from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi, KubernetesObject
from worker.kubernetes.snapshot import is_shim_pod

WATCH_SECONDS = 5
PAUSE = 0.02


@dataclass(order=True)
class Due:
    """A pod whose time is up at `at`, in steady seconds."""

    at: float
    uid: str
    pod: KubernetesObject = field(compare=False)


@dataclass
class Player:
    """Every run lasts `seconds`. `silent` nodes do nothing any more: what runs there never ends by itself."""

    api: KubernetesApi
    seconds: float
    silent: set[str] = field(default_factory=set)
    began: dict[tuple[int, int], float] = field(default_factory=dict)
    """When each attempt's pod was seen running, by job and attempt; steady seconds."""
    refused: list[tuple[int, int]] = field(default_factory=list)
    """Attempts whose `started` stood there already: a second pod of one attempt, or one that was forestalled."""
    ended: int = 0
    due: list[Due] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    is_over: threading.Event = field(default_factory=threading.Event)
    is_released: threading.Event = field(default_factory=threading.Event)
    trouble: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> "Player":
        self.threads = [threading.Thread(target=self.guard, args=(each,)) for each in (self.see, self.end)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        if self.trouble:
            raise self.trouble[0]

    def guard(self, work: Any) -> None:
        while not self.is_over.is_set():
            try:
                work()
            except (ApiUnreachable, Gone):
                time.sleep(PAUSE)  # The server is away, or has forgotten: looked at anew.
            except (ApiRefused, OSError, KeyError) as error:
                self.trouble.append(error)
                return

    def release(self) -> None:
        """The time of all that run is up, and that of whatever begins later."""
        self.seconds = 0.0
        self.is_released.set()

    def see(self) -> None:
        wanted = object_names.label_selector(part=object_names.RUN_PART)
        listed = self.api.list_all("Pod", wanted)
        for pod in listed.things:
            self.take(pod)
        since = listed.version
        while not self.is_over.is_set():
            for what, pod in watch(self.api, "Pod", since, WATCH_SECONDS, wanted):
                since = pod["metadata"]["resourceVersion"]
                if what == "DELETED":
                    self.gone.add(pod["metadata"]["uid"])
                else:
                    self.take(pod)

    def take(self, pod: KubernetesObject) -> None:
        uid = pod["metadata"]["uid"]
        is_there = pod["spec"].get("nodeName") not in self.silent
        if (
            uid in self.known
            or pod["status"].get("phase") != "Running"
            or not is_shim_pod(pod)
            or not is_there
        ):
            return
        self.known.add(uid)
        folder = Path(pod["metadata"]["annotations"][object_names.FOLDER])
        marker = {"simulated": True, "at": now(), "node": pod["spec"]["nodeName"], "gpus": gpus_of(pod)}
        numbers = object_names.attempt_key_of_folder(folder)
        if shim_files.create_json_once(str(folder / "control" / "started"), marker):
            self.began[numbers] = time.monotonic()
        else:
            self.refused.append(numbers)
        heapq.heappush(self.due, Due(time.monotonic() + self.seconds, uid, pod))

    def end(self) -> None:
        while not self.is_over.wait(PAUSE):
            while self.due and (self.due[0].at <= time.monotonic() or self.is_released.is_set()):
                one = heapq.heappop(self.due)
                if one.uid not in self.gone and one.pod["spec"]["nodeName"] not in self.silent:
                    self.finish(one.pod)

    def finish(self, pod: KubernetesObject) -> None:
        about, folder = pod["metadata"], Path(pod["metadata"]["annotations"][object_names.FOLDER])
        with suppress(FileNotFoundError):
            shim_files.write_json_atomically(str(folder / "control" / "exit.json"), said_by(folder))
        self.api.patch("Pod", about["name"], about["namespace"], {"status": ended(pod)}, "status")
        self.ended += 1


def said_by(folder: Path) -> dict[str, Any]:
    """The least that counts as a shim's word."""
    job, attempt = object_names.attempt_key_of_folder(folder)
    told = {"job": job, "attempt": attempt, "fence": attempt, "exit_code": 0, "signal": None, "ranks": []}
    told |= dict.fromkeys(("stopped", "timed_out", "out_of_memory"), False)
    return told | {"first_failed_rank": None, "started_at": None, "ended_at": now(), "error": None}


def ended(pod: KubernetesObject) -> KubernetesObject:
    container = pod["spec"]["containers"][0]
    state = {
        "terminated": {"exitCode": 0, "reason": "Completed", "startedAt": short(), "finishedAt": short()}
    }
    status = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
    return {"phase": "Succeeded", "containerStatuses": [status | {"ready": False, "state": state}]}


def gpus_of(pod: KubernetesObject) -> list[str]:
    """Names that no other pod has: which of a node's GPUs they are is a device plugin's choice, and there is none."""
    asked = pod["spec"]["containers"][0]["resources"].get("limits", {}).get(GPU, "0")
    return [f"GPU-{pod['metadata']['uid']}-{number}" for number in range(int(asked))]


def now() -> str:
    return datetime.now(UTC).isoformat()


def short() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
