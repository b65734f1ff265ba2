"""What the folder of an attempt says of its run: whether its shim has begun, and where."""

from pathlib import Path
from typing import Any

from worker.executors import container_folders
from worker.executors.contract import Handle
from worker.kube import names

MOST_GPUS, LONGEST_NAME = 64, 253
"""Of one pod; and of anything that Kubernetes calls by a name."""


def has_begun(started: dict[str, Any] | None) -> bool:
    return started is not None and started is not container_folders.FORESTALLED


def read_begun(folder: Path) -> dict[str, Any] | None:
    started = container_folders.read_started(folder)
    return started if has_begun(started) else None


def handle_of(folder: Path, started: dict[str, Any] | None) -> Handle:
    """With the GPUs that the shim has found, which the kubelet chose."""
    job, attempt = names.numbers_of(folder)
    return {
        "namespace": names.namespace_of(names.workspace_of(folder)),
        "name": names.name_of(job, attempt),
        "folder": str(folder),
        **told_by_shim(started or {}),
    }


def told_by_shim(started: dict[str, Any]) -> dict[str, Any]:
    """`gpus` and `node`, where they look like that: the program has the shim's user and may have written there."""
    gpus, node = started.get("gpus"), started.get("node")
    told: dict[str, Any] = {}
    if isinstance(gpus, list) and len(gpus) <= MOST_GPUS and all(map(is_name, gpus)):
        told["gpus"] = gpus
    return told | ({"node": node} if is_name(node) else {})


def is_folder(path: Path) -> bool:
    """Also where a server of files has forgotten us."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_name(text: object) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST_NAME and text.isprintable()
