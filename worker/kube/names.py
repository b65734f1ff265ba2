"""How everything of ours in a cluster is named and labelled: the names make a second start a conflict."""

import re
from pathlib import Path

OURS = "groundcrew.io"
JOB, ATTEMPT, FENCE = f"{OURS}/job", f"{OURS}/attempt", f"{OURS}/fence"
WORKSPACE, PART, INSTALLATION = f"{OURS}/workspace", f"{OURS}/part", f"{OURS}/installation"
FOLDER = f"{OURS}/folder"
"""An annotation: the attempt's folder, for who looks with kubectl. Nothing is read from it: anybody could write it."""
RUN, TENANT = "run", "tenant"
"""Of PART: objects of an attempt, and those of a workspace."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LOCAL_QUEUE = "units"
UNITS = f"{OURS}/units"
"""An annotation of what makes pods of an uneven gang: `node-1=2,node-2=1`."""
GATE = f"{OURS}/node"
"""What such a pod waits for before any node is chosen for it: its own node by name."""
INDEX, REPLICA = "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index"
DOOR, WEB = f"{OURS}/door", "web"
"""A label of pods that the portal speaks to, and of no others."""
ROLE, LAUNCHER = "training.kubeflow.org/job-role", "launcher"
"""Labels of others: the numbers of an Indexed Job's pod and of an MPIJob's worker, and what a pod of an MPIJob is."""


NAMESPACES = "gc-workspace-"
RUNS = re.compile(r"gc-(\d+)-(\d+)")
"""What `name_of` gives."""


def namespace_of(workspace: int) -> str:
    """By number alone: a workspace can be renamed, a namespace cannot."""
    return f"{NAMESPACES}{workspace}"


def name_of(job: int, attempt: int) -> str:
    return f"gc-{job}-{attempt}"


def folder_of(storage: Path, workspace: int, job: int, attempt: int) -> Path:
    return storage / "workspaces" / str(workspace) / "jobs" / str(job) / str(attempt)


def workspace_of(folder: Path) -> int:
    """Attempts' folders end in `workspaces/<workspace>/jobs/<job>/<attempt>`."""
    return int(folder.parents[2].name)


def numbers_of(folder: Path) -> tuple[int, int]:
    """Job and attempt."""
    return int(folder.parent.name), int(folder.name)


def labels_of(installation: str, workspace: int, job: int, attempt: int) -> dict[str, str]:
    """Of every object of an attempt."""
    return {
        INSTALLATION: installation,
        PART: RUN,
        WORKSPACE: str(workspace),
        JOB: str(job),
        ATTEMPT: str(attempt),
        FENCE: str(attempt),
    }


def selector(**labels: str) -> str:
    """`selector(part="run", job="7")`, as the API takes it."""
    return ",".join(f"{OURS}/{name}={value}" for name, value in labels.items())
