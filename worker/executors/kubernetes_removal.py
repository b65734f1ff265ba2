"""How what a run has left in Kubernetes is taken away: what makes its pods first, or they would be made again."""

from pathlib import Path

from worker.kube import names
from worker.kube.api import KubernetesApi
from worker.kube.sight import RunObjects
from worker.kube.verdicts import has_service


def remove_run(api: KubernetesApi, found: RunObjects, grace_seconds: int | None = None) -> None:
    """Everything of the attempt; pods by themselves, for what an owner leaves is collected some time later."""
    remove_owner(api, found)
    for pod in found.pods:
        about = pod["metadata"]
        api.delete("Pod", about["name"], about["namespace"], about["uid"], grace_seconds)


def remove_owner(api: KubernetesApi, found: RunObjects) -> None:
    """What has made its pods, and what they were known by."""
    namespace = names.workspace_namespace(found.workspace)
    if found.owner is not None:
        api.delete(found.owner["kind"], found.owner["metadata"]["name"], namespace)
    if has_service(found):
        api.delete("Service", names.run_name(*found.key), namespace)


def remove_orphan_service(api: KubernetesApi, folder: Path, installation: str) -> None:
    """What the pods of a run were known by, where they themselves may be gone: nothing else would find it then.

    By its name alone it could be another installation's.
    """
    place = (
        names.run_name(*names.attempt_key_of_folder(folder)),
        names.workspace_namespace(names.workspace_of_folder(folder)),
    )
    about = (api.get("Service", *place) or {"metadata": {}})["metadata"]
    if (about.get("labels") or {}).get(names.INSTALLATION) == installation:
        api.delete("Service", *place, about["uid"])
