"""Reads the request whose start is estimated from a form that is not submitted yet."""

import shlex
from collections.abc import Sequence

from cluster.domain.environments.choices import DEFAULT_NAME
from cluster.domain.jobs.launch import custom_program
from cluster.domain.jobs.submission import (
    DEFAULT_ENVIRONMENT_ID,
    JobRequest,
)
from cluster.domain.refusals import Refusals
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services import datasets
from cluster.services.images.environment_choice import read_chosen
from cluster.services.jobs import submission
from cluster.services.sweeps.sweep_checks import require_valid_sweep
from cluster.store.datasets import Dataset
from cluster.store.trainings import Training
from portal.presenters.jobs import job_form
from portal.web.request_context import current_actor, current_cluster


def read_request(training: Training) -> JobRequest | SweepRequest:
    """Reads the request from the form. Raises Refused if a field has not even the right shape; the refusal then also
    names the faults that the service finds in the other fields.
    """
    refusals = Refusals()
    requested = job_form.read_job_fields(training, refusals)
    if refusals.by_field:
        refusals.check(require_valid, training, requested)
        refusals.raise_all()
    return requested


def require_valid(training: Training, requested: JobRequest | SweepRequest) -> None:
    """Raises what submitting it would raise."""
    cluster, actor = current_cluster(), current_actor()
    if isinstance(requested, SweepRequest):
        require_valid_sweep(cluster, actor, training.id, requested)
    else:
        submission.require_valid_job(cluster, actor, training.id, requested)


def named_environment(training: Training, request: JobRequest) -> str:
    """The name of the environment in a command; empty for the environment of the training."""
    wanted, own = request.environment_id, training.environment_id or DEFAULT_ENVIRONMENT_ID
    if wanted is None or wanted == own:
        return ""
    chosen = read_chosen(current_cluster(), wanted)
    return chosen.name if chosen else DEFAULT_NAME


def command_line(command: Sequence[str]) -> str:
    """The program that the node executes for each process; empty for a built-in model."""
    return shlex.join(custom_program("python", command)) if command else ""


def visible_dataset(job_request: JobRequest) -> Dataset | None:
    if not job_request.dataset_id:
        return None
    return datasets.read_dataset(current_cluster(), current_actor(), job_request.dataset_id)
