"""The names and labels of our objects in Kubernetes; a name made of job and attempt makes a second start a conflict."""

import re
from pathlib import Path

LABEL_DOMAIN = "groundcrew.io"
JOB, ATTEMPT, FENCE = f"{LABEL_DOMAIN}/job", f"{LABEL_DOMAIN}/attempt", f"{LABEL_DOMAIN}/fence"
WORKSPACE, PART, INSTALLATION = (
    f"{LABEL_DOMAIN}/workspace",
    f"{LABEL_DOMAIN}/part",
    f"{LABEL_DOMAIN}/installation",
)
FOLDER = f"{LABEL_DOMAIN}/folder"
"""An annotation: the attempt's folder, for who looks with kubectl. Nothing is read from it: anybody could write it."""
RUN_PART, WORKSPACE_PART = "run", "tenant"
"""Of PART: objects of an attempt, and those of a workspace."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LOCAL_QUEUE = "units"
UNITS = f"{LABEL_DOMAIN}/units"
"""An annotation of what makes pods of an uneven gang: `node-1=2,node-2=1`."""
SCHEDULING_GATE = f"{LABEL_DOMAIN}/node"
"""What such a pod waits for before any node is chosen for it: its own node by name."""
INDEX, REPLICA = "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index"
WEB_LABEL, WEB = f"{LABEL_DOMAIN}/door", "web"
"""A label of pods that the portal speaks to, and of no others."""
ROLE, LAUNCHER = "training.kubeflow.org/job-role", "launcher"
"""Labels of others: the numbers of an Indexed Job's pod and of an MPIJob's worker, and what a pod of an MPIJob is."""


NAMESPACE_PREFIX = "gc-workspace-"
RUN_NAME = re.compile(r"gc-(\d+)-(\d+)")
"""What `run_name` gives."""


def workspace_namespace(workspace: int) -> str:
    """By number alone: a workspace can be renamed, a namespace cannot."""
    return f"{NAMESPACE_PREFIX}{workspace}"


def run_name(job: int, attempt: int) -> str:
    return f"gc-{job}-{attempt}"


def attempt_path(storage: Path, workspace: int, job: int, attempt: int) -> Path:
    return storage / "workspaces" / str(workspace) / "jobs" / str(job) / str(attempt)


def workspace_of_folder(folder: Path) -> int:
    """Attempts' folders end in `workspaces/<workspace>/jobs/<job>/<attempt>`."""
    return int(folder.parents[2].name)


def attempt_key_of_folder(folder: Path) -> tuple[int, int]:
    """Job and attempt."""
    return int(folder.parent.name), int(folder.name)


def attempt_labels(installation: str, workspace: int, job: int, attempt: int) -> dict[str, str]:
    """Of every object of an attempt."""
    return {
        INSTALLATION: installation,
        PART: RUN_PART,
        WORKSPACE: str(workspace),
        JOB: str(job),
        ATTEMPT: str(attempt),
        FENCE: str(attempt),
    }


def label_selector(**labels: str) -> str:
    """`selector(part="run", job="7")`, as the API takes it."""
    return ",".join(f"{LABEL_DOMAIN}/{name}={value}" for name, value in labels.items())
