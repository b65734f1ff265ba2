"""A list says of each sweep how far it is and which job is the best one."""

from sqlalchemy import update

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.domain.states import JobState
from cluster.services.context import Cluster
from cluster.services.sweeps.sweep_list import list_sweep_lines
from cluster.store.jobs import Job, Sweep, headline_columns
from tests.builders import a_job, a_user, actor_of, add
from tests.store.job_setup import Lab, a_lab


def a_sweep_of(cluster: Cluster, lab: Lab, *losses: float | None) -> Sweep:
    """None: the job waits."""
    plan = {"kind": "list", "values": {"seed": list(range(len(losses)))}, "order": ["seed"]}
    sweep = Sweep(
        workspace_id=lab.workspace.id, training_id=lab.training.id, user_id=lab.member.id, name="seeds",
        plan=plan, jobs=len(losses), submitted_at=cluster.clock(),
    )  # fmt: skip
    add(cluster, sweep)
    for loss in losses:
        job = a_job(cluster, lab.training, lab.member, sweep_id=sweep.id)
        if loss is not None:
            headline = HeadlineMetric("loss/validation", loss, is_best=True, lower_is_better=True)
            with cluster.store.write() as session:
                ended = {"state": JobState.FINISHED, "ended_at": cluster.clock()} | headline_columns(headline)
                session.execute(update(Job).where(Job.id == job.id).values(**ended))
    return sweep


def test_each_sweep_has_its_progress_and_its_best_job(cluster: Cluster) -> None:
    lab = a_lab(cluster)
    first = a_sweep_of(cluster, lab, 0.5, 0.2, 0.9, None)
    second = a_sweep_of(cluster, lab, None, None)
    newer, older = list_sweep_lines(cluster, lab.actor)
    assert (newer.id, older.id) == (second.id, first.id)
    assert (older.ended, older.jobs, older.counts) == (3, 4, {JobState.WAITING: 1})
    assert older.headline is not None and older.headline.value == 0.2
    assert (newer.ended, newer.headline, newer.best_id) == (0, None, None)
    assert [line.id for line in list_sweep_lines(cluster, lab.actor, before_id=second.id)] == [first.id]
    assert list_sweep_lines(cluster, lab.actor, user_id=lab.manager.id) == []
    assert list_sweep_lines(cluster, actor_of(a_user(cluster))) == []
