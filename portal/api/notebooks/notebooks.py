"""Notebooks over REST: one's own, starting one, and keeping it. It is stopped as every job is."""

from typing import Any

from flask import url_for
from flask.views import MethodView
from marshmallow import fields

from cluster.services.notebooks import notebook_rows, use
from cluster.services.notebooks.notebook_rows import NotebookState
from cluster.services.notebooks.start import start_notebook
from portal.api.blueprint import ApiBlueprint, describe_named
from portal.api.schemas import IS_ID, NamedObject, RequestSchema, ResponseSchema
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("notebooks", "Notebooks: JupyterLab with the files of a training, as a job.")


class NotebookBody(RequestSchema):
    training_id = fields.Integer(required=True, strict=True, validate=IS_ID)
    dataset_id = fields.Integer(load_default=None, allow_none=True, strict=True, validate=IS_ID)
    time_limit_seconds = fields.Integer(load_default=None, allow_none=True, strict=True)


class NotebookAnswer(ResponseSchema):
    job_id = fields.Integer(required=True)
    training = fields.Nested(NamedObject, required=True)
    state = fields.String(required=True)
    is_ready = fields.Boolean(required=True)
    url = fields.String(required=True, metadata={"description": "The page from which its person opens it"})
    used_at = fields.DateTime(allow_none=True)
    stops_at = fields.DateTime(
        allow_none=True, metadata={"description": "When it is stopped if nobody uses it until then"}
    )


class NotebookList(ResponseSchema):
    items = fields.List(fields.Nested(NotebookAnswer), required=True)


def describe_notebook(state: NotebookState) -> dict[str, Any]:
    return {
        "job_id": state.job.id,
        "training": describe_named(state.job.training),
        "state": state.job.state.value,
        "is_ready": state.is_ready,
        "url": current_cluster().settings.public_url + url_for("notebooks.page", job_id=state.job.id),
        "used_at": state.notebook.used_at,
        "stops_at": state.notebook.stops_at,
    }


def read_described(job_id: int) -> dict[str, Any]:
    return describe_notebook(notebook_rows.read_notebook(current_cluster(), current_actor(), job_id))


@blueprint.route("")
class Notebooks(MethodView):
    @blueprint.response(200, NotebookList)
    def get(self) -> dict[str, Any]:
        """Your notebooks that run or wait, newest first."""
        own = notebook_rows.list_own_notebooks(current_cluster(), current_actor())
        return {"items": [describe_notebook(state) for state in own]}

    @blueprint.arguments(NotebookBody)
    @blueprint.response(201, NotebookAnswer)
    def post(self, body: dict[str, Any]) -> Any:
        """Start your notebook of a training. One that runs or waits already is the answer."""
        job = start_notebook(
            current_cluster(),
            current_actor(),
            body["training_id"],
            body["time_limit_seconds"],
            body["dataset_id"],
        )
        place = {"Location": url_for("api_notebooks.OneNotebook", job_id=job.id)}
        return read_described(job.id), 201, place


@blueprint.route("/<int:job_id>")
class OneNotebook(MethodView):
    @blueprint.response(200, NotebookAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """One notebook. It is stopped by `POST /jobs/<id>/stop`."""
        return read_described(job_id)


@blueprint.route("/<int:job_id>/keep")
class KeepNotebook(MethodView):
    @blueprint.response(200, NotebookAnswer)
    def post(self, job_id: int) -> dict[str, Any]:
        """Begin its idle time anew. For its person."""
        use.keep_notebook(current_cluster(), current_actor(), job_id)
        return read_described(job_id)
