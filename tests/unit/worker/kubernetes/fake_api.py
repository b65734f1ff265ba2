"""An API server that has a few objects, for what a real one does once in a blue moon."""

import os
from collections.abc import Callable
from typing import Any

from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiRefused, ObjectList

Thing = dict[str, Any]
WORKSPACE = 3
USER = os.geteuid() or 100_007, os.getegid() or 100_003


def here() -> str:
    return "here"


class FewObjects:
    """An API server that has these, and does with what is asked for as the test says."""

    def __init__(self, *things: Thing) -> None:
        self.things = list(things)
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.refuses: Callable[[str, str], ApiRefused | None] = lambda verb, name: None

    def ask(self, verb: str, name: str) -> None:
        if refusal := self.refuses(verb, name):
            raise refusal

    def list_all(self, kind: str, labels: str = "", namespace: str = "", fields: str = "") -> ObjectList:
        self.ask("list", kind)
        return ObjectList([each for each in self.things if each["kind"] == kind], "1")

    def create(self, thing: Thing) -> Thing:
        self.ask("create", thing["kind"])
        self.made.append(thing["kind"])
        return thing

    def get(self, kind: str, name: str, namespace: str = "") -> Thing | None:
        return next((each for each in self.things if each["metadata"]["name"] == name), None)

    def delete(
        self, kind: str, name: str, namespace: str = "", uid: str = "", grace: int | None = None
    ) -> bool:
        self.ask("delete", name)
        self.deleted.append(name)
        return True


def pod(job: int, phase: str = "Running", **notes: str) -> Thing:
    about = {"name": f"gc-{job}-1-x", "uid": f"u{job}", "annotations": notes}
    about |= {
        "namespace": object_names.workspace_namespace(WORKSPACE),
        "creationTimestamp": "2026-11-21T10:00:00Z",
    }
    labels = object_names.attempt_labels("here", WORKSPACE, job, 1)
    return {"kind": "Pod", "metadata": about | {"labels": labels}, "spec": {}, "status": {"phase": phase}}


def a_gang(*phases: str) -> list[Thing]:
    """The pods of an Indexed Job, which number 0 has the shim of."""
    pods = [pod(7, phase) for phase in phases]
    for number, each in enumerate(pods):
        each["metadata"] = {**each["metadata"], "name": f"gc-7-1-{number}", "uid": f"u{number}"}
        each["metadata"]["labels"] = {**each["metadata"]["labels"], object_names.INDEX: str(number)}
        if each["status"]["phase"] != "Running":
            code = 0 if each["status"]["phase"] == "Succeeded" else 3
            each["status"]["containerStatuses"] = [{"state": {"terminated": {"exitCode": code}}}]
    return pods


def a_machine(name: str, status: str) -> Thing:
    """A node, and whether Kubernetes hears it."""
    ready = {"type": "Ready", "status": status}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [ready]}}
