"""Jobs: the list, a job's page with its tabs, a duplicate, and stopping it."""

from typing import Any

from flask import Blueprint, flash, redirect, render_template, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict
from cluster.domain.states import LIVING_JOB_STATES, JobState
from cluster.services import job_files, jobs, places, trainings
from cluster.services.unbegun import why_not_begun
from cluster.store.jobs import Job
from portal import filters, queue_page
from portal.current import current_actor, current_cluster, read_once
from portal.i18n import _
from portal.job_log_tab import read_log_tab
from portal.job_page import look_at
from portal.pieces import page_or_piece
from portal.saying import say

TABS = ("overview", "log", "checkpoints", "settings", "history")
STATES = {state.value: (state,) for state in JobState} | {"living": LIVING_JOB_STATES}
PIECES = ("head", "sheet", "overview")
PAGE_LENGTH = 50

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs")
def index() -> Response:
    """Filters and the place in the list are in the address; one row more than is shown tells of a next page."""
    cluster, actor = current_cluster(), current_actor()
    state = filters.chosen("state", STATES)
    chosen = {name: filters.number(name) for name in ("workspace", "training", "user", "sweep")}
    rows = jobs.list_jobs(
        cluster,
        actor,
        states=STATES.get(state, ()),
        workspace_id=chosen["workspace"],
        training_id=chosen["training"],
        user_id=chosen["user"],
        sweep_id=chosen["sweep"],
        before_id=filters.number("before"),
        limit=PAGE_LENGTH + 1,
    )
    return page_or_piece(
        "jobs/list.html",
        "jobs/_list.html",
        jobs=rows[:PAGE_LENGTH],
        next_before=rows[PAGE_LENGTH - 1].id if len(rows) > PAGE_LENGTH else None,
        state=state,
        chosen=chosen,
        workspaces=read_once(places.list_places),
        training=trainings.read_training(cluster, actor, chosen["training"]) if chosen["training"] else None,
        same_page=filters.same_page,
    )


@blueprint.get("/jobs/<int:job_id>")
def page(job_id: int) -> Response:
    """`?tab=` is the part shown, `?attempt=` the try whose files are shown (the newest otherwise).

    htmx asks for one of the pieces that move: the head, the run sheet, or the tab. A waiting job's
    overview, its way through the queue, is followed by the graphs when it starts.
    """
    cluster, actor = current_cluster(), current_actor()
    job = jobs.read_job(cluster, actor, job_id)
    tab = filters.chosen("tab", TABS, "overview")
    view = look_at(cluster, job, filters.number("attempt"))
    piece = filters.chosen("piece", PIECES, tab)
    return page_or_piece(
        "jobs/page.html",
        f"jobs/_{piece}.html",
        job=job,
        view=view,
        tab=tab,
        shown=read_log_tab(view) if tab == "log" else None,
        line=queue_page.line_of_job(cluster, actor, job) if job.state is JobState.WAITING else None,
        unbegun=why_not_begun(cluster, job),
        history=queue_page.reasons_of(cluster, job, cluster.clock()) if job.state is JobState.WAITING else [],
        may_stop=jobs.may_stop(actor, job) and job.state in LIVING_JOB_STATES,
        may_delete_files=may_delete(job),
        same_page=filters.same_page,
    )


@blueprint.get("/jobs/<int:job_id>/duplicate")
def duplicate(job_id: int) -> Response:
    """The form of a new job, filled in as this one was."""
    job = jobs.read_job(current_cluster(), current_actor(), job_id)
    fewer = filters.number("units")
    return redirect(
        url_for("job_new.new", training_id=job.training_id, before=job_id, units=fewer or None), 303
    )


@blueprint.get("/jobs/<int:job_id>/stop")
def confirm_stop(job_id: int) -> str:
    return render_stop(job_id)


@blueprint.post("/jobs/<int:job_id>/stop")
def stop(job_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    try:
        job = jobs.stop_job(cluster, actor, job_id)
    except Conflict as conflict:
        return Response(render_stop(job_id, say(conflict.code, conflict.data)), 409, mimetype="text/html")
    if job.state is JobState.STOPPED:
        flash(_("job-%(id)s is stopped; it had not begun.", id=job_id), "ok")
    else:
        flash(_("job-%(id)s is being stopped; its units come back within seconds.", id=job_id), "ok")
    return redirect(url_for("jobs.page", job_id=job_id), 303)


def may_delete(job: Job) -> bool:
    """Whether there are files that this person may delete now."""
    is_over = job.state not in LIVING_JOB_STATES
    return is_over and job_files.has_files(job) and job_files.may_delete_files(current_actor(), job)


@blueprint.get("/jobs/<int:job_id>/files/delete")
def confirm_delete_files(job_id: int) -> str:
    return render_delete_files(job_id)


@blueprint.post("/jobs/<int:job_id>/files/delete")
def delete_files(job_id: int) -> Response:
    try:
        job_files.delete_files(current_cluster(), current_actor(), [job_id])
    except Conflict as conflict:
        return Response(
            render_delete_files(job_id, say(conflict.code, conflict.data)), 409, mimetype="text/html"
        )
    flash(_("The files of job-%(id)s are being deleted.", id=job_id), "ok")
    return redirect(url_for("jobs.page", job_id=job_id), 303)


def render_delete_files(job_id: int, problem: str = "") -> str:
    """What goes and what stays, in numbers."""
    cluster, actor = current_cluster(), current_actor()
    job = jobs.read_job(cluster, actor, job_id)
    values: dict[str, Any] = {"job": job, "view": look_at(cluster, job, None), "problem": problem}
    return render_template(
        "jobs/delete_files.html",
        may_delete=job_files.may_delete_files(actor, job),
        is_living=job.state in LIVING_JOB_STATES,
        has_files=job_files.has_files(job),
        **values,
    )


def render_stop(job_id: int, problem: str = "") -> str:
    """What ends and what stays, in numbers read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    job = jobs.read_job(cluster, actor, job_id)
    values: dict[str, Any] = {"job": job, "view": look_at(cluster, job, None), "problem": problem}
    return render_template("jobs/stop.html", may_stop=jobs.may_stop(actor, job), **values)
