"""Sweeps over REST: submit or preview, list, show with the jobs side by side, stop."""

from typing import Any

from flask import url_for
from flask.views import MethodView

from cluster.services.queue import submission_preview
from cluster.services.sweeps import queries, stops, submission
from portal.api.blueprint import ApiBlueprint
from portal.api.schemas import DryRunQuery
from portal.api.sweeps.sweep_schemas import SweepAnswer, SweepBody, SweepList, SweepListQuery, SweepQuery
from portal.api.sweeps.sweep_values import (
    describe_sweep,
    describe_sweep_preview,
    describe_sweep_view,
    parse_sweep_body,
)
from portal.presenters.sweeps.sweep_page import read_sweep_view
from portal.web.idempotency import read_idempotency_key
from portal.web.request_context import current_actor, current_cluster

blueprint = ApiBlueprint("sweeps", "Sweeps: many jobs of a training, one for each set of values.")


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
    @blueprint.alt_response(200, SweepAnswer)
    def post(self, query: dict[str, Any], body: dict[str, Any]) -> Any:
        """Make one job for each set of values: all of them or, with `dry_run=true`, none.

        A text among `values` is split at commas and lines (`1..5` is a range), a list is taken as it is.
        A repeated request with the same Idempotency-Key gets the same sweep.
        """
        cluster, actor, sweep_request = current_cluster(), current_actor(), parse_sweep_body(body)
        if query["dry_run"]:
            return describe_sweep_preview(
                submission_preview.preview_sweep(cluster, actor, body["training_id"], sweep_request)
            ), 200
        sweep = submission.submit_sweep(
            cluster, actor, body["training_id"], sweep_request, read_idempotency_key()
        )
        answer = describe_sweep(queries.read_sweep(cluster, actor, sweep.id))
        return answer, 201, {"Location": url_for("api_sweeps.OneSweep", sweep_id=sweep.id)}


@blueprint.route("/<int:sweep_id>")
class OneSweep(MethodView):
    @blueprint.arguments(SweepQuery, location="query")
    @blueprint.response(200, SweepAnswer)
    def get(self, query: dict[str, Any], sweep_id: int) -> dict[str, Any]:
        """Returns the sweep's progress and its jobs, sorted by `job`, `seconds`, a parameter or a metric."""
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
