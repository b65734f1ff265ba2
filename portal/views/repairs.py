"""Repair pages: the catalogue, the forecast before a run, the request and the run with its task matrix."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from cluster.domain.errors import Conflict, Refused
from cluster.domain.repairs.definition import BilingualText, Repair, RepairGroup, RepairTargets
from cluster.domain.repairs.run_matrix import FAILED_STATES, RepairVerdict
from cluster.domain.states import OperationState
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.backups.manifests import last_verified_backup, list_backups
from cluster.services.repairs import previews, requests
from cluster.services.repairs.catalogue import (
    list_offered_repairs,
    read_repair_catalogue,
)
from cluster.services.repairs.previews import RepairPreview
from cluster.store.base import LARGEST_ID
from cluster.store.repairs import RepairRun
from portal.i18n.messages import N_, localized_error, localized_sentence
from portal.i18n.translate import _, request_language
from portal.job_files.log_chunks import read_log_chunk
from portal.web import forms
from portal.web.query_params import parse_node_ids
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("repairs", __name__)

GROUPS = {
    RepairGroup.CHECK: N_("Check and keep safe"),
    RepairGroup.MEND: N_("Mend"),
    RepairGroup.DANGEROUS: N_("Dangerous: cannot be undone"),
}
STATE_OF_VERDICT = {
    RepairVerdict.VERIFIED: "verified",
    RepairVerdict.NOT_VERIFIED: "failed",
    RepairVerdict.CANCELLED: "stopped",
    RepairVerdict.BROKEN: "failed",
    RepairVerdict.DRY_RUN: "finished",
}
WORDS = {
    RepairVerdict.VERIFIED: N_("Verified"),
    RepairVerdict.NOT_VERIFIED: N_("Not verified"),
    RepairVerdict.CANCELLED: N_("Cancelled"),
    RepairVerdict.BROKEN: N_("Did not run"),
    RepairVerdict.DRY_RUN: N_("Looked ahead"),
}
RUNS_SHOWN = 20
LOG_BYTES = 64 * 1024
LONGEST_LINE = 1000
"""What Ansible says of a failure can be 20 kB in one line; the file that can be downloaded has all of it."""
FIELDS = ("etag", "reason", "typed")


@dataclass(frozen=True)
class TranscriptLine:
    """One line of the transcript; `kind` is empty, `task`, `changed` or `error`."""

    number: int
    text: str
    kind: str


@blueprint.app_template_global("localized_text")
def in_words(said: BilingualText) -> str:
    """A text of the catalogue in the reader's language."""
    return said.in_language(request_language())


@blueprint.app_template_global("run_state")
def run_state(run: RepairRun) -> dict[str, str]:
    if run.verdict is not None:
        return {"kind": STATE_OF_VERDICT[run.verdict], "word": _(WORDS[run.verdict])}
    if run.operation is not None and run.operation.state is OperationState.INTERRUPTED:
        return {"kind": "interrupted", "word": _("Interrupted")}
    return {"kind": "running", "word": _("Running")}


@blueprint.app_template_global("requester_text")
def who_asked(run: RepairRun) -> str:
    return _("%(user)s, at the console", user=run.console_user) if run.console_user else run.requester.name


@blueprint.app_template_global("repair_title")
def repair_title(name: str) -> str:
    """The stem where the catalogue has it no more."""
    entry = list_offered_repairs(current_cluster()).get(name)
    return in_words(entry.repair.title) if entry else name


@blueprint.get("/repairs")
def index() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    shown = previews.list_repair_summaries(cluster, actor)
    before = min(request.args.get("before", LARGEST_ID, type=int), LARGEST_ID)
    runs = requests.list_repair_runs(cluster, actor, before, RUNS_SHOWN + 1)
    kept = list_backups(cluster, actor)
    return render_template(
        "repairs/_list.html" if is_fragment_request() else "repairs/list.html",
        broken=[localized_error(each) for each in read_repair_catalogue(cluster).broken.values()],
        groups=[
            (_(word), [line for line in shown if line.repair.group is group])
            for group, word in GROUPS.items()
        ],
        backups=kept,
        proven=last_verified_backup(kept),
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
    """Read at this moment, also after a refusal: what the person decides by is never older than the page."""
    seen = previews.preview_repair(current_cluster(), current_actor(), name, node_ids)
    return render_template("repairs/forecast.html", seen=seen, steps=forecast_steps(seen), errors=errors)


def forecast_steps(seen: RepairPreview) -> list[dict[str, Any]]:
    """The playbook's own tasks with the seconds that each took in the last run."""
    last = {task["name"]: task.get("seconds") for run in seen.last_runs[:1] for task in run.tasks}
    return [{"word": in_words(task), "seconds": last.get(task.en)} for task in seen.repair.tasks]


@blueprint.post("/repairs/<repair>")
def ask(repair: str) -> ResponseReturnValue:
    """A forecast that is no longer true runs nothing; the new one is shown with what was typed."""
    nodes = parse_chosen_nodes(request.form.getlist("nodes"))
    try:
        forms.require_known_fields(*FIELDS, "nodes", "look_ahead")
        etag, reason, typed = (forms.text_field(field) for field in FIELDS)
        run = requests.request_repair(
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
    found = requests.read_repair_run(cluster, current_actor(), run_id)
    entry = list_offered_repairs(cluster).get(found.name)
    return render_template(
        "repairs/_run.html" if is_fragment_request() else "repairs/run.html",
        run=found,
        title=repair_title(found.name),
        tasks=task_rows(found, entry.repair if entry else None),
        hosts=hosts_of(found),
        first_failure=first_failure(found),
        failed_nodes=failed_nodes(found),
        further=next_repairs(found),
        log=read_transcript(found),
        took=((found.ended_at or cluster.clock()) - found.requested_at).total_seconds(),
    )


def task_rows(found: RepairRun, repair: Repair | None) -> list[dict[str, Any]]:
    """With names in the reader's language; a task that never began shows every host as not run."""
    said = {task.en: in_words(task) for task in repair.tasks} if repair else {}
    hosts = hosts_of(found)
    return [
        {
            "word": said.get(task["name"], task["name"]),
            "cells": [
                (host, task["hosts"].get(host, "not_run"), task.get("lines", {}).get(host)) for host in hosts
            ],
            "seconds": task.get("seconds"),
            "output": task.get("output") or {},
        }
        for task in found.tasks
    ]


def hosts_of(found: RepairRun) -> list[str]:
    return found.hosts


def first_failure(found: RepairRun) -> int | None:
    """The line of the log at which the first failed cell's output begins."""
    for task in found.tasks:
        for host, cell in task["hosts"].items():
            if cell in FAILED_STATES:
                return int(task.get("lines", {}).get(host) or 1)
    return None


def failed_nodes(found: RepairRun) -> list[int]:
    """Of a run on several nodes that did not end well: those on which a task failed, for a second try there alone."""
    if found.ended_at is None or len(found.hosts) < 2:
        return []
    bad = {host for task in found.tasks for host, cell in task["hosts"].items() if cell in FAILED_STATES}
    return requests.read_node_ids(current_cluster(), bad) if 0 < len(bad) < len(found.hosts) else []


def next_repairs(found: RepairRun) -> list[tuple[Repair, list[int]]]:
    """After one that did not help: those for which it was to be tried first, and the nodes where it did not."""
    if found.verdict is not RepairVerdict.NOT_VERIFIED:
        return []
    cluster = current_cluster()
    known = [
        entry.repair for entry in list_offered_repairs(cluster).values() if found.name in entry.repair.gentler
    ]
    nodes = failed_nodes(found) or requests.read_node_ids(cluster, found.hosts)
    ways = [(repair, nodes if repair.targets is RepairTargets.NODES else []) for repair in known]
    return sorted(ways, key=lambda way: list(GROUPS).index(way[0].group))


def read_transcript(found: RepairRun) -> list[TranscriptLine]:
    """The transcript so far, its beginning if it is very long; empty before the playbook runs."""
    name = f"operation-{found.operation_id or found.offline_record}.log"
    try:
        with open_file_beneath(current_cluster().settings.state_dir, "log", name) as file:
            text = read_log_chunk(file, 0, LOG_BYTES).text
    except (FileMissing, FileNotPlain):
        return []
    return [
        TranscriptLine(number, shorten_line(line), transcript_line_kind(line))
        for number, line in enumerate(text.splitlines(), 1)
    ]


def shorten_line(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def transcript_line_kind(line: str) -> str:
    if line.startswith(("fatal:", "failed:")):
        return "error"
    if line.startswith("changed:"):
        return "changed"
    return "task" if line.startswith(("TASK ", "PLAY ")) else ""


@blueprint.post("/repairs/runs/<int:run_id>/cancel")
def cancel(run_id: int) -> ResponseReturnValue:
    """A run whose worker has given up ends at once, and the form opens again for the same repair and nodes."""
    found = requests.cancel_repair(current_cluster(), current_actor(), run_id)
    if found.ended_at is not None:
        nodes = requests.read_node_ids(current_cluster(), found.hosts)
        return redirect(url_for("repairs.forecast", repair=found.name, nodes=nodes or None), 303)
    return redirect(url_for("repairs.run", run_id=run_id), 303)


@blueprint.app_template_global("check_sentence")
def check_line_words(answer: dict[str, Any]) -> Markup | str:
    return localized_sentence(str(answer["code"]), answer.get("data") or {})
