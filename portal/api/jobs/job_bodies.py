"""Jobs as REST takes them: the body of a submission and the filter of a list."""

from typing import Any

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import JobRequest, default_launcher
from cluster.domain.states import JobState


def parse_job_body(body: dict[str, Any]) -> JobRequest:
    return JobRequest(
        name=body["name"],
        units=body["units"],
        launcher=body["launcher"] or default_launcher(body["units"]),
        command=tuple(body["command"]),
        variables=body["variables"],
        dataset_id=body["dataset_id"],
        priority=body["priority"],
        time_limit_seconds=body["time_limit_seconds"],
        grace_seconds=body["grace_seconds"],
        retries=body["retries"],
        memory_bytes=body["memory_bytes"],
        code_version=body["code_version"],
        environment_id=body["environment_id"],
    )


def parse_states(text: str | None) -> list[JobState]:
    """Parses states that commas separate. Raises Refused, which names the known states."""
    states = [state.value for state in JobState]
    chosen = [part.strip() for part in (text or "").split(",") if part.strip()]
    for part in chosen:
        if part not in states:
            raise Refused("state", "job.unknown_state", state=part, states=states)
    return [JobState(part) for part in chosen]
