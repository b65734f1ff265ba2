"""Asks a run to stop by a file beside its plan, and deletes its objects. Owners are deleted before their pods,
because an owner would create its pods again.
"""

from contextlib import suppress
from pathlib import Path

from worker.inside import shim_files
from worker.kubernetes import object_names
from worker.kubernetes.api_client import KubernetesApi
from worker.kubernetes.run_status import has_service
from worker.kubernetes.snapshot import RunObjects

STOP_FILE = "stop.json"


def write_stop_request(folder: Path, how: str) -> None:
    """Writes the request. If the storage is away or full, the caller's next try writes it."""
    with suppress(OSError):
        shim_files.write_json_atomically(str(folder / "control" / STOP_FILE), {"how": how})


def remove_run(api: KubernetesApi, found: RunObjects, grace_seconds: int | None = None) -> None:
    """Deletes all objects of the attempt. Pods are deleted one by one, because Kubernetes deletes those of an owner
    only later.
    """
    remove_owner(api, found)
    for pod in found.pods:
        about = pod["metadata"]
        api.delete("Pod", about["name"], about["namespace"], about["uid"], grace_seconds)


def remove_owner(api: KubernetesApi, found: RunObjects) -> None:
    """Deletes the owner of the pods and the service by which they found each other."""
    namespace = object_names.workspace_namespace(found.workspace)
    if found.owner is not None:
        api.delete(found.owner["kind"], found.owner["metadata"]["name"], namespace)
    if has_service(found):
        api.delete("Service", object_names.run_name(*found.key), namespace)


def remove_orphan_service(api: KubernetesApi, folder: Path, installation: str) -> None:
    """Deletes the headless service of a run whose pods may be gone, because nothing else would find it then.

    Its labels are checked, because another installation may use the same name.
    """
    place = (
        object_names.run_name(*object_names.attempt_key_of_folder(folder)),
        object_names.workspace_namespace(object_names.workspace_of_folder(folder)),
    )
    about = (api.get("Service", *place) or {"metadata": {}})["metadata"]
    if (about.get("labels") or {}).get(object_names.INSTALLATION) == installation:
        api.delete("Service", *place, about["uid"])
