"""Dataset pages: list, create by upload, path or sample, show and delete."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused
from cluster.domain.states import LIVE_JOB_STATES
from cluster.services import datasets
from cluster.services.operations import queries
from cluster.services.storage import folders
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from portal.i18n.translate import _
from portal.presenters.operation_steps import operation_steps
from portal.web import forms, query_params, uploads
from portal.web.fragments import render_page_or_fragment
from portal.web.request_context import current_actor, current_cluster

FIELDS = {
    "upload": ("way", "name", "archive_name"),
    "path": ("way", "name", "path"),
    "sample": ("way",),
}
UPLOAD_WAYS = tuple(FIELDS)

blueprint = Blueprint("datasets", __name__)


@blueprint.get("/datasets")
def overall() -> Response:
    """Lists the datasets of every workspace that the person may see."""
    rows = datasets.list_datasets(current_cluster(), current_actor())
    return render_page_or_fragment("datasets/list.html", "datasets/_list.html", datasets=rows, workspace=None)


@blueprint.get("/workspaces/<int:workspace_id>/datasets")
def index(workspace_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    workspace = workspace_queries.read_workspace(cluster, actor, workspace_id)
    rows = datasets.list_datasets(cluster, actor, workspace_id=workspace_id)
    return render_page_or_fragment(
        "datasets/list.html", "datasets/_list.html", datasets=rows, workspace=workspace
    )


@blueprint.get("/workspaces/<int:workspace_id>/datasets/new")
def new(workspace_id: int) -> Response:
    return Response(
        render_new_dataset(workspace_id, query_params.choice_param("way", UPLOAD_WAYS, "upload"), {}),
        mimetype="text/html",
    )


@blueprint.post("/workspaces/<int:workspace_id>/datasets/new")
def create(workspace_id: int) -> Response:
    """One address for the three ways; `way` says which form was sent."""
    workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    way = forms.choice_field("way", UPLOAD_WAYS)
    try:
        dataset = create_dataset_from_form(workspace_id, way)
    except Refused as refusal:
        again = render_new_dataset(workspace_id, way, forms.error_messages(refusal), refusal)
        return Response(again, 422, mimetype="text/html")
    return redirect(url_for("datasets.page", dataset_id=dataset.id), 303)


def create_dataset_from_form(workspace_id: int, way: str) -> Dataset:
    cluster, actor = current_cluster(), current_actor()
    forms.require_known_fields(*FIELDS[way])
    if way == "sample":
        return datasets.create_sample(cluster, actor, workspace_id)
    if way == "path":
        name, path = forms.text_field("name"), forms.text_field("path")
        return datasets.register_path(cluster, actor, workspace_id, name, path)
    archive = request.files.get("archive")
    if archive is None or not archive.filename:
        raise Refused("archive", "value.missing")
    archive_name = forms.text_field("archive_name") or uploads.file_name(archive)
    return datasets.create_upload(
        cluster, actor, workspace_id, forms.text_field("name"), archive_name, uploads.saved_path(archive)
    )


def render_new_dataset(
    workspace_id: int, way: str, errors: dict[str, str], refusal: Refused | None = None
) -> str:
    """A refused file name comes back with the repaired one, to be used with the same file."""
    cluster = current_cluster()
    repaired = refusal.data.get("repaired") if refusal and refusal.field == "archive" else None
    return render_template(
        "datasets/new.html",
        workspace=workspace_queries.read_workspace(cluster, current_actor(), workspace_id),
        way=way,
        values=request.form,
        errors=errors,
        repaired=repaired,
        limit=cluster.settings.upload_limit_bytes,
    )


@blueprint.get("/datasets/<int:dataset_id>")
def page(dataset_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    dataset = datasets.read_dataset(cluster, actor, dataset_id)
    operation = read_dataset_operation(dataset)
    return render_page_or_fragment(
        "datasets/page.html",
        "datasets/_page.html",
        dataset=dataset,
        folder=folders.dataset_folder(cluster.settings, dataset),
        operation=operation,
        steps=operation_steps(operation) if operation else [],
        readers=datasets.list_reading_jobs(cluster, actor, dataset_id),
        may_delete=datasets.can_delete_dataset(actor, dataset),
    )


def read_dataset_operation(dataset: Dataset) -> Operation | None:
    """None if there is none, and if the person may not see it."""
    if dataset.operation_id is None:
        return None
    try:
        return queries.read_operation(current_cluster(), current_actor(), dataset.operation_id)
    except NotFound:
        return None


@blueprint.get("/datasets/<int:dataset_id>/delete")
def confirm_delete(dataset_id: int) -> str:
    return render_delete_dataset(dataset_id, {})


def render_delete_dataset(dataset_id: int, errors: dict[str, str]) -> str:
    """While a live job reads the dataset, the page names the job and has no delete button."""
    cluster, actor = current_cluster(), current_actor()
    dataset = datasets.read_dataset(cluster, actor, dataset_id)
    readers = datasets.list_reading_jobs(cluster, actor, dataset_id)
    return render_template(
        "datasets/delete.html",
        dataset=dataset,
        readers=readers,
        living=[job for job in readers if job.state in LIVE_JOB_STATES],
        may_delete=datasets.can_delete_dataset(actor, dataset),
        errors=errors,
    )


@blueprint.post("/datasets/<int:dataset_id>/delete")
def delete(dataset_id: int) -> Response:
    cluster, actor = current_cluster(), current_actor()
    dataset = datasets.read_dataset(cluster, actor, dataset_id)
    try:
        datasets.delete_dataset(cluster, actor, dataset_id)
    except Refused as refusal:
        return Response(
            render_delete_dataset(dataset_id, forms.error_messages(refusal)), 422, mimetype="text/html"
        )
    flash(_("Dataset %(name)s is deleted.", name=dataset.name), "ok")
    return redirect(url_for("datasets.index", workspace_id=dataset.workspace_id), 303)
