"""Dataset pages: list, create by upload, path or sample, show and delete."""

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from cluster.domain.errors import NotFound, Refused, Unavailable
from cluster.domain.states import LIVE_JOB_STATES
from cluster.services import datasets
from cluster.services.operations import queries
from cluster.services.storage import folders
from cluster.services.workspaces import queries as workspace_queries
from cluster.store.datasets import Dataset
from cluster.store.operations import Operation
from portal.i18n.translate import _
from portal.presenters import dataset_list, operation_steps
from portal.web import forms, query_params, uploads
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.fragments import render_page_or_fragment

FIELDS = {
    "upload": ("way", "name"),
    "path": ("way", "name", "path"),
    "sample": ("way",),
}
UPLOAD_WAYS = tuple(FIELDS)

PAGE_LENGTH = 50

blueprint = Blueprint("datasets", __name__)


@blueprint.get("/datasets")
def overall() -> Response:
    """Lists the datasets of every workspace that the person may see."""
    return render_list(None)


@blueprint.get("/workspaces/<int:workspace_id>/datasets")
def index(workspace_id: int) -> Response:
    return render_list(workspace_id)


def render_list(workspace_id: int | None) -> Response:
    """Renders the list of one workspace, or of all that the person may see, from `?before=` on (keyset)."""
    cluster, actor = current_cluster(), current_actor()
    workspace = workspace_queries.read_workspace(cluster, actor, workspace_id) if workspace_id else None
    before = query_params.id_param("before")
    found = datasets.list_datasets(cluster, actor, workspace_id, before, PAGE_LENGTH + 1)
    rows, next_before = query_params.split_page(found, PAGE_LENGTH)
    return render_page_or_fragment(
        "datasets/list.html",
        "datasets/_list.html",
        rows=dataset_list.list_dataset_rows(rows, actor.user_id, workspace is None),
        count=lambda: datasets.count_datasets(cluster, actor, workspace_id),
        workspace=workspace,
        next_before=next_before,
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/workspaces/<int:workspace_id>/datasets/new")
def new(workspace_id: int) -> Response:
    return Response(
        render_new_dataset(workspace_id, query_params.choice_param("way", UPLOAD_WAYS, "upload"), {}),
        mimetype="text/html",
    )


@blueprint.post("/workspaces/<int:workspace_id>/datasets/new")
def create(workspace_id: int) -> Response:
    """Creates a dataset in one of three ways; `way` names the form that was sent."""
    workspace_queries.read_workspace(current_cluster(), current_actor(), workspace_id)
    way = forms.choice_field("way", UPLOAD_WAYS)
    try:
        dataset = create_dataset_from_form(workspace_id, way)
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "datasets.new", workspace_id=workspace_id)
        return Response(render_new_dataset(workspace_id, way, errors), 422, mimetype="text/html")
    return redirect(url_for("datasets.page", dataset_id=dataset.id), 303)


def create_dataset_from_form(workspace_id: int, way: str) -> Dataset:
    cluster, actor = current_cluster(), current_actor()
    forms.require_known_fields(*FIELDS[way])
    if way == "sample":
        return datasets.create_sample(cluster, actor, workspace_id)
    if way == "path":
        name, path = forms.text_field("name"), forms.text_field("path")
        return datasets.register_path(cluster, actor, workspace_id, name, path)
    name, archive = forms.text_field("name"), request.files.get("archive")
    if archive is None or not archive.filename:
        return datasets.create_upload(cluster, actor, workspace_id, name, "", None)
    return datasets.create_upload(
        cluster, actor, workspace_id, name, uploads.file_name(archive), uploads.saved_path(archive)
    )


@blueprint.post("/workspaces/<int:workspace_id>/datasets/check")
def check(workspace_id: int) -> str:
    """Checks the upload before a byte of the archive is sent. A refusal is an answer here, not an error. If the form
    has no name yet, the answer proposes one.
    """
    archive_name = forms.text_field("archive_name")
    name = forms.text_field("name") or datasets.suggest_dataset_name(archive_name)
    errors: dict[str, str] = {}
    try:
        forms.require_known_fields("way", "name", "archive_name", "size")
        datasets.check_upload(
            current_cluster(), current_actor(), workspace_id, name, archive_name, forms.size_in_bytes("size")
        )
    except Refused as refusal:
        errors = forms.error_messages_with_suggestion(refusal, "datasets.new", workspace_id=workspace_id)
    except Unavailable as full:
        errors = {"archive": forms.error_messages(full)[""]}
    return render_template("datasets/_check.html", errors=errors, name=name)


def render_new_dataset(workspace_id: int, way: str, errors: dict[str, str]) -> str:
    cluster = current_cluster()
    return render_template(
        "datasets/new.html",
        workspace=workspace_queries.read_workspace(cluster, current_actor(), workspace_id),
        way=way,
        values=request.form or forms.read_prefilled(FIELDS[way]),
        errors=errors,
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
        steps=operation_steps.operation_steps(operation) if operation else [],
        readers=datasets.list_reading_jobs(cluster, actor, dataset_id),
        may_delete=datasets.can_delete_dataset(actor, dataset),
        may_use_latin_names=datasets.can_unpack_again(actor, dataset),
        suggested_names=datasets.list_suggested_names(dataset),
        trainings=dataset_list.trainings_to_begin(dataset),
    )


@blueprint.post("/datasets/<int:dataset_id>/latin-names")
def unpack_with_latin_names(dataset_id: int) -> Response:
    datasets.unpack_with_latin_names(current_cluster(), current_actor(), dataset_id)
    return redirect(url_for("datasets.page", dataset_id=dataset_id), 303)


def read_dataset_operation(dataset: Dataset) -> Operation | None:
    """Returns None if there is no operation, or if the person may not see it."""
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
