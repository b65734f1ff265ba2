"""(merged into kubernetes.py) Reads from an attempt's folder whether its shim has started, and on which node."""

from pathlib import Path
from typing import Any

from worker.executors import container_folders
from worker.executors.contract import Handle
from worker.kubernetes import object_names

MOST_GPUS, LONGEST_NAME = 64, 253
"""Of one pod; and of anything that Kubernetes calls by a name."""


def has_shim_started(started: dict[str, Any] | None) -> bool:
    return started is not None and started is not container_folders.START_PREVENTED


def read_shim_marker(folder: Path) -> dict[str, Any] | None:
    started = container_folders.read_start_marker(folder)
    return started if has_shim_started(started) else None


def pod_handle(folder: Path, started: dict[str, Any] | None) -> Handle:
    """With the GPUs that the shim has found, which the kubelet chose."""
    job, attempt = object_names.attempt_key_of_folder(folder)
    return {
        "namespace": object_names.workspace_namespace(object_names.workspace_of_folder(folder)),
        "name": object_names.run_name(job, attempt),
        "folder": str(folder),
        **parse_shim_facts(started or {}),
    }


def parse_shim_facts(started: dict[str, Any]) -> dict[str, Any]:
    """`gpus` and `node`, where they look like that: the program has the shim's user and may have written there."""
    gpus, node = started.get("gpus"), started.get("node")
    told: dict[str, Any] = {}
    if isinstance(gpus, list) and len(gpus) <= MOST_GPUS and all(map(is_plain_name, gpus)):
        told["gpus"] = gpus
    return told | ({"node": node} if is_plain_name(node) else {})


def is_reachable_folder(path: Path) -> bool:
    """Also where a server of files has forgotten us."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_plain_name(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()
