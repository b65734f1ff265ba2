"""Accounting over REST: a month by workspace and user, and what one job used."""

from typing import Any

from flask.views import MethodView
from marshmallow import fields, validate

from cluster.domain.jobs.accounting import month_of, parse_month
from cluster.services.jobs import accounting
from cluster.services.jobs.accounting import MonthlyUsage
from portal.api.blueprint import ApiBlueprint, describe_sentence
from portal.api.jobs.jobs import blueprint as jobs_blueprint
from portal.api.schemas import IS_ID, NamedObject, RequestSchema, ResponseSchema, Sentence
from portal.presenters.unit_words import installation_unit_kind
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("accounting", "Accounting: who held units, and what they did with them.")


class MonthQuery(RequestSchema):
    month = fields.String(
        load_default=None, validate=validate.Length(max=7), metadata={"description": "2026-11"}
    )
    workspace_id = fields.Integer(load_default=None, validate=IS_ID)


class UseAnswer(ResponseSchema):
    workspace = fields.Nested(NamedObject, required=True)
    user = fields.Nested(NamedObject, required=True)
    jobs = fields.Integer(required=True)
    finished = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    stopped = fields.Integer(required=True)
    unit_hours_booked = fields.Float(required=True)
    unit_hours_used = fields.Float(allow_none=True)
    cpu_seconds = fields.Float(allow_none=True)
    max_memory_bytes = fields.Integer(allow_none=True)


class MonthAnswer(ResponseSchema):
    month = fields.String(required=True)
    time_zone = fields.String(required=True)
    unit_kind = fields.String(required=True)
    items = fields.List(fields.Nested(UseAnswer), required=True)


class JobAccountAnswer(ResponseSchema):
    id = fields.Integer(required=True)
    submitted_at = fields.AwareDateTime(required=True)
    dispatched_at = fields.AwareDateTime(allow_none=True)
    started_at = fields.AwareDateTime(allow_none=True)
    ended_at = fields.AwareDateTime(allow_none=True)
    seconds_in_states = fields.Dict(required=True)
    attempts = fields.Integer(required=True)
    units = fields.Integer(required=True)
    unit_kind = fields.String(required=True)
    unit_hours_booked = fields.Float(required=True)
    unit_hours_used = fields.Float(allow_none=True)
    cpu_seconds = fields.Float(allow_none=True)
    max_memory_bytes = fields.Integer(allow_none=True)
    average_memory_bytes = fields.Integer(allow_none=True)
    exit_code = fields.Integer(allow_none=True)
    end = fields.Nested(Sentence, allow_none=True)


def describe_use(line: MonthlyUsage) -> dict[str, Any]:
    return {
        "workspace": {"id": line.workspace_id, "name": line.workspace},
        "user": {"id": line.user_id, "name": line.user},
        "jobs": line.jobs,
        "finished": line.finished,
        "failed": line.failed,
        "stopped": line.stopped,
        "unit_hours_booked": line.booked_seconds / 3600,
        "unit_hours_used": None if line.used_seconds is None else line.used_seconds / 3600,
        "cpu_seconds": line.cpu_seconds,
        "max_memory_bytes": line.max_memory_bytes,
    }


@blueprint.route("")
class Accounting(MethodView):
    @blueprint.arguments(MonthQuery, location="query")
    @blueprint.response(200, MonthAnswer)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """A month by workspace and user: all for administrators, else what you manage and what is your own."""
        cluster = current_cluster()
        zone = cluster.settings.zone
        month = parse_month(query["month"]) if query["month"] else month_of(cluster.clock(), zone)
        lines = accounting.read_monthly_usage(cluster, current_actor(), month, query["workspace_id"])
        return {
            "month": str(month),
            "time_zone": zone.key,
            "unit_kind": installation_unit_kind().value,
            "items": [describe_use(line) for line in lines],
        }


@jobs_blueprint.route("/<int:job_id>/accounting")
class JobAccounting(MethodView):
    @jobs_blueprint.response(200, JobAccountAnswer)
    def get(self, job_id: int) -> dict[str, Any]:
        """Seconds in each state, CPU, memory, units booked and used, and what the exit code means."""
        account = accounting.read_job_usage(current_cluster(), current_actor(), job_id)
        job, used = account.job, account.job.unit_seconds_used
        return {
            "id": job.id,
            "submitted_at": job.submitted_at,
            "dispatched_at": job.dispatched_at,
            "started_at": job.started_at,
            "ended_at": job.ended_at,
            "seconds_in_states": {state.value: spent for state, spent in account.seconds_in_states.items()},
            "attempts": job.fence,
            "units": job.units,
            "unit_kind": installation_unit_kind().value,
            "unit_hours_booked": account.booked_seconds / 3600,
            "unit_hours_used": None if used is None else used / 3600,
            "cpu_seconds": job.cpu_seconds,
            "max_memory_bytes": job.max_memory_bytes,
            "average_memory_bytes": job.average_memory_bytes,
            "exit_code": job.exit_code,
            "end": describe_sentence(job.end_code, job.end_data),
        }
