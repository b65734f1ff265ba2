"""Rows of the list of sweeps are plain values in the reader's language."""

from flask import g

from cluster.domain.jobs.headline_metric import HeadlineMetric
from cluster.services.sweeps.sweep_list import list_sweep_lines
from portal.presenters.sweeps import sweep_rows
from portal.rendering.kept_html import fingerprint
from tests.builders import actor_of
from tests.pages.portal.pages_lab import Lab
from tests.pages.portal.views.sweeps.test_sweeps import a_sweep


def test_a_row_is_kept_by_its_value(lab: Lab) -> None:
    a_sweep(lab)
    (line,) = list_sweep_lines(lab.cluster, actor_of(lab.seoyeon))
    headline = HeadlineMetric("accuracy/validation", 0.9, is_best=True)
    columns = {
        "headline_metric": headline.metric,
        "headline_value": headline.value,
        "headline_is_best": True,
        "headline_score": headline.score,
    }
    with lab.app.test_request_context("/sweeps"):
        g.actor = actor_of(lab.seoyeon)
        (row,) = sweep_rows.sweep_rows([line._replace(best_id=7, best_name="best", **columns)])
    assert (row.ended, row.waiting, row.jobs, row.best_name) == (0, 3, 3, "best")
    assert row.headline is not None and row.headline.value == "90.0 %"
    assert fingerprint(row) == fingerprint(row._replace())
