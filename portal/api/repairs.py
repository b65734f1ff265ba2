"""Repairs over REST: list the catalogue, read a forecast, request a run, read it, cancel it."""

from typing import Any

from flask.views import MethodView

from cluster.domain.repairs.definition import Repair
from cluster.services.repairs import past_runs, previews, repair_runs
from cluster.services.repairs.repair_preview import RepairPreview
from cluster.store.repairs import RepairRun
from portal.api.blueprint import ApiBlueprint, describe_sentence
from portal.api.repair_schemas import ForecastAnswer, ForecastQuery, RepairBody, RepairList, RepairRunAnswer
from portal.i18n.translate import request_language
from portal.web.query_params import parse_node_ids
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint(
    "repairs", "Repairs: each says what it will do, and is believed when its checks say so."
)


def describe_repair(repair: Repair, seconds: float | None) -> dict[str, Any]:
    return {
        "name": repair.name,
        "title": repair.title.in_language(request_language()),
        "text": repair.text.in_language(request_language()),
        "group": repair.group.value,
        "seconds": seconds,
    }


def describe_forecast(preview: RepairPreview) -> dict[str, Any]:
    return describe_repair(preview.repair, preview.seconds) | {
        "etag": preview.etag,
        "host": preview.host,
        "tasks": [task.in_language(request_language()) for task in preview.repair.tasks],
        "undo": preview.repair.undo.in_language(request_language()),
        "gentler": list(preview.repair.gentler),
        "jobs_that_stop": [job.id for job in preview.jobs],
        "nodes": [{"id": choice.node_id, "name": choice.host} for choice in preview.choices],
        "not_drained": list(preview.busy),
        "can_look_ahead": preview.repair.can_look_ahead,
        "needs_typed_name": preview.repair.needs_typed_name,
        "under_way": preview.under_way.id if preview.under_way else None,
    }


def describe_repair_run(run: RepairRun) -> dict[str, Any]:
    failed = run.operation
    return {
        "id": run.id,
        "name": run.name,
        "host": run.host,
        "reason": run.reason,
        "hosts": run.hosts,
        "who": run.who,
        "verdict": run.verdict.value if run.verdict else None,
        "asked_at": run.requested_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "tasks": run.tasks,
        "before": [describe_check(answer) for answer in run.before],
        "checks": [describe_check(answer) for answer in run.checks],
        "error": describe_sentence(failed.error_code, failed.error_data) if failed else None,
    }


def describe_check(answer: dict[str, Any]) -> dict[str, Any]:
    return {**(describe_sentence(answer["code"], answer.get("data")) or {}), "is_ok": answer["is_ok"]}


@blueprint.route("")
class Repairs(MethodView):
    @blueprint.response(200, RepairList)
    def get(self) -> dict[str, Any]:
        """Returns the repairs of this installation, by name; `seconds` is how long one usually takes."""
        shown = past_runs.list_repair_summaries(current_cluster(), current_actor())
        return {"items": [describe_repair(line.repair, line.seconds) for line in shown]}


@blueprint.route("/<repair>")
class OneRepair(MethodView):
    @blueprint.arguments(ForecastQuery, location="query")
    @blueprint.response(200, ForecastAnswer)
    def get(self, query: dict[str, Any], repair: str) -> dict[str, Any]:
        """Returns what the repair would do now. The POST sends its `etag` back. `nodes` are those to choose from."""
        chosen = parse_node_ids(query["nodes"])
        return describe_forecast(previews.preview_repair(current_cluster(), current_actor(), repair, chosen))

    @blueprint.arguments(RepairBody)
    @blueprint.response(201, RepairRunAnswer)
    def post(self, body: dict[str, Any], repair: str) -> dict[str, Any]:
        """Runs it. 409 where the forecast is no longer true, or another one is under way there."""
        cluster, actor = current_cluster(), current_actor()
        run = repair_runs.request_repair(
            cluster,
            actor,
            repair,
            body["etag"],
            body["reason"],
            body["typed"],
            node_ids=body["nodes"],
            is_dry_run=body["look_ahead"],
        )
        return describe_repair_run(repair_runs.read_repair_run(cluster, actor, run.id))


@blueprint.route("/runs/<int:run_id>")
class OneRun(MethodView):
    @blueprint.response(200, RepairRunAnswer)
    def get(self, run_id: int) -> dict[str, Any]:
        """Each task on each host, and the results of the checks before and afterwards."""
        return describe_repair_run(repair_runs.read_repair_run(current_cluster(), current_actor(), run_id))


@blueprint.route("/runs/<int:run_id>/cancel")
class CancelRun(MethodView):
    @blueprint.response(200, RepairRunAnswer)
    def post(self, run_id: int) -> dict[str, Any]:
        """The first time its playbook is asked to end, the second time it is ended."""
        repair_runs.cancel_repair(current_cluster(), current_actor(), run_id)
        return describe_repair_run(repair_runs.read_repair_run(current_cluster(), current_actor(), run_id))
