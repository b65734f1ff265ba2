"""Watches a cluster from where a list of it ended, for tests and benches; the product lists."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from worker.kubernetes.api_client import ApiRefused, KubernetesApi, KubernetesObject
from worker.kubernetes.object_kinds import KINDS

GONE = 410


class Gone(Exception):
    """It cannot go on from where it was: list again."""


def watch(
    api: KubernetesApi, kind: str, since: str, seconds: int, labels: str = "", namespace: str = ""
) -> Iterator[tuple[str, KubernetesObject]]:
    """("ADDED" | "MODIFIED" | "DELETED", the object) for so many seconds. Raises Gone, NoAnswer, Refused."""
    query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": str(seconds)}
    query |= {"labelSelector": labels} if labels else {}
    patient = KubernetesApi(api.kubeconfig, seconds + api.ask_seconds)
    path = KINDS[kind].path(namespace)
    try:
        with closing(patient), patient._answering() as send, closing(send("GET", path, query)) as answer:
            for line in lines_of(answer):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise Gone(event["object"].get("message", ""))
                yield event["type"], event["object"]
    except ApiRefused as refusal:
        if refusal.status == GONE:
            raise Gone(refusal.message) from refusal
        raise


def lines_of(answer: Any) -> Iterator[bytes]:
    rest = b""
    for piece in answer.stream(2**16):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
