"""Run the first training: a sample job on two ranks, submitted through the same services as any job."""

import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from cluster import words
from cluster.domain.built_in_models import LENET
from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs.submission import JobRequest, default_job_name
from cluster.domain.people.actor import Actor
from cluster.domain.queue.reasons import NoGpuEnvironment
from cluster.domain.states import (
    ENDED_JOB_STATES,
    DatasetKind,
    DatasetState,
    EnvironmentState,
    JobState,
    Launcher,
    OperationState,
    TrainingKind,
    UnitKind,
    Visibility,
)
from cluster.services import datasets, first_training, trainings
from cluster.services.context import Cluster
from cluster.services.images.environments import read_default_environment
from cluster.services.jobs import queries, stop_requests, submission
from cluster.services.operations import queries as operation_queries
from cluster.services.people.users import service_actor
from cluster.services.storage.folders import attempt_folder
from cluster.services.workspaces import lifecycle
from cluster.services.workspaces import queries as workspace_queries
from cluster.store import nodes
from cluster.store.datasets import Dataset
from cluster.store.jobs import Job
from cluster.store.operations import Operation
from cluster.store.trainings import Training
from cluster.store.workspaces import Workspace
from worker.bootstrap.terminal import language_of_terminal, print_error, print_sentence, terminal_text
from worker.first_training.measurements import TrainingMeasurements, read_measurements, read_stderr_tail
from worker.first_training.progress_bars import StageProgressBars

NAME = "first-training"
UNITS = 2
WORKSPACE_DAYS = 7
GOOD_ACCURACY = 0.95
POLL_SECONDS = 0.5
NODE_TIMEOUT = 60
"""Seconds in which the agent has to report this machine's units."""


def run_first_training(cluster: Cluster) -> int:
    """Continue the first training. The exit code is 0 if it has succeeded, else 1."""
    if first_training.read_first_training(cluster) is not None:
        return 0
    pilot = service_actor(cluster)
    print_sentence("First training: LeNet learns real handwritten digits. It also shows in the browser.")
    workspace = ensure_first_workspace(cluster, pilot)
    if workspace is None:
        return 0
    try:
        with StageProgressBars() as board:
            ended = follow_first_training(cluster, pilot, workspace, board)
    except KeyboardInterrupt:
        print_sentence(
            "The training goes on without this terminal; make up shows it again. Also: {url}/jobs",
            url=portal_url(cluster),
        )
        return 130
    except NoEnvironmentForGpus:
        return 0
    except FirstTrainingFailed:
        return 1
    return report_result(cluster, pilot, workspace, ended)


class FirstTrainingFailed(Exception):
    """The first training cannot go on. The terminal says why."""


class NoEnvironmentForGpus(FirstTrainingFailed):
    """This machine has GPUs but no environment that computes on them. The installation itself is fine."""


def follow_first_training(
    cluster: Cluster, pilot: Actor, workspace: Workspace, board: StageProgressBars
) -> Job:
    """Submits the job at once; it waits as any job does. Raises FirstTrainingFailed."""
    dataset = ensure_sample_dataset(cluster, pilot, workspace)
    job = ensure_first_job(cluster, pilot, workspace, dataset)
    wait_for_environment(cluster, pilot, board)
    wait_for_sample_dataset(cluster, pilot, dataset, board)
    return wait_for_job(cluster, pilot, job, board)


def portal_url(cluster: Cluster) -> str:
    return cluster.settings.public_url


def ensure_first_workspace(cluster: Cluster, pilot: Actor) -> Workspace | None:
    """The workspace of the first training. If other workspaces have all units, it prints a
    sentence and returns None.
    """
    for workspace in workspace_queries.list_workspaces(cluster, pilot):
        if workspace.name == NAME:
            return workspace
    today = lifecycle.local_today(cluster)
    last_day = today + timedelta(days=WORKSPACE_DAYS - 1)
    deadline = time.monotonic() + NODE_TIMEOUT
    while not (free := lifecycle.max_units_for_term(cluster, today, last_day)):
        if time.monotonic() > deadline:
            print_sentence(
                "No first training: no unit of this machine is free for it. Every unit is held by a workspace."
            )
            return None
        time.sleep(POLL_SECONDS)
    about = terminal_text("The first training of this installation, made by make up.")
    return lifecycle.create_workspace(
        cluster, pilot, NAME, about, today, last_day, min(UNITS, free), pilot.name
    )


def wait_for_environment(cluster: Cluster, pilot: Actor, board: StageProgressBars) -> None:
    """Shows the steps of the training environment's build."""
    title = terminal_text("Training environment")
    while True:
        environment = read_default_environment(cluster)
        if environment is not None and environment.state is EnvironmentState.READY:
            board.show(title, 1.0, words.word("state.environment", "ready", language_of_terminal()))
            return
        if environment is not None and environment.operation_id is not None:
            operation = operation_queries.read_operation(cluster, pilot, environment.operation_id)
            raise_if_build_failed(cluster, operation)
            board.show(title, operation.progress, describe_build_step(operation))
        time.sleep(POLL_SECONDS)


def describe_build_step(operation: Operation) -> str:
    now = next((step for step in operation.steps if step["state"] == "now"), None)
    if now is None:
        return ""
    return f"{words.step_name(now['code'], language_of_terminal())} {now.get('detail') or ''}".strip()


def raise_if_build_failed(cluster: Cluster, operation: Operation) -> None:
    if operation.state not in (OperationState.FAILED, OperationState.INTERRUPTED):
        return
    code, data = operation.error_code or "", operation.error_data or {}
    reason, hint = (
        words.sentence(code, data, language_of_terminal()),
        words.hint(code, data, language_of_terminal()),
    )
    print_error("The first training cannot begin. {reason} {hint}", reason=reason, hint=hint)
    print_error("  Steps and log: {url}/operations/{id}", url=portal_url(cluster), id=operation.id)
    raise FirstTrainingFailed


def ensure_sample_dataset(cluster: Cluster, pilot: Actor, workspace: Workspace) -> Dataset:
    for dataset in datasets.list_datasets(cluster, pilot, workspace.id):
        if dataset.kind is DatasetKind.SAMPLE and dataset.state is not DatasetState.FAILED:
            return dataset
    return datasets.create_sample(cluster, pilot, workspace.id)


def wait_for_sample_dataset(
    cluster: Cluster, pilot: Actor, dataset: Dataset, board: StageProgressBars
) -> None:
    title = terminal_text("Handwritten digits")
    while dataset.state is DatasetState.PREPARING:
        board.show(title, 0.0, terminal_text("being written"))
        time.sleep(POLL_SECONDS)
        dataset = datasets.read_dataset(cluster, pilot, dataset.id)
    if dataset.state is DatasetState.FAILED:
        print_error(
            "The digits could not be written: {url}/datasets/{id}", url=portal_url(cluster), id=dataset.id
        )
        raise FirstTrainingFailed
    board.show(title, 1.0, words.word("state.environment", "ready", language_of_terminal()))


def ensure_first_job(cluster: Cluster, pilot: Actor, workspace: Workspace, dataset: Dataset) -> Job:
    """The job if it runs or has succeeded. A failed job is followed by a new one."""
    training = ensure_first_model(cluster, pilot, workspace)
    known = queries.list_jobs(cluster, pilot, workspace_id=workspace.id)
    useful = [job for job in known if job.state not in (JobState.FAILED, JobState.STOPPED)]
    if useful:
        return queries.read_job(cluster, pilot, useful[0].id)
    request = JobRequest(
        name=default_job_name(training.name, len(known) + 1),
        units=workspace.units,
        launcher=Launcher.HOROVOD,
        dataset_id=dataset.id,
    )
    try:
        return submission.submit_job(cluster, pilot, training.id, request)
    except Refused as refusal:
        if refusal.code != "job.no_gpu_environment":
            raise
        print_sentence(
            "No first training: {reason}",
            reason=words.sentence(refusal.code, refusal.data, language_of_terminal()),
        )
        raise NoEnvironmentForGpus from refusal


def ensure_first_model(cluster: Cluster, pilot: Actor, workspace: Workspace) -> Training:
    for training in trainings.list_trainings(cluster, pilot, workspace.id):
        if training.model == LENET.name:
            return training
    about = terminal_text("LeNet on real handwritten digits.")
    built_in, public = TrainingKind.BUILT_IN, Visibility.PUBLIC
    return trainings.create_training(
        cluster, pilot, workspace.id, LENET.name, about, built_in, LENET.name, public
    )


def wait_for_job(cluster: Cluster, pilot: Actor, job: Job, board: StageProgressBars) -> Job:
    """Shows the epochs. While the job waits, it shows the sentence of the job's page."""
    title = f"LeNet, {words.format_counted(job.units, 'ranks', language_of_terminal())}"
    while True:
        job = queries.read_job(cluster, pilot, job.id)
        measured = read_job_measurements(cluster, job)
        board.show(title, measured.share, describe_job_state(job, measured))
        if job.state in ENDED_JOB_STATES:
            return job
        if job.waiting_code == NoGpuEnvironment.code:
            print_sentence("No first training: {reason}", reason=describe_job_state(job, measured))
            stop_requests.stop_job(cluster, pilot, job.id)
            raise NoEnvironmentForGpus
        time.sleep(POLL_SECONDS)


def read_job_measurements(cluster: Cluster, job: Job) -> TrainingMeasurements:
    if not job.attempts:
        return TrainingMeasurements()
    return read_measurements(newest_output_folder(cluster, job))


def newest_output_folder(cluster: Cluster, job: Job) -> Path:
    """The output folder of the newest attempt."""
    return attempt_folder(cluster.settings, job.workspace_id, job.id, job.attempts[-1].number) / "out"


def describe_job_state(job: Job, measured: TrainingMeasurements) -> str:
    if job.state is JobState.WAITING and job.waiting_code:
        return words.sentence(job.waiting_code, job.waiting_data, language_of_terminal())
    if measured.accuracy is None or measured.epochs is None:
        return words.word("state.job", job.state.value, language_of_terminal())
    return terminal_text(
        "epoch {epoch} of {epochs}, validation accuracy {accuracy}",
        epoch=measured.epoch,
        epochs=measured.epochs,
        accuracy=words.format_percent(measured.accuracy, 1),
    )


def report_result(cluster: Cluster, pilot: Actor, workspace: Workspace, job: Job) -> int:
    """Prints the result. After a success it ends the workspace, so that its units are free."""
    page = f"{portal_url(cluster)}/jobs/{job.id}"
    measured = read_job_measurements(cluster, job)
    if job.state is not JobState.FINISHED or measured.accuracy is None:
        print(read_stderr_tail(newest_output_folder(cluster, job)) if job.attempts else "", file=sys.stderr)
        print_error(
            "The first training failed: {reason} Its page: {page}",
            reason=words.sentence(job.end_code or "", job.end_data, language_of_terminal()),
            page=page,
        )
        return 1
    print_sentence(
        "Finished: validation accuracy {accuracy} in {time}, {speed} images/s. {page}",
        accuracy=words.format_percent(measured.accuracy, 1),
        time=words.format_duration(job_seconds(job), language_of_terminal()),
        speed=words.format_number(measured.images_per_second or 0, 0),
        page=page,
    )
    if measured.accuracy < GOOD_ACCURACY:
        print_error(
            "That is less than {good}: this machine does not train as it should.",
            good=words.format_percent(GOOD_ACCURACY),
        )
        return 1
    first_training.record_first_training(cluster, job.id)
    end_first_workspace(cluster, pilot, workspace)
    return 0


def job_seconds(job: Job) -> float:
    return (job.ended_at - job.started_at).total_seconds() if job.ended_at and job.started_at else 0.0


def end_first_workspace(cluster: Cluster, pilot: Actor, workspace: Workspace) -> None:
    """Ends the workspace unless somebody has ended it by hand."""
    with suppress(Conflict):
        lifecycle.end_workspace(cluster, pilot, workspace.id)
    print_sentence(
        "The workspace {name} has ended, so its {units} are free for yours; it stays readable, "
        "and an administrator can extend it on its page.",
        name=workspace.name,
        units=words.format_units(workspace.units, read_offered_unit_kind(cluster), language_of_terminal()),
    )


def read_offered_unit_kind(cluster: Cluster) -> UnitKind:
    with cluster.store.read() as session:
        return nodes.offered_unit_kind(session)
