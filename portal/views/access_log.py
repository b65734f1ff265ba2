"""The access log's pages: filter and list entries, export them as CSV, download or delete the files of a day."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people.actor import Actor
from cluster.domain.people.permissions import require_administrator
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.audit import entries, log_files
from cluster.services.audit.seals import read_audit_status
from cluster.services.context import Cluster
from cluster.services.repairs.catalogue import has_repair_catalogue
from cluster.store.audit import AuditEntry
from portal.i18n.messages import localized_error
from portal.i18n.translate import _, installation_zone
from portal.web import forms, query_params
from portal.web.csv_responses import CsvCell, csv_response
from portal.web.file_responses import send_file_so_far
from portal.web.request_context import current_actor, current_cluster, is_fragment_request

blueprint = Blueprint("access_log", __name__)

PAGE_LENGTH = 50
PIECE = 500
LONGEST_VALUE = 80
OUTCOMES = ("done", "refused", "failed")
KINDS = (
    *("session", "user", "token", "workspace", "dataset", "training", "job", "sweep"),
    *("node", "operation", "repair", "backup", "access_log"),
)
COLUMNS = ["id", "at", "who", "from", "action", "object", "outcome", "request", "data"]


@dataclass(frozen=True)
class AccessLogFilter:
    """The filters of the address; an empty one does not filter."""

    who: str
    kind: str
    outcome: str
    day: str

    def to_service_filters(self) -> dict[str, Any]:
        """Raises Refused where the day is none."""
        found: dict[str, Any] = {
            "actor_name": self.who or None,
            "object_kind": self.kind or None,
            "outcome": self.outcome or None,
        }
        if self.day:
            found["since"], found["until"] = day_bounds(self.day)
        return found


def day_bounds(day: str) -> tuple[datetime, datetime]:
    """From midnight to midnight by the installation's own clock. Raises Refused."""
    try:
        first = date.fromisoformat(day)
        begin, end = (
            datetime.combine(each, time(), installation_zone()) for each in (first, first + timedelta(days=1))
        )
        return begin.astimezone(UTC), end.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Refused("day", "value.not_a_day", value=day[:40]) from error


def read_access_log_filter() -> AccessLogFilter:
    return AccessLogFilter(
        who=forms.reject_control_characters("who", request.args.get("who", ""))[:64],
        kind=query_params.choice_param("kind", KINDS),
        outcome=query_params.choice_param("outcome", OUTCOMES),
        day=request.args.get("day", ""),
    )


@blueprint.get("/access-log")
def page() -> ResponseReturnValue:
    """`?who=`, `?kind=`, `?outcome=`, `?day=2026-11-21`, `?before=` (keyset), `?format=csv` as a file."""
    cluster, actor = current_cluster(), current_actor()
    wanted = read_access_log_filter()
    asked = wanted.to_service_filters()
    if query_params.choice_param("format", ("html", "csv"), "html") == "csv":
        require_administrator(actor)
        name = f"access-log{'-' + wanted.day if wanted.day else ''}.csv"
        return csv_response(name, COLUMNS, access_log_csv_rows(cluster, actor, asked))
    found = entries.list_audit_entries(
        cluster, actor, **asked, before_id=query_params.id_param("before"), limit=PAGE_LENGTH + 1
    )
    return render_template(
        "access_log/_list.html" if is_fragment_request() else "access_log/page.html",
        entries=found[:PAGE_LENGTH],
        has_more=len(found) > PAGE_LENGTH,
        wanted=wanted,
        standing=read_audit_status(cluster),
        kinds=KINDS,
        outcomes=OUTCOMES,
        can_verify=has_repair_catalogue(cluster),
        current_url_with=query_params.current_url_with,
    )


def access_log_csv_rows(cluster: Cluster, actor: Actor, asked: dict[str, Any]) -> Iterator[list[CsvCell]]:
    """Newest first, read piece by piece while it is sent, when the request is over."""
    before: int | None = None
    while True:
        piece = entries.list_audit_entries(cluster, actor, **asked, before_id=before, limit=PIECE)
        yield from (access_log_csv_row(entry) for entry in piece)
        if len(piece) < PIECE:
            return
        before = piece[-1].id


def access_log_csv_row(entry: AuditEntry) -> list[CsvCell]:
    thing = f"{entry.object_kind}-{entry.object_id}" if entry.object_id is not None else entry.object_kind
    return [
        entry.id,
        entry.at.isoformat(),
        entry.actor_name,
        entry.address,
        entry.action,
        thing,
        entry.outcome,
        entry.request_id,
        details_of(entry),
    ]


@blueprint.app_template_global("entry_details")
def details_of(entry: AuditEntry) -> str:
    """What the entry adds, as `name=value`; nothing secret is ever in it."""
    if "differences" in entry.data:
        return " · ".join(correction_details(entry.data))
    return ", ".join(f"{key}={value}" for key, value in entry.data.items() if value not in (None, ""))


def correction_details(data: Mapping[str, Any]) -> Iterator[str]:
    """The object, what was found there and what it is again, and the tools that had written it."""
    yield str(data.get("object", ""))
    for each in data["differences"]:
        yield f"{each['path']}: {shorten_value(each['found'])} → {shorten_value(each['wanted'])}"
    if data.get("by"):
        yield _("written by %(tools)s", tools=", ".join(map(str, data["by"])))


def shorten_value(value: object) -> str:
    """As JSON has it, where it is no text: whole objects may stand there."""
    text = (
        "–" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


@blueprint.get("/access-log/days")
def days() -> str:
    """The same as files, one per local day."""
    found = log_files.list_log_files(current_cluster(), current_actor())
    return render_template("access_log/days.html", files=found)


@blueprint.get("/access-log/days/<day>")
def day(day: str) -> ResponseReturnValue:
    """Raises NotFound."""
    file = log_files.find_log_file(current_cluster(), current_actor(), day)
    folder = log_files.audit_log_folder(current_cluster())
    try:
        with open_file_beneath(folder, f"{file.day}.log") as content:
            return send_file_so_far(content)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("log", day) from error


@blueprint.get("/access-log/days/<day>/delete")
def confirm_delete(day: str) -> str:
    return render_delete_day(day, "")


def render_delete_day(day: str, problem: str) -> str:
    file = log_files.find_log_file(current_cluster(), current_actor(), day)
    return render_template("access_log/delete.html", file=file, problem=problem)


@blueprint.post("/access-log/days/<day>/delete")
def delete(day: str) -> ResponseReturnValue:
    try:
        log_files.delete_log_file(current_cluster(), current_actor(), day)
    except Conflict as conflict:
        return render_delete_day(day, localized_error(conflict)), 409
    return redirect(url_for("access_log.days"), 303)
