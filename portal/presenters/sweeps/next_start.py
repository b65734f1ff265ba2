"""Why the next job of a sweep waits, and when it is expected to start."""

from flask import Flask

from cluster.domain.states import JobState
from cluster.services.jobs import queries
from portal.presenters.queue.queue_page import QueueRow, queue_row_of_job
from portal.presenters.sweeps.sweep_page import SweepView
from portal.web.request_context import current_actor, current_cluster


def init_app(app: Flask) -> None:
    app.add_template_global(next_start_of_sweep)


def next_start_of_sweep(view: SweepView) -> QueueRow | None:
    """The queue's row of the waiting job that stands first in the sweep; None if none waits any more."""
    waiting = [entry for entry in view.results if entry.state is JobState.WAITING]
    if not waiting:
        return None
    cluster, actor = current_cluster(), current_actor()
    job = queries.read_job(cluster, actor, min(waiting, key=lambda entry: entry.number).job_id)
    # It may have started since the page's results were read.
    return queue_row_of_job(cluster, actor, job) if job.state is JobState.WAITING else None
