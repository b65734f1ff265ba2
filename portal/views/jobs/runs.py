"""Pages about several jobs that were chosen together: compare, stop, run again, tag, delete files; saved views."""

from collections.abc import Mapping

from flask import Blueprint, flash, jsonify, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import Refused
from cluster.domain.jobs.annotations import parse_tags
from cluster.services.images.environment_list import read_ran_in
from cluster.services.jobs import chosen_jobs, file_deletions, reruns, saved_views, tags_and_notes
from portal.i18n.translate import _, ngettext
from portal.job_files.metrics.job_metrics import CurveAxis
from portal.job_files.metrics.metric_curves import AXES, sweep_curves
from portal.presenters.jobs.job_comparison import MAX_JOBS, JobComparison
from portal.web import forms, query_params
from portal.web.request_context import current_actor, current_cluster

MAX_DIGITS = 9

blueprint = Blueprint("runs", __name__)


def chosen_ids() -> list[int]:
    """Reads the ids: each `job` of the address or the form is an id, or several with commas. Raises Refused."""
    texts = ",".join(request.values.getlist("job")).split(",")
    found = []
    for text in filter(None, texts):
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
            raise Refused("jobs", "value.not_a_whole_number", value=text[:40])
        found.append(int(text))
    return sorted(set(found))


def read_comparison() -> JobComparison:
    """Raises NotFound for a job that the person may not see."""
    ids = chosen_ids()
    if len(ids) > MAX_JOBS:
        raise Refused("jobs", "job.too_many_chosen", most=MAX_JOBS, count=len(ids))
    chosen = chosen_jobs.read_chosen_jobs(current_cluster(), current_actor(), ids)
    return JobComparison(current_cluster(), [each.job for each in chosen])


@blueprint.get("/jobs/compare")
def compare() -> str:
    view = read_comparison()
    return render_template(
        "runs/compare.html",
        view=view,
        ids=[job.id for job in view.jobs],
        environments=read_ran_in(current_cluster(), view.jobs),
    )


@blueprint.get("/jobs/compare/metrics")
def compare_metrics() -> Response:
    axis: CurveAxis = query_params.choice_param("x", AXES, "step")  # type: ignore[assignment]
    response = jsonify(sweep_curves(read_comparison().read_metrics(), axis))
    response.headers["Cache-Control"] = "private, no-cache"
    return response


@blueprint.get("/jobs/stop")
def confirm_stop() -> str:
    return render_chosen("runs/stop.html")


@blueprint.post("/jobs/stop")
def stop() -> Response:
    stopped = chosen_jobs.stop_jobs(current_cluster(), current_actor(), chosen_ids())
    flash(ngettext("%(num)d job is being stopped.", "%(num)d jobs are being stopped.", len(stopped)), "ok")
    return redirect(url_for("jobs.index"), 303)


@blueprint.get("/jobs/rerun")
def confirm_rerun() -> str:
    return render_chosen("runs/rerun.html")


@blueprint.post("/jobs/rerun")
def rerun() -> Response:
    made = reruns.rerun_jobs(current_cluster(), current_actor(), chosen_ids())
    flash(ngettext("%(num)d job was submitted again.", "%(num)d jobs were submitted again.", len(made)), "ok")
    if len(made) == 1:
        return redirect(url_for("jobs.page", job_id=made[0]), 303)
    return redirect(url_for("jobs.index"), 303)


@blueprint.get("/jobs/tags")
def edit_tags() -> str:
    return render_chosen("runs/tags.html", values={}, errors={})


@blueprint.post("/jobs/tags")
def save_tags() -> Response | str:
    cluster, actor, ids = current_cluster(), current_actor(), chosen_ids()
    try:
        forms.require_known_fields("job", "add", "remove", "note", "with_note")
        added, removed = parse_tags(forms.text_field("add")), parse_tags(forms.text_field("remove"))
        if added or removed:
            tags_and_notes.change_tags(cluster, actor, ids, added, removed)
        if forms.text_field("with_note"):
            tags_and_notes.write_note(cluster, actor, ids, forms.text_field("note"))
    except Refused as refusal:
        page = render_chosen("runs/tags.html", values=request.form, errors=forms.error_messages(refusal))
        return Response(page, 422, mimetype="text/html")
    flash(_("Tags and notes are saved."), "ok")
    if len(ids) == 1:
        return redirect(url_for("jobs.page", job_id=ids[0]), 303)
    return redirect(url_for("jobs.index"), 303)


@blueprint.get("/jobs/files/delete")
def confirm_delete_files() -> str:
    return render_chosen("runs/delete_files.html")


@blueprint.post("/jobs/files/delete")
def delete_files() -> Response:
    jobs = file_deletions.request_file_deletion(current_cluster(), current_actor(), chosen_ids())
    text = ngettext(
        "The files of %(num)d job are being deleted.",
        "The files of %(num)d jobs are being deleted.",
        len(jobs),
    )
    flash(text, "ok")
    return redirect(url_for("jobs.index"), 303)


def render_chosen(template: str, **values: Mapping[str, object]) -> str:
    """Shows the current state of each of the jobs, and which of them the person may change."""
    chosen = chosen_jobs.read_chosen_jobs(current_cluster(), current_actor(), chosen_ids())
    return render_template(
        template, chosen=chosen, ids=",".join(str(each.job.id) for each in chosen), **values
    )


@blueprint.post("/jobs/views")
def save_view() -> Response:
    forms.require_known_fields("name", "query")
    view = saved_views.save_view(
        current_cluster(), current_actor(), forms.text_field("name"), forms.text_field("query")
    )
    flash(_("The view %(name)s is saved.", name=view.name), "ok")
    return redirect(f"{url_for('jobs.index')}?{view.query}", 303)


@blueprint.post("/jobs/views/<int:view_id>/delete")
def delete_view(view_id: int) -> Response:
    saved_views.delete_view(current_cluster(), current_actor(), view_id)
    return redirect(url_for("jobs.index"), 303)
