"""Several jobs at once over REST: stop, run again, tag and note; all of them or none."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.jobs.annotations import LONGEST_NOTE, LONGEST_TAG
from cluster.services.jobs import chosen_jobs, reruns, tags_and_notes
from cluster.services.jobs.chosen_jobs import MAX_JOBS_CHOSEN
from portal.api.jobs.job_answers import describe_job
from portal.api.jobs.jobs import blueprint
from portal.api.schemas import IS_ID, JobList, RequestSchema
from portal.web.request_context import current_actor, current_cluster


class ChosenJobsBody(RequestSchema):
    job_ids = fields.List(
        fields.Integer(strict=True, validate=IS_ID),
        required=True,
        validate=validate.Length(min=1, max=MAX_JOBS_CHOSEN),
    )


class TagsBody(ChosenJobsBody):
    add = fields.List(fields.String(validate=validate.Length(max=LONGEST_TAG)), load_default=list)
    remove = fields.List(fields.String(validate=validate.Length(max=LONGEST_TAG)), load_default=list)


class NoteBody(ChosenJobsBody):
    note = fields.String(
        required=True,
        validate=validate.Length(max=LONGEST_NOTE),
        metadata={"description": "Empty: the note is removed"},
    )


def describe_jobs(job_ids: list[int]) -> dict[str, Any]:
    chosen = chosen_jobs.read_chosen_jobs(current_cluster(), current_actor(), job_ids) if job_ids else []
    return {"items": [describe_job(each.job, tags=each.tags) for each in chosen], "next_cursor": None}


@blueprint.route("/stop")
class StopJobs(MethodView):
    @blueprint.arguments(ChosenJobsBody)
    @blueprint.response(202, JobList)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Ask for the end of all of them. Those that have ended stay as they are."""
        chosen_jobs.stop_jobs(current_cluster(), current_actor(), body["job_ids"])
        return describe_jobs(body["job_ids"])


@blueprint.route("/rerun")
class RerunJobs(MethodView):
    @blueprint.arguments(ChosenJobsBody)
    @blueprint.response(201, JobList)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Submit a job like each of them, with the same code version; the answer has the new ones."""
        return describe_jobs(reruns.rerun_jobs(current_cluster(), current_actor(), body["job_ids"]))


@blueprint.route("/tags")
class Tags(MethodView):
    @blueprint.arguments(TagsBody)
    @blueprint.response(200, JobList)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Add and remove tags."""
        tags_and_notes.change_tags(
            current_cluster(), current_actor(), body["job_ids"], body["add"], body["remove"]
        )
        return describe_jobs(body["job_ids"])


@blueprint.route("/note")
class Note(MethodView):
    @blueprint.arguments(NoteBody)
    @blueprint.response(200, JobList)
    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """Replace the note of all of them."""
        tags_and_notes.write_note(current_cluster(), current_actor(), body["job_ids"], body["note"])
        return describe_jobs(body["job_ids"])
