"""The paths of an attempt's folders below the storage folder. Paths contain ids and no names."""

METRICS_FILE = "metrics.jsonl"


def attempt_path_parts(workspace_id: int, job_id: int, attempt: int) -> tuple[str, ...]:
    return "workspaces", str(workspace_id), "jobs", str(job_id), str(attempt)


def out_path_parts(workspace_id: int, job_id: int, attempt: int) -> tuple[str, ...]:
    """The folder that the program writes."""
    return *attempt_path_parts(workspace_id, job_id, attempt), "out"


def control_path_parts(workspace_id: int, job_id: int, attempt: int) -> tuple[str, ...]:
    """The folder that the shim writes. If the services run as root, the program cannot write there."""
    return *attempt_path_parts(workspace_id, job_id, attempt), "control"
