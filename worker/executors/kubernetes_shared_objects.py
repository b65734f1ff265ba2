"""Creates the Kubernetes objects that all runs of a workspace share, and deletes those that no run has used for a
day.

These are runtime ConfigMaps, volumes and claims. The volume of a workspace's own folder stays as long as the
workspace. Deleting them loses no data: volumes only show folders of the shared storage, and the next run that needs
one creates it again.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import structlog

from worker.executors.contract import NotStarted
from worker.executors.kubernetes_run_spec import RuntimeConfigMaps
from worker.kubernetes import object_names
from worker.kubernetes.api_client import (
    ApiRefused,
    ApiUnreachable,
    KubernetesApi,
    KubernetesObject,
    ObjectExists,
)
from worker.kubernetes.manifests.run_spec import RunSpec
from worker.kubernetes.manifests.volumes import volume_objects
from worker.kubernetes.snapshot import RunObjects

log = structlog.get_logger()
ENSURE_AGAIN_SECONDS = 5.0
"""Seconds after which the objects are checked again, because a namespace may have been deleted and created without
them.
"""
SOURCES = ("local", "nfs")
DELETED_SLOWLY = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
"""Kubernetes keeps these kinds until it has seen that nothing uses them."""
UNUSED_SECONDS = 86_400.0
EVERY_SECONDS = 3600.0
ObjectKey = tuple[str, str, str]
"""Kind, namespace and name."""


class SharedObjectCreator:
    """Creates the Kubernetes objects that the runs of one workspace share, and remembers when it last saw each.

    If several starts of a workspace ask at once, one creates what is missing and the others wait for it.
    """

    def __init__(self, api: KubernetesApi, runtime: RuntimeConfigMaps) -> None:
        self.api = api
        self.runtime = runtime
        self.ensured: dict[str, float] = {}
        self._making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def ensure(self, run: RunSpec) -> None:
        """Creates what is missing of the run's shared objects. Raises ApiUnreachable, ApiRefused, NotStarted."""
        namespace = object_names.workspace_namespace(run.workspace)
        with self._making[namespace]:
            self.ensure_in_namespace(run, namespace, time.monotonic())

    def ensure_in_namespace(self, run: RunSpec, namespace: str, now: float) -> None:
        """Creates the objects that were not checked recently, after it has checked that the namespace belongs to this
        installation.
        """
        if now - self.ensured.get(namespace, float("-inf")) >= ENSURE_AGAIN_SECONDS:
            self.check_namespace(namespace, run.installation)
            self.ensured[namespace] = now
        for thing in (*self.runtime.config_maps(namespace), *volume_objects(run)):
            key = object_key(thing["kind"], namespace, thing["metadata"]["name"])
            if now - self.ensured.get(key, float("-inf")) < ENSURE_AGAIN_SECONDS:
                continue
            try:
                self.api.create(thing)
            except ObjectExists:
                self.check_not_deleting(thing)
            if thing["kind"] == "PersistentVolume":
                self.check_volume(thing)
            self.ensured[key] = now

    def delete_if_unused(self, thing: ObjectKey, before: float) -> bool:
        """Deletes the object if no run has needed it since `before`. Raises ApiUnreachable, ApiRefused."""
        kind, namespace, name = thing
        with self._making[namespace]:
            if self.ensured.get(object_key(*thing), float("-inf")) > before:
                return False
            self.ensured.pop(object_key(*thing), None)
            self.api.delete(kind, name, namespace)
            if kind == "PersistentVolumeClaim":
                volume = f"{name}-{namespace.removeprefix(object_names.NAMESPACE_PREFIX)}"
                self.ensured.pop(object_key("PersistentVolume", namespace, volume), None)
                self.api.delete("PersistentVolume", volume)
        return True

    def check_not_deleting(self, thing: KubernetesObject) -> None:
        """Raises NotStarted if the object of this name is being deleted. A later try can create it again."""
        kind, about = thing["kind"], thing["metadata"]
        found = (
            self.api.get(kind, about["name"], about.get("namespace", "")) if kind in DELETED_SLOWLY else None
        )
        if found is not None and found["metadata"].get("deletionTimestamp"):
            raise NotStarted("start.failed", reason=f"{kind} {about['name']} is just being deleted")

    def check_namespace(self, name: str, installation: str) -> None:
        """Raises NotStarted if the namespace belongs to another installation, whose workspaces may have the same
        numbers.
        """
        found = self.api.get("Namespace", name) or {"metadata": {}}
        owner = (found["metadata"].get("labels") or {}).get(object_names.INSTALLATION, installation)
        if owner != installation:
            raise NotStarted("start.namespace_of_another", namespace=name)

    def check_volume(self, volume: KubernetesObject) -> None:
        """Makes a volume available again whose claim was deleted; until then it accepts no new claim, not even of the
        same name.

        Raises NotStarted if the volume was made for another storage, because a volume's source cannot be changed.
        """
        name = volume["metadata"]["name"]
        found = self.api.get("PersistentVolume", name)
        if found is None:
            return
        if not is_same_volume_source(volume["spec"], found.get("spec") or {}):
            raise NotStarted(
                "start.failed", reason=f"volume {name} was made for another place of the storage"
            )
        if (found.get("status") or {}).get("phase") == "Released":
            forget = {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}}
            self.api.patch("PersistentVolume", name, "", forget)


def object_key(kind: str, namespace: str, name: str) -> str:
    return f"{kind}/{namespace}/{name}"


def is_same_volume_source(wanted: KubernetesObject, found: KubernetesObject) -> bool:
    return all((wanted.get(kind) or {}).items() <= (found.get(kind) or {}).items() for kind in SOURCES)


class UnusedObjectRemover:
    """Deletes shared objects that no run needs. Only memory says since when, so a new scheduler deletes nothing for a
    day.
    """

    def __init__(
        self, api: KubernetesApi, shared: SharedObjectCreator, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self.api, self.shared, self.steady = api, shared, steady
        self.began = self.swept = steady()

    def delete_due(self, installation: str, runs: Iterable[RunObjects]) -> None:
        """Deletes what is due. `runs` must be all runs. If the API server does not answer or refuses, it tries again
        in an hour.
        """
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
    """The objects that the run's pods name, including objects that do not exist yet."""
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
