"""Plans the program of an attempt: its paths, variables and command, and the user as which it runs."""

from dataclasses import dataclass, replace
from pathlib import Path

from cluster.domain.jobs import launch, resume_points
from cluster.domain.states import Launcher, TrainingKind
from cluster.services.storage import folders
from cluster.settings import Settings
from cluster.store.jobs import Attempt, Job
from worker.environments.manifest import read_environment_variables
from worker.executors.contract import ProgramPlan
from worker.executors.path_mapping import PathMapping
from worker.kubernetes import object_names
from worker.kubernetes.manifests.run_spec import GangKind
from worker.scheduling.notebooks.notebook_program import NotebookPlan, notebook_variables, plan_notebook
from worker.scheduling.starts.resume_points import map_checkpoints
from worker.scheduling.starts.start_rows import (
    StartRows,
    allocated_gpus,
    allocated_kind,
    allocated_units,
    job_interfaces,
    job_network_variables,
    units_by_node,
)


@dataclass(frozen=True)
class ProgramPaths:
    """The paths of an attempt as its program finds them."""

    attempt: Path
    """The attempt's folder on the storage, as this machine sees it."""
    attempt_inside: Path
    environment: Path
    """The environment's folder, as this machine sees it."""
    python: Path
    folders: launch.JobFolders
    code: Path | None
    """The version that the job was submitted with; None for a built-in model."""
    checkpoints: str | None
    """The checkpoints of the attempt from which this one continues."""
    notebook: NotebookPlan | None = None


def map_program_paths(
    settings: Settings,
    attempt: Attempt,
    view: PathMapping,
    runtime: Path,
    loaded: StartRows,
    resume: resume_points.ResumePoint | None,
) -> ProgramPaths:
    """Shows through `view` whatever the program needs. Raises NotStarted."""
    job, environment = attempt.job, loaded.environment_of(attempt.id).path
    folder = folders.attempt_folder(settings, job.workspace_id, job.id, attempt.number)
    inside, shown_runtime = view.map_attempt(folder), str(view.map_runtime(runtime))
    python = view.map_environment(environment) / "bin" / "python"
    is_own_code = job.training.kind is not TrainingKind.BUILT_IN
    job_folders = launch.JobFolders(
        runtime=shown_runtime,
        out=str(inside / "out"),
        code=str(inside / "out" / "work") if is_own_code else shown_runtime,
        dataset=map_dataset(settings, job, view),
    )
    checkpoints = map_checkpoints(folder, resume, view) if resume else None
    notebook = plan_notebook(settings, attempt, loaded, view, python, shown_runtime)
    code = map_code(settings, job, view) if is_own_code and notebook is None else None
    return ProgramPaths(folder, inside, environment, python, job_folders, code, checkpoints, notebook)


def map_dataset(settings: Settings, job: Job, view: PathMapping) -> str:
    if job.dataset is None:
        return ""
    return str(view.map_path(folders.dataset_folder(settings, job.dataset), "dataset"))


def map_code(settings: Settings, job: Job, view: PathMapping) -> Path:
    folder = folders.code_folder(settings, job.workspace_id, job.training_id, job.code_version)
    return view.map_path(folder, "code")


def plan_program(settings: Settings, attempt: Attempt, paths: ProgramPaths) -> tuple[ProgramPlan, GangKind]:
    """The program, and how its ranks find each other if they are several pods. Raises Refused as `as_job_user`."""
    job, variables = attempt.job, program_variables(settings, attempt, paths)
    gang, launched = choose_gang_launch(settings, attempt, paths, sorted(variables))
    program = ProgramPlan(
        argv=launched.command,
        environment=variables,
        ranks=launched.ranks,
        code=paths.code,
        time_limit_seconds=job.time_limit_seconds,
        grace_seconds=job.grace_seconds,
    )
    return as_job_user(settings, job, program), gang


def program_variables(settings: Settings, attempt: Attempt, paths: ProgramPaths) -> dict[str, str]:
    job = attempt.job
    variables = launch.job_environment(
        job.id,
        attempt.number,
        job.units,
        [unit.identity for unit in allocated_units(attempt)],
        allocated_kind(attempt),
        paths.folders,
        str(paths.python.parent),
        job.variables,
    )
    variables |= read_environment_variables(paths.environment)
    if paths.checkpoints is not None:
        variables["GROUNDCREW_RESUME"] = paths.checkpoints
    variables |= job_network_variables(settings, attempt)
    if allocated_gpus(attempt) and not settings.executor.capabilities.is_local:
        # The node chooses the GPUs, and the program sees only those.
        del variables["CUDA_VISIBLE_DEVICES"]
    return notebook_variables(attempt, paths.notebook, variables) if paths.notebook else variables


def choose_gang_launch(
    settings: Settings, attempt: Attempt, paths: ProgramPaths, names: list[str]
) -> tuple[GangKind, launch.LaunchPlan]:
    """On several nodes the ranks are several pods, and each gets the variables of these `names`."""
    by_node, job = units_by_node(attempt), attempt.job
    python, job_folders = str(paths.python), paths.folders
    program = paths.notebook.command if paths.notebook else job_program(job, python)
    ranks = 1 if paths.notebook else job.units
    plan = launch.local_launch_plan(job.launcher, python, job_folders.runtime, ranks, program)
    if paths.notebook and not settings.executor.capabilities.is_local:
        return GangKind.NOTEBOOK, plan
    if settings.executor.capabilities.is_local or len(by_node) < 2:
        return GangKind.NONE, plan
    workdir = f"{job_folders.out}/work" if paths.code else job_folders.out
    interfaces = job_interfaces(settings, attempt)
    if job.launcher is Launcher.HOROVOD and settings.horovod_over == "mpi":
        return GangKind.MPI, launch.mpi_launch_plan(
            plan, python, job_folders.runtime, workdir, names, interfaces
        )
    pods = launch.units_per_pod([units for _, units in by_node])
    name = object_names.run_name(job.id, attempt.number)
    return GangKind.INDEXED, launch.pod_launch_plan(
        plan, job.launcher, python, job_folders.runtime, pods, f"{name}-0.{name}", interfaces
    )


def job_program(job: Job, interpreter: str) -> tuple[str, ...]:
    if job.training.kind is TrainingKind.BUILT_IN:
        return launch.built_in_program(interpreter, job.training.model or "")
    return launch.custom_program(interpreter, [str(word) for word in job.command])


def as_job_user(settings: Settings, job: Job, program: ProgramPlan) -> ProgramPlan:
    """If root starts the job, it runs with its user's own number, else as the user of the scheduler. Raises Refused for
    a number outside the installation's range.
    """
    if not folders.IS_ROOT:
        return program
    ids = settings.job_ids
    uid, gid = ids.uid_of(job.user_id), ids.gid_of(job.workspace_id)
    return replace(program, uid=uid, gid=gid, services=folders.service_ids(settings))
