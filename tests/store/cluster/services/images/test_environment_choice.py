"""A job runs in the environment that it or its training names and keeps in which; never in another in silence."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from cluster.domain.errors import Refused
from cluster.domain.jobs.submission import DEFAULT_ENVIRONMENT_ID
from cluster.domain.states import EnvironmentState, JobState, Launcher, TrainingKind
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.context import Cluster
from cluster.services.images.environment_choice import list_choices, read_chosen
from cluster.services.images.environment_list import read_ran_in
from cluster.services.jobs import attempts, queries, reruns, submission
from cluster.services.leases import HeldLease, acquire_lease
from cluster.services.queue import submission_preview
from cluster.services.queue.dispatch import place_waiting_jobs
from cluster.services.sweeps import submission as sweeps
from cluster.services.training_changes import TrainingChanges, edit_training
from cluster.store.environments import Environment
from cluster.store.jobs import Attempt, Job
from tests.builders import a_code_version, a_training, a_workspace, actor_of, an_environment
from tests.store.conftest import LASTS
from tests.store.job_setup import Lab, a_lab
from worker.executors.contract import NotStarted
from worker.scheduling.starts.start_plan_builder import build_start_plan
from worker.scheduling.starts.start_rows import read_start_rows

TENSORFLOW = [["python", "3.11.2", ""], ["tensorflow-cpu", "2.18", ""], ["horovod", "0.28.1", ""]]


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


@pytest.fixture
def held(cluster: Cluster, lab: Lab) -> HeldLease:
    held = acquire_lease(cluster, "scheduler", "one", LASTS)
    assert held
    return held


def submit(cluster: Cluster, lab: Lab, chosen: int | None = None) -> Job:
    return submission.submit_job(
        cluster, lab.actor, lab.training.id, replace(lab.request, environment_id=chosen)
    )


def change(cluster: Cluster, environment: Environment, **columns: object) -> None:
    with cluster.store.write() as session:
        row = session.get_one(Environment, environment.id)
        for name, value in columns.items():
            setattr(row, name, value)


def test_a_job_takes_what_it_names_else_what_its_training_names(cluster: Cluster, lab: Lab) -> None:
    one = an_environment(cluster, "tf-2.18", contents=TENSORFLOW)
    other = an_environment(cluster, "tf-2.17", [lab.workspace], contents=TENSORFLOW)
    assert [row.name for row in list_choices(cluster, lab.workspace.id)] == ["tf-2.17", "tf-2.18"]
    assert read_chosen(cluster, None) is None and read_chosen(cluster, one.id) is not None
    assert submit(cluster, lab).environment_id is None
    assert submit(cluster, lab, one.id).environment_id == one.id
    edit_training(cluster, actor_of(lab.manager), lab.training.id, TrainingChanges(environment_id=other.id))
    assert submit(cluster, lab).environment_id == other.id
    assert submit(cluster, lab, DEFAULT_ENVIRONMENT_ID).environment_id is None
    sweep = sweeps.submit_sweep(
        cluster, lab.actor, lab.training.id, SweepRequest(lab.request, {"batch_size": "32, 64"})
    )
    with cluster.store.read() as session:
        of_sweep = session.scalars(select(Job).where(Job.sweep_id == sweep.id)).all()
    assert [job.environment_id for job in of_sweep] == [other.id, other.id]
    assert {job.shape for job in of_sweep} == {f"00001:-:{lab.request.dataset_id}:{sweep.id}:{other.id}"}


def test_environments_of_other_workspaces_and_deleted_ones_are_refused(cluster: Cluster, lab: Lab) -> None:
    elsewhere = an_environment(cluster, "private", [a_workspace(cluster, lab.manager, units=1)])
    gone = an_environment(cluster, "gone", contents=TENSORFLOW, deleted_at=cluster.clock())
    old = an_environment(cluster, "old", contents=TENSORFLOW, python="3.5.2")
    for chosen, code in (
        (elsewhere.id, "job.environment_unknown"),
        (987_654, "job.environment_unknown"),
        (gone.id, "job.environment_deleted"),
        (old.id, "job.environment_python_too_old"),
    ):
        for ask in (submit, preview):
            with pytest.raises(Refused) as refusal:
                ask(cluster, lab, chosen)
            assert (refusal.value.field, refusal.value.code) == ("environment", code)
        with pytest.raises(Refused):
            edit_training(
                cluster, actor_of(lab.manager), lab.training.id, TrainingChanges(environment_id=chosen)
            )


def preview(cluster: Cluster, lab: Lab, chosen: int) -> object:
    request = replace(lab.request, environment_id=chosen)
    return submission_preview.preview_submission(cluster, lab.actor, lab.training.id, request)


def test_the_form_says_what_an_environment_lacks(cluster: Cluster, lab: Lab) -> None:
    torch = an_environment(cluster, "torch-2.7")
    with pytest.raises(Refused) as refusal:
        submit(cluster, lab, torch.id)
    assert refusal.value.data["libraries"] == ["tensorflow", "horovod"]
    own = a_training(cluster, lab.workspace, kind=TrainingKind.ADVANCED)
    a_code_version(cluster, own, [("train.py", b"")])
    request = replace(
        lab.request, variables={}, dataset_id=None, command=("train.py",), environment_id=torch.id
    )
    for launcher, codes in ((Launcher.HOROVOD, ["job.horovod_missing"]), (Launcher.TORCHRUN, [])):
        shown = submission_preview.preview_submission(
            cluster, lab.actor, own.id, replace(request, launcher=launcher)
        )
        assert [warning.code for warning in shown.warnings] == codes


def test_a_job_starts_in_its_own_python_and_keeps_where_it_ran(
    cluster: Cluster, lab: Lab, held: HeldLease, tmp_path: Path
) -> None:
    chosen = an_environment(cluster, "tf-2.18", contents=TENSORFLOW, path=str(tmp_path / "7"))
    with_choice, without = submit(cluster, lab, chosen.id), submit(cluster, lab)
    place_waiting_jobs(cluster, held)
    with cluster.store.read() as session:
        ids = {job_id: key for key, job_id in session.execute(select(Attempt.id, Attempt.job_id))}
    loaded = read_start_rows(cluster, list(ids.values()))
    with pytest.raises(NotStarted, match="environment_gone"):
        build_start_plan(cluster, Path("/runtime"), ids[with_choice.id], loaded=loaded)
    (tmp_path / "7").mkdir()
    plan = build_start_plan(cluster, Path("/runtime"), ids[with_choice.id], loaded=loaded)
    assert plan.program.argv[0] == str(tmp_path / "7" / "bin" / "python")
    assert plan.program.environment["PATH"].startswith(f"{tmp_path}/7/bin:")
    default = build_start_plan(cluster, Path("/runtime"), ids[without.id], loaded=loaded)
    assert default.program.argv[0] == "/nowhere/bin/python"
    known = {key: loaded.environment_of(key).id for key in ids.values()}
    attempts.record_starting(cluster, held, dict.fromkeys(ids.values()), known)
    jobs = [queries.read_job(cluster, lab.actor, job_id) for job_id in ids]
    names = {job_id: row.name for job_id, row in read_ran_in(cluster, jobs).items()}
    assert names == {with_choice.id: "tf-2.18", without.id: "default"}


def test_a_job_waits_for_its_own_environment_alone(cluster: Cluster, lab: Lab, held: HeldLease) -> None:
    chosen = an_environment(cluster, "tf-2.18", contents=TENSORFLOW)
    waits, runs = submit(cluster, lab, chosen.id), submit(cluster, lab)
    change(cluster, chosen, state=EnvironmentState.BUILDING)
    place_waiting_jobs(cluster, held)
    states = {job.id: queries.read_job(cluster, lab.actor, job.id) for job in (waits, runs)}
    assert states[runs.id].state is not JobState.WAITING
    assert states[waits.id].waiting_code == "waiting.environment_not_ready"
    assert states[waits.id].waiting_data is not None and states[waits.id].waiting_data["name"] == "tf-2.18"
    change(cluster, chosen, state=EnvironmentState.READY)
    place_waiting_jobs(cluster, held)
    assert queries.read_job(cluster, lab.actor, waits.id).state is not JobState.WAITING


def test_a_job_is_never_run_again_in_another_environment(cluster: Cluster, lab: Lab) -> None:
    chosen = an_environment(cluster, "tf-2.18", contents=TENSORFLOW)
    other = an_environment(cluster, "tf-2.17", contents=TENSORFLOW)
    first, plain = submit(cluster, lab, chosen.id), submit(cluster, lab)
    edit_training(cluster, actor_of(lab.manager), lab.training.id, TrainingChanges(environment_id=other.id))
    again = reruns.rerun_jobs(cluster, lab.actor, [first.id, plain.id])
    assert [queries.read_job(cluster, lab.actor, key).environment_id for key in again] == [chosen.id, None]
    change(cluster, chosen, deleted_at=cluster.clock())
    with pytest.raises(Refused) as refusal:
        reruns.rerun_jobs(cluster, lab.actor, [first.id])
    assert (refusal.value.code, refusal.value.data["name"]) == ("job.environment_deleted", "tf-2.18")
