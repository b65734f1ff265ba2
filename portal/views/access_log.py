"""The access log: who did what from where, found by its address, as a page and as a file; and whether it is whole."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, NotFound, Refused
from cluster.domain.people import Actor
from cluster.domain.permissions import require_administrator
from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from cluster.services import access_files, audit
from cluster.services.audit_seals import read_standing
from cluster.services.context import Cluster
from cluster.services.repair_catalogue import has_repairs
from cluster.store.audit import AuditEntry
from portal import filters, forms
from portal.csv_file import Cell, csv_response
from portal.current import current_actor, current_cluster, is_fragment
from portal.i18n import _, zone
from portal.saying import say_error
from portal.sending import send_file_so_far

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
class Wanted:
    """What the address asks for; empty: all of it."""

    who: str
    kind: str
    outcome: str
    day: str

    def as_filters(self) -> dict[str, Any]:
        """Raises Refused where the day is none."""
        found: dict[str, Any] = {
            "actor_name": self.who or None,
            "object_kind": self.kind or None,
            "outcome": self.outcome or None,
        }
        if self.day:
            found["since"], found["until"] = bounds_of(self.day)
        return found


def bounds_of(day: str) -> tuple[datetime, datetime]:
    """From midnight to midnight by the installation's own clock. Raises Refused."""
    try:
        first = date.fromisoformat(day)
        begin, end = (datetime.combine(each, time(), zone()) for each in (first, first + timedelta(days=1)))
        return begin.astimezone(UTC), end.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Refused("day", "value.not_a_day", value=day[:40]) from error


def read_wanted() -> Wanted:
    return Wanted(
        who=forms.checked("who", request.args.get("who", ""))[:64],
        kind=filters.chosen("kind", KINDS),
        outcome=filters.chosen("outcome", OUTCOMES),
        day=request.args.get("day", ""),
    )


@blueprint.get("/access-log")
def page() -> ResponseReturnValue:
    """`?who=`, `?kind=`, `?outcome=`, `?day=2026-11-21`, `?before=` (keyset), `?format=csv` as a file."""
    cluster, actor = current_cluster(), current_actor()
    wanted = read_wanted()
    asked = wanted.as_filters()
    if filters.chosen("format", ("html", "csv"), "html") == "csv":
        require_administrator(actor)
        name = f"access-log{'-' + wanted.day if wanted.day else ''}.csv"
        return csv_response(name, COLUMNS, rows_of(cluster, actor, asked))
    found = audit.list_entries(
        cluster, actor, **asked, before_id=filters.number("before"), limit=PAGE_LENGTH + 1
    )
    return render_template(
        "access_log/_list.html" if is_fragment() else "access_log/page.html",
        entries=found[:PAGE_LENGTH],
        has_more=len(found) > PAGE_LENGTH,
        wanted=wanted,
        standing=read_standing(cluster),
        kinds=KINDS,
        outcomes=OUTCOMES,
        can_verify=has_repairs(cluster),
        same_page=filters.same_page,
    )


def rows_of(cluster: Cluster, actor: Actor, asked: dict[str, Any]) -> Iterator[list[Cell]]:
    """Newest first, read piece by piece while it is sent, when the request is over."""
    before: int | None = None
    while True:
        piece = audit.list_entries(cluster, actor, **asked, before_id=before, limit=PIECE)
        yield from (row_of(entry) for entry in piece)
        if len(piece) < PIECE:
            return
        before = piece[-1].id


def row_of(entry: AuditEntry) -> list[Cell]:
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


@blueprint.app_template_global("details_of")
def details_of(entry: AuditEntry) -> str:
    """What the entry adds, as `name=value`; nothing secret is ever in it."""
    if "differences" in entry.data:
        return " · ".join(put_right_in(entry.data))
    return ", ".join(f"{key}={value}" for key, value in entry.data.items() if value not in (None, ""))


def put_right_in(data: Mapping[str, Any]) -> Iterator[str]:
    """The object, what was found there and what it is again, and the tools that had written it."""
    yield str(data.get("object", ""))
    for each in data["differences"]:
        yield f"{each['path']}: {briefly(each['found'])} → {briefly(each['wanted'])}"
    if data.get("by"):
        yield _("written by %(tools)s", tools=", ".join(map(str, data["by"])))


def briefly(value: object) -> str:
    """As JSON has it, where it is no text: whole objects may stand there."""
    text = (
        "–" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


@blueprint.get("/access-log/days")
def days() -> str:
    """The same as files, one per local day."""
    found = access_files.list_days(current_cluster(), current_actor())
    return render_template("access_log/days.html", files=found)


@blueprint.get("/access-log/days/<day>")
def day(day: str) -> ResponseReturnValue:
    """Raises NotFound."""
    file = access_files.find_day(current_cluster(), current_actor(), day)
    folder = access_files.folder_of(current_cluster())
    try:
        with open_file(folder, f"{file.day}.log") as content:
            return send_file_so_far(content)
    except (FileMissing, FileNotPlain) as error:
        raise NotFound("log", day) from error


@blueprint.get("/access-log/days/<day>/delete")
def confirm_delete(day: str) -> str:
    return render_confirm(day, "")


def render_confirm(day: str, problem: str) -> str:
    file = access_files.find_day(current_cluster(), current_actor(), day)
    return render_template("access_log/delete.html", file=file, problem=problem)


@blueprint.post("/access-log/days/<day>/delete")
def delete(day: str) -> ResponseReturnValue:
    try:
        access_files.delete_day(current_cluster(), current_actor(), day)
    except Conflict as conflict:
        return render_confirm(day, say_error(conflict)), 409
    return redirect(url_for("access_log.days"), 303)
