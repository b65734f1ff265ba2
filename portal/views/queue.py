"""The queue: who waits, in the true order and why; who runs and until when; what a manager does to the line."""

from flask import Blueprint, flash, redirect, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import GroundcrewError
from cluster.services import moves, places, queue
from portal import filters, queue_page
from portal.current import current_actor, current_cluster, read_once
from portal.i18n import _
from portal.pieces import page_or_piece
from portal.saying import say_error

PAGE_LENGTH = 50

blueprint = Blueprint("queue", __name__)


@blueprint.get("/queue")
def page() -> Response:
    """`?open=<job id>` shows one job node by node, with what would help it."""
    cluster, actor = current_cluster(), current_actor()
    now = cluster.clock()
    wanted = queue_page.read_wanted(PAGE_LENGTH)
    asked = filters.number("open")
    view = queue.read_queue(cluster, actor, wanted, asked)
    waiting = queue_page.lines_of(view, now)
    opened = next((line for line in waiting if line.job and line.id == asked), None)
    return page_or_piece(
        "queue/page.html",
        "queue/_queue.html",
        view=view,
        wanted=wanted,
        waiting=waiting,
        running=queue_page.runs_of(view, now),
        opened=opened,
        shorts=queue_page.shorts_of(view.nodes, opened.units) if opened else [],
        history=queue_page.reasons_of(cluster, opened.job, now) if opened and opened.job else [],
        may_arrange=bool(opened and opened.job and moves.may_arrange(actor, opened.job)),
        workspaces=read_once(places.list_places),
        next_after=queue_page.write_place(view.next_after),
        next_run=queue_page.write_place(view.next_after_run),
        same_page=filters.same_page,
        links=queue_page.Links(),
        people=queue_page.people_of(view, actor, wanted.user_id),
        next_start=queue_page.next_start(waiting, wanted, now),
    )


@blueprint.post("/jobs/<int:job_id>/hold")
def hold(job_id: int) -> Response:
    moves.hold_job(current_cluster(), current_actor(), job_id)
    flash(_("job-%(id)s is held: it does not start until it is let go.", id=job_id), "ok")
    return back(job_id)


@blueprint.post("/jobs/<int:job_id>/release")
def release(job_id: int) -> Response:
    moves.release_job(current_cluster(), current_actor(), job_id)
    flash(_("job-%(id)s is let go; it waits where it stood.", id=job_id), "ok")
    return back(job_id)


@blueprint.post("/jobs/<int:job_id>/move")
def move(job_id: int) -> Response:
    """`step` is up, down, front or before; with the last, `before` is the id of a job of the same line."""
    typed = request.form.get("before", "").strip().removeprefix("job-")
    before = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else None
    try:
        moves.move_job(current_cluster(), current_actor(), job_id, request.form.get("step", ""), before)
    except GroundcrewError as problem:
        if problem.code != "job.not_in_line":
            raise
        flash(say_error(problem), "fault")
    else:
        flash(_("job-%(id)s stands elsewhere in its line now.", id=job_id), "ok")
    return back(job_id)


def back(job_id: int) -> Response:
    """To the line in which the job stands, with the job open."""
    workspace = filters.number_in(request.form, "workspace")
    return redirect(url_for("queue.page", workspace=workspace, open=job_id), 303)
