"""The queue's page: waiting jobs in order with their reasons, running jobs, and hold, release and move for managers."""

from flask import Blueprint, flash, redirect, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import GroundcrewError
from cluster.services.jobs.queries import read_job_events
from cluster.services.queue import holds_and_moves
from cluster.services.queue import queries as queue
from cluster.services.workspaces import queries as places
from portal.i18n.messages import localized_error
from portal.i18n.translate import _
from portal.presenters.queue import queue_page
from portal.presenters.queue.queue_summary import share_reason_counts
from portal.web import query_params, queue_params
from portal.web.request_context import current_actor, current_cluster, read_once
from portal.web.responses.fragments import render_page_or_fragment

PAGE_LENGTH = 50

blueprint = Blueprint("queue", __name__)


@blueprint.get("/queue")
def page() -> Response:
    """`?open=<job id>` shows for one job what each node lacks, and what would help it."""
    cluster, actor = current_cluster(), current_actor()
    now = cluster.clock()
    filters = queue_params.read_queue_filter(PAGE_LENGTH)
    opened_id = query_params.id_param("open")
    view = queue.read_queue(cluster, actor, filters, opened_id, share_reason_counts)
    waiting = queue_page.queue_rows(view, now)
    opened = view.opened
    return render_page_or_fragment(
        "queue/page.html",
        "queue/_queue.html",
        view=view,
        filters=filters,
        waiting=waiting,
        running=queue_page.running_rows(view, now),
        opened=opened,
        shorts=queue_page.list_node_shortages(opened.nodes, opened.job.units) if opened else [],
        history=queue_page.list_past_reasons(read_job_events(cluster, opened.job.id)) if opened else [],
        may_arrange=bool(opened and holds_and_moves.can_reorder_job(actor, opened.job)),
        workspaces=read_once(places.list_workspace_summaries),
        next_after=queue_params.format_queue_cursor(view.next_after),
        next_run=queue_params.format_queue_cursor(view.next_after_run),
        current_url_with=query_params.current_url_with,
        place=queue_page.place_behind(waiting, opened),
        people=queue_page.list_job_owners(view, actor, filters.user_id),
        next_start=queue_page.next_expected_start(waiting, filters, now),
    )


@blueprint.post("/jobs/<int:job_id>/hold")
def hold(job_id: int) -> Response:
    holds_and_moves.hold_job(current_cluster(), current_actor(), job_id)
    flash(_("job-%(id)s is held: it does not start until it is released.", id=job_id), "ok")
    return redirect_to_queue(job_id)


@blueprint.post("/jobs/<int:job_id>/release")
def release(job_id: int) -> Response:
    holds_and_moves.release_job(current_cluster(), current_actor(), job_id)
    flash(_("job-%(id)s is released; it waits where it stood.", id=job_id), "ok")
    return redirect_to_queue(job_id)


@blueprint.post("/jobs/<int:job_id>/move")
def move(job_id: int) -> Response:
    """`step` is up, down, front or before; for the last one, `before` is the id of a job of the same line."""
    typed = request.form.get("before", "").strip().removeprefix("job-")
    before = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else None
    try:
        holds_and_moves.move_job(
            current_cluster(), current_actor(), job_id, request.form.get("step", ""), before
        )
    except GroundcrewError as problem:
        if problem.code != "job.not_in_line":
            raise
        flash(localized_error(problem), "fault")
    else:
        flash(_("job-%(id)s stands elsewhere in its line now.", id=job_id), "ok")
    return redirect_to_queue(job_id)


def redirect_to_queue(job_id: int) -> Response:
    """Redirects to the line of the job with the job open."""
    workspace = query_params.parse_id(request.form, "workspace")
    return redirect(url_for("queue.page", workspace=workspace, open=job_id), 303)
