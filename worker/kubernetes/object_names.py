"""The names and labels of our objects in Kubernetes; a second start of an attempt is a conflict of names."""

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
"""The annotation with the attempt's folder, for people who use kubectl. Nothing reads it, because anybody could write
it.
"""
RUN_PART, WORKSPACE_PART = "run", "tenant"
"""The values of the label PART for objects of an attempt and for those of a workspace."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LOCAL_QUEUE = "units"
UNITS = f"{LABEL_DOMAIN}/units"
"""The annotation with the units of each node of an uneven gang: `node-1=2,node-2=1`."""
SCHEDULING_GATE = f"{LABEL_DOMAIN}/node"
"""The scheduling gate of the pods of an uneven gang. It is removed when a pod gets its node."""
INDEX, REPLICA = "batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index"
WEB_LABEL, WEB = f"{LABEL_DOMAIN}/door", "web"
"""The label of the pods that the portal connects to."""
ROLE, LAUNCHER = "training.kubeflow.org/job-role", "launcher"
"""Labels of Kubernetes and the MPI operator: the index of an Indexed Job's pod or an MPIJob's worker, and the role of
an MPIJob's pod.
"""


NAMESPACE_PREFIX = "gc-workspace-"
RUN_NAME = re.compile(r"gc-(\d+)-(\d+)")
"""The pattern of `run_name`."""
RDMA_RESOURCE = "rdma/hca"
"""A share of a node's RDMA card, as the role `kubernetes_addons` names it for the shared device plugin."""


def workspace_namespace(workspace: int) -> str:
    """The namespace's name contains only the number, because a workspace can be renamed and a namespace cannot."""
    return f"{NAMESPACE_PREFIX}{workspace}"


def run_name(job: int, attempt: int) -> str:
    return f"gc-{job}-{attempt}"


def attempt_path(storage: Path, workspace: int, job: int, attempt: int) -> Path:
    return storage / "workspaces" / str(workspace) / "jobs" / str(job) / str(attempt)


def workspace_of_folder(folder: Path) -> int:
    """The workspace's number. The attempt's folder ends in `workspaces/<workspace>/jobs/<job>/<attempt>`."""
    return int(folder.parents[2].name)


def attempt_key_of_folder(folder: Path) -> tuple[int, int]:
    """The numbers of job and attempt."""
    return int(folder.parent.name), int(folder.name)


def attempt_labels(installation: str, workspace: int, job: int, attempt: int) -> dict[str, str]:
    """The labels of every object of an attempt."""
    return {
        INSTALLATION: installation,
        PART: RUN_PART,
        WORKSPACE: str(workspace),
        JOB: str(job),
        ATTEMPT: str(attempt),
        FENCE: str(attempt),
    }


def label_selector(**labels: str) -> str:
    """The selector as the API expects it: `selector(part="run", job="7")`."""
    return ",".join(f"{LABEL_DOMAIN}/{name}={value}" for name, value in labels.items())
