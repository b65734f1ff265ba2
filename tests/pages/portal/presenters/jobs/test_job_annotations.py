"""What REST says of a job's headline metric, tags and note."""

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.store.jobs import JobTag, headline_columns
from portal.presenters.jobs.job_annotations import describe_annotations
from tests.builders import a_job, add
from tests.pages.portal.pages_lab import Lab


def test_a_job_without_a_metric_has_no_headline(lab: Lab) -> None:
    with lab.app.test_request_context("/"):
        found = describe_annotations(a_job(lab.cluster, lab.lenet))
    assert found == {"headline": None, "tags": [], "note": None}


def test_the_kind_of_a_value_is_said(lab: Lab) -> None:
    columns = headline_columns(HeadlineMetric("loss/train", 0.5, is_best=False, lower_is_better=True))
    job = a_job(lab.cluster, lab.lenet, note="the one", **columns)
    add(lab.cluster, JobTag(tag="paper", job_id=job.id))
    with lab.app.test_request_context("/", headers={"Cookie": "gc_language=en"}):
        found = describe_annotations(job)
    assert (found["tags"], found["note"]) == (["paper"], "the one")
    assert found["headline"] == {
        "metric": "loss/train",
        "value": 0.5,
        "is_best": False,
        "lower_is_better": True,
        "text": "train loss 0.5 (last)",
    }
