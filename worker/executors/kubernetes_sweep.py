"""(merged) Deletes the shared objects that no run has used for a day.

The volume of a workspace's own folder stays as long as the workspace. Of what is deleted nothing is lost: volumes show
folders of the shared storage, and are made again by the next run that wants them.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import structlog

from worker.executors.kubernetes_shared import SharedObjects
from worker.kubernetes import object_names
from worker.kubernetes.api_client import ApiRefused, ApiUnreachable, KubernetesApi, KubernetesObject
from worker.kubernetes.snapshot import RunObjects

log = structlog.get_logger()
UNUSED_SECONDS = 86_400.0
EVERY_SECONDS = 3600.0
ObjectKey = tuple[str, str, str]
"""Kind, namespace, name."""


class UnusedObjects:
    """In memory is only since when it looks: a scheduler that starts anew deletes nothing for a day."""

    def __init__(
        self, api: KubernetesApi, shared: SharedObjects, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self.api, self.shared, self.steady = api, shared, steady
        self.began = self.swept = steady()

    def delete_due(self, installation: str, runs: Iterable[RunObjects]) -> None:
        """`runs`: all that there are. An API server that is away, or refuses, is asked again an hour later."""
        now = self.steady()
        if now - self.began < UNUSED_SECONDS or now - self.swept < EVERY_SECONDS:
            return
        self.swept = now
        used = {key for found in runs for key in object_keys_of_run(found)}
        with suppress(ApiUnreachable, ApiRefused):
            for key in self.list_shared(installation):
                if key not in used and self.shared.delete_if_unused(key, now - UNUSED_SECONDS):
                    log.info("deleted in Kubernetes what no run has asked for since", thing=" ".join(key))

    def list_shared(self, installation: str) -> Iterator[ObjectKey]:
        ours = object_names.label_selector(installation=installation)
        spaces = {each["metadata"]["name"] for each in self.api.list_all("Namespace", ours).things}
        code = self.api.list_all("ConfigMap", object_names.label_selector(part=object_names.RUN_PART)).things
        claims = self.api.list_all("PersistentVolumeClaim", ours).things
        for each in (*code, *claims):
            kind, about = each["kind"], each["metadata"]
            is_shared = kind == "ConfigMap" or about["name"].startswith(f"gc-{installation}-path-")
            if is_shared and about["namespace"] in spaces:
                yield kind, about["namespace"], about["name"]


def object_keys_of_run(found: RunObjects) -> Iterator[ObjectKey]:
    """What its pods name, also those that are not made yet."""
    namespace = object_names.workspace_namespace(found.workspace)
    for spec in (*(pod["spec"] for pod in found.pods), *pod_specs_of_owner(found.owner or {})):
        for volume in spec.get("volumes") or ():
            if told := volume.get("configMap"):
                yield "ConfigMap", namespace, told["name"]
            if told := volume.get("persistentVolumeClaim"):
                yield "PersistentVolumeClaim", namespace, told["claimName"]


def pod_specs_of_owner(owner: KubernetesObject) -> Iterator[Any]:
    spec = owner.get("spec") or {}
    for part in (spec, *(spec.get("mpiReplicaSpecs") or {}).values()):
        if template := part.get("template"):
            yield template.get("spec") or {}
