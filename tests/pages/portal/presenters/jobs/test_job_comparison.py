"""Jobs side by side: what differs, what is best, what is the same."""

from cluster.services.jobs.queries import read_job
from cluster.store.jobs import Job
from portal.presenters.jobs.job_comparison import JobComparison
from tests.builders import a_job, actor_of
from tests.pages.portal.pages_lab import Lab


def test_parameters_and_metrics_are_rows_with_the_best_marked(lab: Lab) -> None:
    def a_run(rate: float, loss: float) -> Job:
        variables = {"learning_rate": rate, "epochs": 3}
        job = a_job(
            lab.cluster,
            lab.lenet,
            variables=variables,
            results={"loss/train": [loss, 2, 1], "epochs": [3, 3, 3]},
        )
        return read_job(lab.cluster, actor_of(lab.administrator), job.id)

    view = JobComparison(lab.cluster, [a_run(0.1, 0.5), a_run(0.2, 0.25), a_run(0.2, 0.75)])
    ((name, rates),) = view.differing_rows
    assert (name, [value.text for value in rates]) == ("learning_rate", ["0.1", "0.2", "0.2"])
    assert view.same_rows == [("epochs", "3")]
    ((metric, losses),) = view.metric_rows
    assert metric == "loss/train"
    assert [(value.number, value.is_best) for value in losses] == [(0.5, False), (0.25, True), (0.75, False)]
    assert view.code_pairs() == []
