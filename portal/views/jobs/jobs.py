"""Job pages: list, show with tabs, duplicate, stop and delete files."""

from flask import Blueprint, flash, redirect, render_template, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict
from cluster.domain.states import LIVE_JOB_STATES, JobState
from cluster.services import trainings
from cluster.services.jobs import file_deletions, stop_requests
from cluster.services.jobs import queries as job_queries
from cluster.services.jobs.start_delays import read_start_delay
from cluster.services.workspaces import queries
from portal.i18n.messages import localized_sentence
from portal.i18n.translate import _
from portal.presenters import queue_page
from portal.presenters.jobs.job_log_tab import read_log_tab
from portal.presenters.jobs.job_page import read_job_view
from portal.web import query_params
from portal.web.fragments import render_page_or_fragment
from portal.web.request_context import current_actor, current_cluster, read_once

TABS = ("overview", "log", "checkpoints", "settings", "history")
STATES = {state.value: (state,) for state in JobState} | {"living": LIVE_JOB_STATES}
FRAGMENTS = ("head", "facts", "overview")
PAGE_LENGTH = 50

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs")
def index() -> Response:
    """Filters and the place in the list are in the address; one row more than is shown tells of a next page."""
    cluster, actor = current_cluster(), current_actor()
    state = query_params.choice_param("state", STATES)
    chosen = {name: query_params.id_param(name) for name in ("workspace", "training", "user", "sweep")}
    rows = job_queries.list_jobs(
        cluster,
        actor,
        states=STATES.get(state, ()),
        workspace_id=chosen["workspace"],
        training_id=chosen["training"],
        user_id=chosen["user"],
        sweep_id=chosen["sweep"],
        before_id=query_params.id_param("before"),
        limit=PAGE_LENGTH + 1,
    )
    return render_page_or_fragment(
        "jobs/list.html",
        "jobs/_list.html",
        jobs=rows[:PAGE_LENGTH],
        next_before=rows[PAGE_LENGTH - 1].id if len(rows) > PAGE_LENGTH else None,
        state=state,
        chosen=chosen,
        workspaces=read_once(queries.list_workspace_summaries),
        training=trainings.read_training(cluster, actor, chosen["training"]) if chosen["training"] else None,
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/jobs/<int:job_id>")
def page(job_id: int) -> Response:
    """`?tab=` is the part shown, `?attempt=` the try whose files are shown (the newest otherwise).

    htmx asks for one of the fragments that change: the head, the facts, or the tab. A waiting job's
    overview, its way through the queue, is followed by the graphs when it starts.
    """
    cluster, actor = current_cluster(), current_actor()
    job = job_queries.read_job(cluster, actor, job_id)
    tab = query_params.choice_param("tab", TABS, "overview")
    view = read_job_view(cluster, job, query_params.id_param("attempt"))
    fragment = query_params.choice_param("fragment", FRAGMENTS, tab)
    return render_page_or_fragment(
        "jobs/page.html",
        f"jobs/_{fragment}.html",
        job=job,
        view=view,
        tab=tab,
        shown=read_log_tab(view) if tab == "log" else None,
        line=queue_page.queue_row_of_job(cluster, actor, job) if job.state is JobState.WAITING else None,
        start_delay=read_start_delay(cluster, job),
        history=queue_page.list_past_reasons(cluster, job, cluster.clock())
        if job.state is JobState.WAITING
        else [],
        may_stop=stop_requests.can_stop_job(actor, job) and job.state in LIVE_JOB_STATES,
        may_delete_files=file_deletions.can_delete_files_now(actor, job),
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/jobs/<int:job_id>/duplicate")
def duplicate(job_id: int) -> Response:
    """The form of a new job, filled in as this one was."""
    job = job_queries.read_job(current_cluster(), current_actor(), job_id)
    fewer = query_params.id_param("units")
    return redirect(
        url_for("job_new.new", training_id=job.training_id, before=job_id, units=fewer or None), 303
    )


@blueprint.get("/jobs/<int:job_id>/stop")
def confirm_stop(job_id: int) -> str:
    return render_stop_job(job_id)


@blueprint.post("/jobs/<int:job_id>/stop")
def stop(job_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    try:
        job = stop_requests.stop_job(cluster, actor, job_id)
    except Conflict as conflict:
        return Response(
            render_stop_job(job_id, localized_sentence(conflict.code, conflict.data)),
            409,
            mimetype="text/html",
        )
    if job.state is JobState.STOPPED:
        flash(_("job-%(id)s is stopped; it had not begun.", id=job_id), "ok")
    else:
        flash(_("job-%(id)s is being stopped; its units come back within seconds.", id=job_id), "ok")
    return redirect(url_for("jobs.page", job_id=job_id), 303)


@blueprint.get("/jobs/<int:job_id>/files/delete")
def confirm_delete_files(job_id: int) -> str:
    return render_delete_files(job_id)


@blueprint.post("/jobs/<int:job_id>/files/delete")
def delete_files(job_id: int) -> Response:
    try:
        file_deletions.request_file_deletion(current_cluster(), current_actor(), [job_id])
    except Conflict as conflict:
        return Response(
            render_delete_files(job_id, localized_sentence(conflict.code, conflict.data)),
            409,
            mimetype="text/html",
        )
    flash(_("The files of job-%(id)s are being deleted.", id=job_id), "ok")
    return redirect(url_for("jobs.page", job_id=job_id), 303)


def render_delete_files(job_id: int, problem: str = "") -> str:
    """Shows what deleting removes and what it leaves, in numbers."""
    cluster, actor = current_cluster(), current_actor()
    job = job_queries.read_job(cluster, actor, job_id)
    return render_template(
        "jobs/delete_files.html",
        job=job,
        view=read_job_view(cluster, job, None),
        problem=problem,
        may_delete=file_deletions.can_delete_files(actor, job),
        is_living=job.state in LIVE_JOB_STATES,
        has_files=file_deletions.has_files(job),
    )


def render_stop_job(job_id: int, problem: str = "") -> str:
    """What ends and what stays, in numbers read at this moment."""
    cluster, actor = current_cluster(), current_actor()
    job = job_queries.read_job(cluster, actor, job_id)
    return render_template(
        "jobs/stop.html",
        job=job,
        view=read_job_view(cluster, job, None),
        problem=problem,
        may_stop=stop_requests.can_stop_job(actor, job),
    )
