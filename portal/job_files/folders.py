"""The path of an attempt's folders below the storage folder. Paths hold ids only, never a name."""

from cluster.store.jobs import Job


def attempt_path_parts(workspace_id: int, job_id: int, attempt: int) -> tuple[str, ...]:
    return "workspaces", str(workspace_id), "jobs", str(job_id), str(attempt)


def out_path_parts(job: Job, attempt: int) -> tuple[str, ...]:
    """Written by the program."""
    return *attempt_path_parts(job.workspace_id, job.id, attempt), "out"


def control_path_parts(job: Job, attempt: int) -> tuple[str, ...]:
    """Written by the shim; as root the program cannot write here."""
    return *attempt_path_parts(job.workspace_id, job.id, attempt), "control"
