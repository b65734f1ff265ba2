"""The same request as the command `groundcrew` and as curl, to be copied from the form."""

import json
import shlex
from typing import Any

from cluster.domain.jobs import JobRequest
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.job_form import USUAL, model_of, write_duration


def changed_variables(training: Training, request: JobRequest) -> dict[str, str]:
    """Only what differs from the model's defaults."""
    model = model_of(training)
    if model is None:
        return {}
    defaults = {variable.name: str(variable.default) for variable in model.variables}
    return {name: str(value) for name, value in request.variables.items() if str(value) != defaults.get(name)}


def as_command(training: Training, request: JobRequest, dataset: Dataset | None) -> str:
    """`groundcrew job submit …`, one option a line."""
    options = [["--training", f"{training.workspace.name}/{training.name}"], ["--units", str(request.units)]]
    if request.name and request.name != training.name:
        options.append(["--name", request.name])
    if dataset:
        options.append(["--dataset", dataset.name])
    options += [["--var", f"{name}={value}"] for name, value in changed_variables(training, request).items()]
    if request.command:
        options.append(["--launcher", request.launcher.value])
    if request.priority:
        options.append(["--priority", str(request.priority)])
    if request.time_limit_seconds:
        options.append(["--time-limit", command_duration(request.time_limit_seconds)])
    if request.grace_seconds != USUAL.grace_seconds:
        options.append(["--grace", command_duration(request.grace_seconds)])
    if request.retries:
        options.append(["--retries", str(request.retries)])
    if request.command:
        options.append(["--", *request.command])
    return " \\\n  ".join(["groundcrew job submit", *(shlex.join(option) for option in options)])


def command_duration(seconds: int) -> str:
    """The command knows hours, minutes and seconds; days become hours."""
    text = write_duration(seconds)
    return f"{int(text[:-1]) * 24}h" if text.endswith("d") else text


def as_curl(url: str, training: Training, request: JobRequest) -> str:
    """POST /api/v1/jobs with a token from the profile page."""
    body: dict[str, Any] = {
        "training_id": training.id,
        "name": request.name,
        "units": request.units,
        "launcher": request.launcher.value,
        "command": list(request.command),
        "variables": changed_variables(training, request),
        "dataset_id": request.dataset_id,
        "priority": request.priority,
        "time_limit_seconds": request.time_limit_seconds,
        "grace_seconds": request.grace_seconds if request.grace_seconds != USUAL.grace_seconds else None,
        "retries": request.retries,
    }
    said = {key: value for key, value in body.items() if value not in (None, "", 0, [], {})}
    text = json.dumps(said, ensure_ascii=False, indent=2)
    return " \\\n  ".join(
        [
            f"curl {shlex.quote(url + '/api/v1/jobs')}",
            '-H "Authorization: Bearer $GROUNDCREW_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(text)}",
        ]
    )
