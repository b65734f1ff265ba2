"""Writes a job or sweep request as a `groundcrew` command and as a curl call, to be copied from the form."""

import csv
import io
import json
import shlex
from collections.abc import Sequence
from typing import Any

from cluster.domain.jobs.launch import custom_program
from cluster.domain.jobs.memory import format_exact_size
from cluster.domain.jobs.submission import JobRequest
from cluster.domain.sweeps.plan import SweepKind, SweepRequest
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.presenters.jobs.job_form import DEFAULT_REQUEST, model_of
from portal.web.forms import format_duration_field


def changed_variables(training: Training, request: JobRequest) -> dict[str, str]:
    """Returns the variables that differ from the model's defaults."""
    model = model_of(training)
    if model is None:
        return {}
    defaults = {variable.name: str(variable.default) for variable in model.variables}
    return {name: str(value) for name, value in request.variables.items() if str(value) != defaults.get(name)}


def command_line(command: Sequence[str]) -> str:
    """The program that the node executes for each process; empty for a built-in model."""
    return shlex.join(custom_program("python", command)) if command else ""


def job_command(
    training: Training,
    request: JobRequest,
    dataset: Dataset | None,
    verb: str = "job submit",
    more: Sequence[list[str]] = (),
    environment: str = "",
) -> str:
    """`groundcrew job submit …`, one option a line."""
    options = [["--training", f"{training.workspace.name}/{training.name}"], ["--units", str(request.units)]]
    if request.name and request.name != training.name:
        options.append(["--name", request.name])
    if dataset:
        options.append(["--dataset", dataset.name])
    options += [["--var", f"{name}={value}"] for name, value in changed_variables(training, request).items()]
    options += more
    if environment:
        options.append(["--environment", environment])
    if request.command:
        options.append(["--launcher", request.launcher.value])
    if request.code_version not in (None, training.code_version):
        options.append(["--code-version", str(request.code_version)])
    if request.priority:
        options.append(["--priority", str(request.priority)])
    if request.time_limit_seconds:
        options.append(["--time-limit", format_duration_field(request.time_limit_seconds)])
    if request.grace_seconds != DEFAULT_REQUEST.grace_seconds:
        options.append(["--grace", format_duration_field(request.grace_seconds)])
    if request.retries:
        options.append(["--retries", str(request.retries)])
    if request.memory_bytes:
        options.append(["--memory", format_exact_size(request.memory_bytes).replace(" ", "")])
    if request.command:
        options.append(["--", *request.command])
    return " \\\n  ".join([f"groundcrew {verb}", *(shlex.join(option) for option in options)])


def sweep_command(
    training: Training, request: SweepRequest, dataset: Dataset | None, environment: str = ""
) -> str:
    """`groundcrew sweep submit …`; a value with a comma gets quotation marks."""
    more = [["--var", f"{name}={join_values(values)}"] for name, values in request.values.items()]
    more += [["--row-by-row"]] if request.kind is SweepKind.LIST else []
    more += [["--at-once", str(request.most_at_once)]] if request.most_at_once else []
    more += [["--stop-on-trouble"]] if request.stop_on_trouble else []
    return job_command(training, request.job, dataset, "sweep submit", more, environment)


def join_values(values: str | Sequence[str]) -> str:
    """Joins the values so that `split_values` reads the same ones again."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([values] if isinstance(values, str) else values)
    return text.getvalue()


def job_curl(url: str, training: Training, request: JobRequest) -> str:
    """POST /api/v1/jobs with a token from the profile page."""
    return curl_command(f"{url}/api/v1/jobs", request_body(training, request))


def sweep_curl(url: str, training: Training, request: SweepRequest) -> str:
    """POST /api/v1/sweeps."""
    values = {name: list(texts) for name, texts in request.values.items()}
    more = {
        "values": values,
        "kind": request.kind.value if request.kind is SweepKind.LIST else None,
        "most_at_once": request.most_at_once,
        "stop_on_trouble": request.stop_on_trouble or None,
    }
    return curl_command(f"{url}/api/v1/sweeps", request_body(training, request.job) | more)


def request_body(training: Training, request: JobRequest) -> dict[str, Any]:
    return {
        "training_id": training.id,
        "name": request.name,
        "units": request.units,
        "launcher": request.launcher.value,
        "command": list(request.command),
        "variables": changed_variables(training, request),
        "dataset_id": request.dataset_id,
        "environment_id": request.environment_id,
        "priority": request.priority,
        "time_limit_seconds": request.time_limit_seconds,
        "grace_seconds": request.grace_seconds
        if request.grace_seconds != DEFAULT_REQUEST.grace_seconds
        else None,
        "retries": request.retries,
        "memory_bytes": request.memory_bytes,
        "code_version": request.code_version if request.code_version != training.code_version else None,
    }


def curl_command(address: str, body: dict[str, Any]) -> str:
    fields = {key: value for key, value in body.items() if value not in (None, "", 0, [], {})}
    text = json.dumps(fields, ensure_ascii=False, indent=2)
    return " \\\n  ".join(
        [
            f"curl {shlex.quote(address)}",
            '-H "Authorization: Bearer $GROUNDCREW_TOKEN"',
            "-H 'Content-Type: application/json'",
            f"-d {shlex.quote(text)}",
        ]
    )
