"""What would happen to a job if it were submitted now; nothing is written."""

from dataclasses import replace

import pytest
from sqlalchemy import func, select

from cluster.domain.errors import Refused
from cluster.domain.queue.reasons import DatasetNotReady, NotEnoughUnits
from cluster.domain.states import DatasetState, JobState
from cluster.services.context import Cluster
from cluster.services.queue.submission_preview import preview_submission
from cluster.store.jobs import Job
from tests.builders import a_dataset, a_job, a_training, a_workspace, holding
from tests.store.job_setup import Lab, a_lab


@pytest.fixture
def lab(cluster: Cluster) -> Lab:
    return a_lab(cluster)


def test_a_job_that_would_start_says_where(cluster: Cluster, lab: Lab) -> None:
    preview = preview_submission(cluster, lab.actor, lab.training.id, lab.request)
    assert (preview.units, preview.node, preview.explanation) == (1, lab.node.name, None)
    with cluster.store.read() as session:
        assert session.scalar(select(func.count(Job.id))) == 0


def test_a_job_that_would_wait_says_for_what(cluster: Cluster, lab: Lab) -> None:
    other = a_training(cluster, a_workspace(cluster, units=2))
    job = a_job(cluster, other, units=2, state=JobState.RUNNING)
    holding(cluster, job, lab.node.units)
    preview = preview_submission(cluster, lab.actor, lab.training.id, lab.request)
    assert not preview.node
    assert preview.explanation and preview.explanation.code == NotEnoughUnits.code


def test_a_dataset_that_is_not_ready_comes_first(cluster: Cluster, lab: Lab) -> None:
    late = a_dataset(cluster, lab.workspace, state=DatasetState.PREPARING)
    preview = preview_submission(
        cluster, lab.actor, lab.training.id, replace(lab.request, dataset_id=late.id)
    )
    assert preview.explanation and preview.explanation.code == DatasetNotReady.code


def test_what_submit_would_refuse_is_refused(cluster: Cluster, lab: Lab) -> None:
    with pytest.raises(Refused) as refused:
        preview_submission(cluster, lab.actor, lab.training.id, replace(lab.request, dataset_id=None))
    assert refused.value.code == "job.dataset_needed"
