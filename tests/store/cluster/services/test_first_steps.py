"""What is still to be done before the first job, for an installation and for a person."""

import json

from cluster.domain.states import DatasetState, JobState, UserState, Visibility
from cluster.services.context import Cluster
from cluster.services.first_steps import (
    InstallationSteps,
    ResearcherSteps,
    read_installation_steps,
    read_researcher_steps,
)
from cluster.services.first_training import record_first_training
from tests.builders import a_dataset, a_job, a_training, a_user, a_workspace, actor_of, an_administrator


def test_an_empty_installation_has_everything_before_it(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    service = a_user(cluster, "groundcrew", state=UserState.SERVICE)
    a_workspace(cluster, manager=service, name="first-training")
    steps = read_installation_steps(cluster, actor_of(chief))
    assert steps == InstallationSteps(False, False, None, None) and not steps.are_done


def test_what_was_done_is_known(cluster: Cluster) -> None:
    chief = an_administrator(cluster)
    a_workspace(cluster, manager=a_user(cluster))
    record_first_training(cluster, 1)
    write_verified_backup(cluster)
    steps = read_installation_steps(cluster, actor_of(chief))
    assert (steps.has_people, steps.has_workspace, steps.finished_job) == (True, True, 1)
    assert steps.verified_backup_at == cluster.clock() and steps.are_done


def test_any_finished_job_shows_that_the_machine_trains(cluster: Cluster) -> None:
    """A person may have told `make up` to begin without a training."""
    chief = an_administrator(cluster)
    training = a_training(cluster, a_workspace(cluster))
    a_job(cluster, training, state=JobState.FAILED)
    assert read_installation_steps(cluster, actor_of(chief)).finished_job is None
    job = a_job(cluster, training, state=JobState.FINISHED)
    assert read_installation_steps(cluster, actor_of(chief)).finished_job == job.id


def write_verified_backup(cluster: Cluster) -> None:
    folder, at = cluster.settings.backups, cluster.clock().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    name = "groundcrew-20261120-030000.sql.zst"
    (folder / name).write_bytes(b"x")
    manifest = {"made_at": at, "size": 1, "sha256": "0", "revision": "0115", "rows": {}, "restored_at": at}
    (folder / f"{name}.json").write_text(json.dumps(manifest))


def test_a_person_begins_where_there_is_something_to_begin_with(cluster: Cluster) -> None:
    seoyeon, other = a_user(cluster), a_user(cluster)
    empty = a_workspace(cluster, members=(seoyeon,))
    ours = a_workspace(cluster, members=(seoyeon, other))
    ids, actor = [empty.id, ours.id], actor_of(seoyeon)
    assert read_researcher_steps(cluster, actor, ids) == ResearcherSteps(empty.id, None, None)
    a_dataset(cluster, ours, state=DatasetState.FAILED)
    a_training(cluster, ours, other, visibility=Visibility.PRIVATE)
    assert read_researcher_steps(cluster, actor, ids) == ResearcherSteps(empty.id, None, None)
    dataset = a_dataset(cluster, ours)
    assert read_researcher_steps(cluster, actor, ids) == ResearcherSteps(ours.id, dataset.id, None)
    training = a_training(cluster, ours, seoyeon)
    assert read_researcher_steps(cluster, actor, ids) == ResearcherSteps(ours.id, dataset.id, training.id)
