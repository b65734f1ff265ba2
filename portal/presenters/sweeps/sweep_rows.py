"""Rows of the list of sweeps, as plain values of which the HTML is kept."""

from collections.abc import Sequence
from typing import NamedTuple

from flask import Flask

from cluster.domain.states import JobState
from cluster.services.sweeps.sweep_list import SweepLine
from portal.i18n.shown_moments import ShownMoment, shown_age
from portal.i18n.translate import _
from portal.presenters.jobs.job_rows import ShownHeadline, shown_headline
from portal.web.request_context import current_actor


class ShownSweep(NamedTuple):
    """One sweep. Texts are in the reader's language."""

    id: int
    name: str
    is_mine: bool
    training_id: int
    training_name: str
    workspace_name: str
    user_name: str
    jobs: int
    ended: int
    running: int
    waiting: int
    failed: int
    note: str
    best_id: int | None
    best_name: str
    headline: ShownHeadline | None
    submitted: ShownMoment | None


def init_app(app: Flask) -> None:
    app.add_template_global(sweep_rows)


def sweep_rows(sweeps: Sequence[SweepLine]) -> list[ShownSweep]:
    user_id = current_actor().user_id
    return [
        ShownSweep(
            sweep.id,
            sweep.name,
            sweep.user_id == user_id,
            sweep.training_id,
            sweep.training_name,
            sweep.workspace_name,
            sweep.user_name,
            sweep.jobs,
            sweep.ended,
            sweep.counts.get(JobState.RUNNING, 0) + sweep.counts.get(JobState.STOPPING, 0),
            sweep.counts.get(JobState.WAITING, 0) + sweep.counts.get(JobState.STARTING, 0),
            sweep.counts.get(JobState.FAILED, 0),
            _("stopped early") if sweep.stop_code else "",
            sweep.best_id,
            sweep.best_name or "",
            shown_headline(sweep.headline) if sweep.headline else None,
            shown_age(sweep.submitted_at),
        )
        for sweep in sweeps
    ]
