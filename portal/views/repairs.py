"""Repairs: the catalogue, the forecast before the click, and the run with what each task did where."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from cluster.domain.errors import Conflict, Refused
from cluster.domain.repair_runs import BAD_CELLS, Verdict
from cluster.domain.repairs import Group, Installation, Repair, Said, Targets
from cluster.domain.states import OperationState
from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from cluster.services import repairs
from cluster.services.backups import last_proven, list_backups
from cluster.services.repair_catalogue import installation_of, read_catalogue, read_files
from cluster.services.repairs import Forecast
from cluster.store.base import LARGEST_ID
from cluster.store.repairs import RepairRun
from portal import forms
from portal.chosen_nodes import read_ids
from portal.current import current_actor, current_cluster, is_fragment
from portal.i18n import _, language
from portal.job_files.log import read_piece
from portal.saying import N_, say, say_error

blueprint = Blueprint("repairs", __name__)

GROUPS = {
    Group.CHECK: N_("Check and keep safe"),
    Group.MEND: N_("Mend"),
    Group.DANGEROUS: N_("Dangerous: cannot be undone"),
}
STATES = {
    Verdict.VERIFIED: "verified",
    Verdict.NOT_VERIFIED: "failed",
    Verdict.CANCELLED: "stopped",
    Verdict.BROKEN: "failed",
    Verdict.LOOKED_AHEAD: "finished",
}
WORDS = {
    Verdict.VERIFIED: N_("Verified"),
    Verdict.NOT_VERIFIED: N_("Not verified"),
    Verdict.CANCELLED: N_("Cancelled"),
    Verdict.BROKEN: N_("Did not run"),
    Verdict.LOOKED_AHEAD: N_("Looked ahead"),
}
RUNS_SHOWN = 20
LOG_BYTES = 64 * 1024
LONGEST_LINE = 1000
"""What Ansible says of a failure can be 20 kB in one line; the file that can be downloaded has all of it."""
FIELDS = ("etag", "reason", "typed")


@dataclass(frozen=True)
class LogLine:
    """One line of the transcript; `kind` is empty, `task`, `changed` or `error`."""

    number: int
    text: str
    kind: str


@blueprint.app_template_global("in_words")
def in_words(said: Said) -> str:
    """A text of the catalogue in the reader's language."""
    return said.in_language(language())


@blueprint.app_template_global("run_state")
def run_state(run: RepairRun) -> dict[str, str]:
    if run.verdict is not None:
        return {"kind": STATES[run.verdict], "word": _(WORDS[run.verdict])}
    if run.operation is not None and run.operation.state is OperationState.INTERRUPTED:
        return {"kind": "interrupted", "word": _("Interrupted")}
    return {"kind": "running", "word": _("Running")}


@blueprint.app_template_global("who_asked")
def who_asked(run: RepairRun) -> str:
    return _("%(user)s, at the console", user=run.console_user) if run.console_user else run.asker.name


@blueprint.app_template_global("repair_title")
def repair_title(name: str) -> str:
    """The stem where the catalogue has it no more."""
    entry = read_catalogue(current_cluster()).get(name)
    return in_words(entry.repair.title) if entry else name


@blueprint.get("/repairs")
def index() -> ResponseReturnValue:
    cluster, actor = current_cluster(), current_actor()
    shown = repairs.list_repairs(cluster, actor)
    before = min(request.args.get("before", LARGEST_ID, type=int), LARGEST_ID)
    runs = repairs.list_runs(cluster, actor, before, RUNS_SHOWN + 1)
    kept = list_backups(cluster, actor)
    return render_template(
        "repairs/_list.html" if is_fragment() else "repairs/list.html",
        broken=[say_error(each) for each in read_files(cluster).broken.values()],
        groups=[
            (_(word), [line for line in shown if line.repair.group is group])
            for group, word in GROUPS.items()
        ],
        backups=kept,
        proven=last_proven(kept),
        runs=runs[:RUNS_SHOWN],
        has_more=len(runs) > RUNS_SHOWN,
        is_servers=installation_of(cluster.settings) is Installation.SERVERS,
    )


@blueprint.get("/repairs/<repair>")
def forecast(repair: str) -> ResponseReturnValue:
    return render_forecast(repair, {}, chosen_nodes(request.args.getlist("nodes")))


def chosen_nodes(words: list[str]) -> list[int]:
    return read_ids(",".join(words))


def render_forecast(name: str, errors: dict[str, str], node_ids: list[int]) -> str:
    """Read at this moment, also after a refusal: what the person decides by is never older than the page."""
    seen = repairs.forecast(current_cluster(), current_actor(), name, node_ids)
    return render_template("repairs/forecast.html", seen=seen, steps=steps_of(seen), errors=errors)


def steps_of(seen: Forecast) -> list[dict[str, Any]]:
    """The playbook's own tasks with the seconds that each took in the last run."""
    last = {task["name"]: task.get("seconds") for run in seen.last_runs[:1] for task in run.tasks}
    return [{"word": in_words(task), "seconds": last.get(task.en)} for task in seen.repair.tasks]


@blueprint.post("/repairs/<repair>")
def ask(repair: str) -> ResponseReturnValue:
    """A forecast that is no longer true runs nothing; the new one is shown with what was typed."""
    nodes = chosen_nodes(request.form.getlist("nodes"))
    try:
        forms.expect(*FIELDS, "nodes", "look_ahead")
        etag, reason, typed = (forms.text(field) for field in FIELDS)
        run = repairs.request_repair(
            current_cluster(),
            current_actor(),
            repair,
            etag,
            reason,
            typed,
            node_ids=nodes,
            is_look_ahead="look_ahead" in request.form,
        )
    except Refused as refusal:
        return render_forecast(repair, forms.problems(refusal), nodes), 422
    except Conflict as conflict:
        return render_forecast(repair, {"": say_error(conflict)}, nodes), 409
    return redirect(url_for("repairs.run", run_id=run.id), 303)


@blueprint.get("/repairs/runs/<int:run_id>")
def run(run_id: int) -> ResponseReturnValue:
    cluster = current_cluster()
    found = repairs.read_run(cluster, current_actor(), run_id)
    entry = read_catalogue(cluster).get(found.name)
    return render_template(
        "repairs/_run.html" if is_fragment() else "repairs/run.html",
        run=found,
        title=repair_title(found.name),
        tasks=shown_tasks(found, entry.repair if entry else None),
        hosts=hosts_of(found),
        first_failure=first_failure(found),
        failed_nodes=failed_nodes(found),
        further=further_ways(found),
        log=read_log(found),
        took=((found.ended_at or cluster.clock()) - found.asked_at).total_seconds(),
    )


def shown_tasks(found: RepairRun, repair: Repair | None) -> list[dict[str, Any]]:
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
            if cell in BAD_CELLS:
                return int(task.get("lines", {}).get(host) or 1)
    return None


def failed_nodes(found: RepairRun) -> list[int]:
    """Of a run on several nodes that did not end well: those on which a task failed, for a second try there alone."""
    if found.ended_at is None or len(found.hosts) < 2:
        return []
    bad = {host for task in found.tasks for host, cell in task["hosts"].items() if cell in BAD_CELLS}
    return repairs.node_ids_of(current_cluster(), bad) if 0 < len(bad) < len(found.hosts) else []


def further_ways(found: RepairRun) -> list[tuple[Repair, list[int]]]:
    """After one that did not help: those for which it was to be tried first, and the nodes where it did not."""
    if found.verdict is not Verdict.NOT_VERIFIED:
        return []
    cluster = current_cluster()
    known = [entry.repair for entry in read_catalogue(cluster).values() if found.name in entry.repair.gentler]
    nodes = failed_nodes(found) or repairs.node_ids_of(cluster, found.hosts)
    ways = [(repair, nodes if repair.targets is Targets.NODES else []) for repair in known]
    return sorted(ways, key=lambda way: list(GROUPS).index(way[0].group))


def read_log(found: RepairRun) -> list[LogLine]:
    """The transcript so far, its beginning if it is very long; empty before the playbook runs."""
    name = f"operation-{found.operation_id or found.record}.log"
    try:
        with open_file(current_cluster().settings.state_dir, "log", name) as file:
            text = read_piece(file, 0, LOG_BYTES).text
    except (FileMissing, FileNotPlain):
        return []
    return [LogLine(number, cut(line), kind_of(line)) for number, line in enumerate(text.splitlines(), 1)]


def cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def kind_of(line: str) -> str:
    if line.startswith(("fatal:", "failed:")):
        return "error"
    if line.startswith("changed:"):
        return "changed"
    return "task" if line.startswith(("TASK ", "PLAY ")) else ""


@blueprint.post("/repairs/runs/<int:run_id>/cancel")
def cancel(run_id: int) -> ResponseReturnValue:
    """Of one that was given up the run ends at once; what it was for is asked for again on the form."""
    found = repairs.cancel_repair(current_cluster(), current_actor(), run_id)
    if found.ended_at is not None:
        nodes = repairs.node_ids_of(current_cluster(), found.hosts)
        return redirect(url_for("repairs.forecast", repair=found.name, nodes=nodes or None), 303)
    return redirect(url_for("repairs.run", run_id=run_id), 303)


@blueprint.app_template_global("check_line_words")
def check_line_words(answer: dict[str, Any]) -> Markup | str:
    return say(str(answer["code"]), answer.get("data") or {})
