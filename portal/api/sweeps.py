"""Sweeps over REST: submit or preview, list, show with the jobs side by side, stop."""

from typing import Any

from flask import url_for
from flask.views import MethodView

from cluster import words
from cluster.domain.jobs.results import best_value
from cluster.domain.queue.reasons import to_waiting_data
from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.sweeps import queries, stops, submission
from cluster.services.sweeps.submission import SweepPreview
from cluster.store.jobs import Sweep
from portal.api.blueprint import ApiBlueprint, describe_named, describe_sentence
from portal.api.jobs import parse_job_body, read_idempotency_key
from portal.api.schemas import DryRunQuery
from portal.api.sweep_schemas import SweepAnswer, SweepBody, SweepList, SweepListQuery, SweepQuery
from portal.i18n.translate import request_language
from portal.presenters.sweep_page import SweepView, read_sweep_view
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("sweeps", "Sweeps: many jobs of a training, one for each set of values.")
NAMES_SHOWN = 20


def describe_sweep(sweep: Sweep) -> dict[str, Any]:
    return {
        "id": sweep.id,
        "name": sweep.name,
        "workspace": describe_named(sweep.workspace),
        "training": describe_named(sweep.training),
        "user": describe_named(sweep.user),
        "kind": sweep.plan["kind"],
        "jobs": sweep.jobs,
        "most_at_once": sweep.most_at_once,
        "stop_on_trouble": sweep.stop_on_trouble,
        "submitted_at": sweep.submitted_at,
        "stopped_at": sweep.stopped_at,
        "stop": describe_sentence(sweep.stop_code, sweep.stop_data),
        "url": f"{current_cluster().settings.public_url}/sweeps/{sweep.id}",
    }


def describe_sweep_view(view: SweepView) -> dict[str, Any]:
    best = view.best
    return describe_sweep(view.sweep) | {
        "parameters": {name: list(values) for name, values in view.plan.values.items()},
        "differing": list(view.plan.differing),
        "states": {state.value: count for state, count in view.counts.items()},
        "metric": view.metric,
        "best": {"job_id": best.job_id, "value": best_value(best.results, view.metric)} if best else None,
        "table": [
            {
                "job_id": entry.job_id,
                "number": entry.number,
                "state": entry.state.value,
                "state_word": words.word("state.job", entry.state.value, request_language()),
                "values": view.plan.row(entry.number),
                "results": {
                    name: best_value(entry.results, name) for name in view.metrics if name in entry.results
                },
                "seconds": entry.seconds,
            }
            for entry in view.shown
        ],
    }


def describe_sweep_preview(found: SweepPreview) -> dict[str, Any]:
    reason = found.first.reason
    return {
        "jobs": found.plan.size,
        "names": found.names[:NAMES_SHOWN],
        "unit_hours": found.unit_hours,
        "unit_hours_are_the_limit": found.is_limit and found.unit_hours is not None,
        "starts_now": found.first.starts_now,
        "waiting": describe_sentence(reason.code, to_waiting_data(reason, found.first.outlook))
        if reason
        else None,
        "warnings": [describe_sentence(warned.code, dict(warned.data)) for warned in found.warnings],
    }


def read_sweep_request(body: dict[str, Any]) -> SweepRequest:
    job = parse_job_body(body)
    return SweepRequest(job, body["values"], body["kind"], body["most_at_once"], body["stop_on_trouble"])


@blueprint.route("")
class Sweeps(MethodView):
    @blueprint.arguments(SweepListQuery, location="query")
    @blueprint.response(200, SweepList)
    def get(self, query: dict[str, Any]) -> dict[str, Any]:
        """Sweeps that you may see, newest first."""
        rows = queries.list_sweeps(
            current_cluster(),
            current_actor(),
            workspace_id=query["workspace_id"],
            training_id=query["training_id"],
            before_id=query["cursor"],
            limit=query["limit"] + 1,
        )
        page = rows[: query["limit"]]
        more = page[-1].id if len(rows) > len(page) else None
        return {"items": [describe_sweep(sweep) for sweep in page], "next_cursor": more}

    @blueprint.arguments(DryRunQuery, location="query")
    @blueprint.arguments(SweepBody)
    @blueprint.response(201, SweepAnswer)
    def post(self, query: dict[str, Any], body: dict[str, Any]) -> Any:
        """Make one job for each set of values: all of them or, with `dry_run=true`, none.

        A text among `values` is split at commas and lines (`1..5` is a range), a list is taken as it is.
        A repeated request with the same Idempotency-Key gets the same sweep.
        """
        cluster, actor, wanted = current_cluster(), current_actor(), read_sweep_request(body)
        if query["dry_run"]:
            return describe_sweep_preview(
                submission.preview_sweep(cluster, actor, body["training_id"], wanted)
            ), 200
        made = submission.submit_sweep(cluster, actor, body["training_id"], wanted, read_idempotency_key())
        answer = describe_sweep(queries.read_sweep(cluster, actor, made.id))
        return answer, 201, {"Location": url_for("api_sweeps.OneSweep", sweep_id=made.id)}


@blueprint.route("/<int:sweep_id>")
class OneSweep(MethodView):
    @blueprint.arguments(SweepQuery, location="query")
    @blueprint.response(200, SweepAnswer)
    def get(self, query: dict[str, Any], sweep_id: int) -> dict[str, Any]:
        """How far it is, and its jobs side by side: sorted by `job`, `seconds`, a parameter or a metric."""
        view = read_sweep_view(
            current_cluster(), current_actor(), sweep_id, query["sort"], query["order"], query["limit"]
        )
        return describe_sweep_view(view)


@blueprint.route("/<int:sweep_id>/stop")
class StopSweep(MethodView):
    @blueprint.response(202, SweepAnswer)
    def post(self, sweep_id: int) -> dict[str, Any]:
        """Stop all its jobs that have not ended."""
        stops.stop_sweep(current_cluster(), current_actor(), sweep_id)
        return describe_sweep(queries.read_sweep(current_cluster(), current_actor(), sweep_id))
