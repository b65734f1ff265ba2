"""Sweeps as REST takes and returns them."""

from dataclasses import replace
from typing import Any

from cluster.domain.sweeps.plan import SweepRequest
from cluster.services.queue.submission_preview import SweepPreview
from cluster.store.jobs import Sweep
from portal.api.blueprint import describe_named, describe_sentence
from portal.api.jobs.job_bodies import parse_job_body
from portal.api.jobs.submission_answers import describe_preview
from portal.i18n.messages import localized_word
from portal.presenters.sweeps.sweep_page import SweepView
from portal.web.request_context import current_cluster

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
        "best": {"job_id": best.job_id, "value": view.value(best, view.metric)} if best else None,
        "table": [
            {
                "job_id": entry.job_id,
                "number": entry.number,
                "state": entry.state.value,
                "state_word": localized_word("state.job", entry.state.value),
                "values": view.plan.row(entry.number),
                "results": {name: view.value(entry, name) for name in view.metrics if name in entry.results},
                "seconds": entry.seconds,
            }
            for entry in view.shown
        ],
    }


def describe_sweep_preview(preview: SweepPreview) -> dict[str, Any]:
    """When the first job starts, and the warnings about all of them."""
    return describe_preview(replace(preview.first, warnings=preview.warnings)) | {
        "jobs": preview.plan.size,
        "names": preview.names[:NAMES_SHOWN],
        "starts": [{"name": name, **describe_preview(job)} for name, job in preview.named_jobs],
        "unit_hours": preview.unit_hours,
        "unit_hours_are_the_limit": preview.is_limit and preview.unit_hours is not None,
    }


def parse_sweep_body(body: dict[str, Any]) -> SweepRequest:
    job = parse_job_body(body)
    return SweepRequest(job, body["values"], body["kind"], body["most_at_once"], body["stop_on_trouble"])
