"""Repair pages: the catalogue, the preview before a run, the request and the run with its task matrix."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, Refused
from cluster.domain.repairs.definition import RepairGroup
from cluster.services.backups.manifests import last_verified_backup, list_backups
from cluster.services.repairs import past_runs, previews, repair_runs
from cluster.services.repairs.catalogue import (
    list_offered_repairs,
    read_repair_catalogue,
)
from cluster.store.base import LARGEST_ID
from portal.i18n.messages import localized_error, localized_word
from portal.presenters.repairs import repair_run, repair_texts
from portal.web import forms
from portal.web.query_params import parse_node_ids
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("repairs", __name__)

RUNS_SHOWN = 20
FIELDS = ("etag", "reason", "typed")


@blueprint.get("/repairs")
def index() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    shown = past_runs.list_repair_summaries(cluster, actor)
    before = min(request.args.get("before", LARGEST_ID, type=int), LARGEST_ID)
    runs = repair_runs.list_repair_runs(cluster, actor, before, RUNS_SHOWN + 1)
    backups = list_backups(cluster, actor)
    return render_template(
        "repairs/_list.html" if is_fragment_request() else "repairs/list.html",
        broken=[localized_error(each) for each in read_repair_catalogue(cluster).broken.values()],
        groups=[
            (localized_word("repair.group", group), [line for line in shown if line.repair.group is group])
            for group in RepairGroup
        ],
        backups=backups,
        proven=last_verified_backup(backups),
        runs=runs[:RUNS_SHOWN],
        has_more=len(runs) > RUNS_SHOWN,
        is_servers=cluster.settings.installation_kind.capabilities.has_systemd,
    )


@blueprint.get("/repairs/<repair>")
def forecast(repair: str) -> ResponseReturnValue:
    return render_forecast(repair, {}, parse_chosen_nodes(request.args.getlist("nodes")))


def parse_chosen_nodes(words: list[str]) -> list[int]:
    return parse_node_ids(",".join(words))


def render_forecast(name: str, errors: dict[str, str], node_ids: list[int]) -> str:
    """Shows the preview as read at this moment, also after a refusal, so that the person never decides on older values
    than those of the page.
    """
    preview = previews.preview_repair(current_cluster(), current_actor(), name, node_ids)
    return render_template(
        "repairs/forecast.html", preview=preview, steps=repair_texts.forecast_steps(preview), errors=errors
    )


@blueprint.post("/repairs/<repair>")
def ask(repair: str) -> ResponseReturnValue:
    """A preview that is out of date runs nothing. The new one is shown with the typed values."""
    nodes = parse_chosen_nodes(request.form.getlist("nodes"))
    try:
        forms.require_known_fields(*FIELDS, "nodes", "look_ahead")
        etag, reason, typed = (forms.text_field(field) for field in FIELDS)
        run = repair_runs.request_repair(
            current_cluster(),
            current_actor(),
            repair,
            etag,
            reason,
            typed,
            node_ids=nodes,
            is_dry_run="look_ahead" in request.form,
        )
    except Refused as refusal:
        return render_forecast(repair, forms.error_messages(refusal), nodes), 422
    except Conflict as conflict:
        return render_forecast(repair, {"": localized_error(conflict)}, nodes), 409
    return redirect(url_for("repairs.run", run_id=run.id), 303)


@blueprint.get("/repairs/runs/<int:run_id>")
def run(run_id: int) -> ResponseReturnValue:
    cluster = current_cluster()
    run_row = repair_runs.read_repair_run(cluster, current_actor(), run_id)
    entry = list_offered_repairs(cluster).get(run_row.name)
    return render_template(
        "repairs/_run.html" if is_fragment_request() else "repairs/run.html",
        run=run_row,
        title=repair_texts.repair_title(run_row.name),
        tasks=repair_run.task_rows(run_row, entry.repair if entry else None),
        hosts=run_row.hosts,
        first_failure=repair_run.first_failure(run_row),
        failed_nodes=repair_run.failed_nodes(run_row),
        further=repair_run.next_repairs(run_row),
        log=repair_run.read_transcript(run_row),
        took=((run_row.ended_at or cluster.clock()) - run_row.requested_at).total_seconds(),
    )


@blueprint.post("/repairs/runs/<int:run_id>/cancel")
def cancel(run_id: int) -> ResponseReturnValue:
    """Cancels a run. If its task worker has given up, the run ends at once, and the form opens for the same nodes."""
    run = repair_runs.cancel_repair(current_cluster(), current_actor(), run_id)
    if run.ended_at is not None:
        nodes = repair_runs.read_node_ids(current_cluster(), run.hosts)
        return redirect(url_for("repairs.forecast", repair=run.name, nodes=nodes or None), 303)
    return redirect(url_for("repairs.run", run_id=run_id), 303)
