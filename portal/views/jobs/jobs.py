"""Job pages: list, show with tabs, duplicate, stop and delete files."""

from functools import partial

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Conflict, Refused
from cluster.domain.jobs.annotations import LONGEST_TAG
from cluster.domain.jobs.results import LONGEST_METRIC
from cluster.domain.states import LIVE_JOB_STATES, JobKind, JobState
from cluster.services import trainings
from cluster.services.images.environment_list import read_ran_in
from cluster.services.jobs import chosen_jobs, continuations, file_deletions, saved_views, stop_requests
from cluster.services.jobs import queries as job_queries
from cluster.services.jobs.runs_table import JobFilter, JobOrder, list_runs
from cluster.services.jobs.start_delays import read_start_delay
from cluster.services.workspaces import queries
from cluster.store.jobs import Job
from portal.i18n.messages import localized_sentence
from portal.presenters.code.code_of_job import read_code_of_job
from portal.presenters.jobs.job_files_tab import read_files_tab
from portal.presenters.jobs.job_page import read_job_view
from portal.presenters.jobs.job_ssh import read_job_ssh
from portal.presenters.jobs.logs.job_log_tab import read_log_tab
from portal.presenters.queue import queue_page
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster, read_once
from portal.web.responses.fragments import render_page_or_fragment

TABS = ("overview", "log", "checkpoints", "files", "settings", "history")
STATES = {state.value: (state,) for state in JobState} | {"living": LIVE_JOB_STATES}
FRAGMENTS = ("head", "facts", "overview")
PAGE_LENGTH = 50
LONGEST_SEARCH = 60

blueprint = Blueprint("jobs", __name__)


@blueprint.get("/jobs")
def index() -> Response:
    """Search, order, filters and place in the list are in the address.

    It reads one row more than a page has: if there is one, another page follows.
    """
    cluster, actor = current_cluster(), current_actor()
    state = query_params.choice_param("state", STATES)
    chosen = {name: query_params.id_param(name) for name in ("workspace", "training", "user", "sweep")}
    order = JobOrder(query_params.choice_param("order", list(JobOrder), JobOrder.NEWEST))
    wanted = JobFilter(
        STATES.get(state, ()),
        {f"{name}_id": key for name, key in chosen.items()},
        tag=query_params.text_param("tag", LONGEST_TAG).lower(),
        metric=query_params.text_param("metric", LONGEST_METRIC),
        search=query_params.text_param("q", LONGEST_SEARCH),
    )
    rows = list_runs(cluster, actor, wanted, order, query_params.id_param("before"), PAGE_LENGTH + 1)
    shown = [row.job for row in rows[:PAGE_LENGTH]]
    return render_page_or_fragment(
        "jobs/list.html",
        "jobs/_list.html",
        jobs=shown,
        parameters={row.job.id: row.parameters for row in rows},
        next_before=shown[-1].id if len(rows) > PAGE_LENGTH else None,
        is_live=any(job.ended_at is None for job in shown),
        state=state,
        chosen=chosen,
        wanted=wanted,
        order=order,
        views=saved_views.list_views(cluster, actor),
        saved_query=request.query_string.decode(errors="replace"),
        workspaces=read_once(queries.list_workspace_summaries),
        training=trainings.read_training(cluster, actor, chosen["training"]) if chosen["training"] else None,
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/jobs/<int:job_id>")
def page(job_id: int) -> Response:
    """`?tab=` is the shown tab, `?attempt=` the attempt whose files are shown (the newest by default).

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
        files=read_files_tab(view, request.args.get("path", "")) if tab == "files" else None,
        line=queue_page.queue_row_of_job(cluster, actor, job) if job.state is JobState.WAITING else None,
        start_delay=read_start_delay(cluster, job),
        history=queue_page.list_past_reasons(job.events) if job.state is JobState.WAITING else [],
        may_stop=stop_requests.can_stop_job(actor, job) and job.state in LIVE_JOB_STATES,
        may_delete_files=file_deletions.can_delete_files_now(actor, job),
        may_continue=can_continue(job),
        read_ran_in=lambda: read_ran_in(cluster, [job]).get(job.id),
        read_ssh=partial(read_job_ssh, cluster, actor, job),
        read_code=partial(read_code_of_job, cluster, actor, job),
        read_tags=partial(chosen_jobs.read_job_tags, cluster, job_id),
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/jobs/<int:job_id>/duplicate")
def duplicate(job_id: int) -> Response:
    """Fills in the form of a new job from this one; a notebook leads to the page that starts one."""
    job = job_queries.read_job(current_cluster(), current_actor(), job_id)
    if job.kind is JobKind.NOTEBOOK:
        return redirect(url_for("notebooks.training", training_id=job.training_id), 303)
    fewer = query_params.id_param("units")
    return redirect(
        url_for("job_new.new", training_id=job.training_id, before=job_id, units=fewer or None), 303
    )


def can_continue(job: Job) -> bool:
    return (
        job.state in continuations.CONTINUABLE_STATES
        and continuations.find_continue_point(current_cluster(), job) is not None
    )


@blueprint.get("/jobs/<int:job_id>/continue")
def confirm_continue(job_id: int) -> str:
    return render_continue(job_id, {})


@blueprint.post("/jobs/<int:job_id>/continue")
def continue_(job_id: int) -> Response:
    """Submits a job with the same code, parameters and units, which begins with the newest checkpoint."""
    try:
        forms.require_known_fields("name")
        job = continuations.continue_job(current_cluster(), current_actor(), job_id, forms.text_field("name"))
    except (Refused, Conflict) as refusal:
        again = render_continue(job_id, forms.error_messages(refusal))
        return Response(again, 422, mimetype="text/html")
    return redirect(url_for("jobs.page", job_id=job.id), 303)


def render_continue(job_id: int, errors: dict[str, str]) -> str:
    """Shows the checkpoint and what the new job takes over, or why it cannot be continued."""
    cluster, actor = current_cluster(), current_actor()
    found = None
    try:
        found = continuations.read_continuation(cluster, actor, job_id)
    except (Refused, Conflict) as refusal:
        errors = errors or forms.error_messages(refusal)
    return render_template(
        "jobs/continue.html",
        job=job_queries.read_job(cluster, actor, job_id),
        found=found,
        name=request.form.get("name") or (found.request.name if found else ""),
        errors=errors,
    )


@blueprint.get("/jobs/<int:job_id>/stop")
def confirm_stop(job_id: int) -> str:
    return render_stop_job(job_id)


@blueprint.post("/jobs/<int:job_id>/stop")
def stop(job_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    try:
        stop_requests.stop_job(cluster, actor, job_id)
    except Conflict as conflict:
        return Response(
            render_stop_job(job_id, localized_sentence(conflict.code, conflict.data)),
            409,
            mimetype="text/html",
        )
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
    """Shows what ends and what stays, counted at this moment."""
    cluster, actor = current_cluster(), current_actor()
    job = job_queries.read_job(cluster, actor, job_id)
    return render_template(
        "jobs/stop.html",
        job=job,
        view=read_job_view(cluster, job, None),
        problem=problem,
        may_stop=stop_requests.can_stop_job(actor, job),
    )
