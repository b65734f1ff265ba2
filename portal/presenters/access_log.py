"""The filter of the access log, and its entries as rows of the page and of a CSV file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from flask import Flask, request

from cluster.domain.errors import Refused
from cluster.domain.people.actor import Actor
from cluster.services.audit import entries
from cluster.services.context import Cluster
from cluster.store.audit import AuditEntry
from portal.csv_text import CsvCell
from portal.i18n.reader_zone import request_zone
from portal.i18n.translate import _
from portal.web import forms, query_params

CHUNK_LENGTH = 500
LONGEST_VALUE = 80
OUTCOMES = ("done", "refused", "failed")
KINDS = (
    *("session", "user", "token", "workspace", "dataset", "training", "job", "sweep"),
    *("node", "operation", "repair", "backup", "access_log"),
)
COLUMNS = ["id", "at", "who", "from", "action", "object", "outcome", "request", "data"]


def init_app(app: Flask) -> None:
    app.add_template_global(entry_details)


@dataclass(frozen=True)
class AccessLogFilter:
    """The filters of the address; an empty one does not filter."""

    who: str
    kind: str
    outcome: str
    day: str

    def to_service_filters(self) -> dict[str, Any]:
        """Raises Refused if the text is no day."""
        filters: dict[str, Any] = {
            "actor_name": self.who or None,
            "object_kind": self.kind or None,
            "outcome": self.outcome or None,
        }
        if self.day:
            filters["since"], filters["until"] = day_bounds(self.day)
        return filters


def day_bounds(day: str) -> tuple[datetime, datetime]:
    """Returns the midnights of the day in the reader's time zone, in which the page shows the times. Raises Refused."""
    try:
        first = date.fromisoformat(day)
        begin, end = (
            datetime.combine(each, time(), request_zone()) for each in (first, first + timedelta(days=1))
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


def access_log_csv_rows(cluster: Cluster, actor: Actor, filters: dict[str, Any]) -> Iterator[list[CsvCell]]:
    """Yields the newest entry first. The rows are read in chunks while they are sent, after the request."""
    before: int | None = None
    while True:
        chunk = entries.list_audit_entries(cluster, actor, **filters, before_id=before, limit=CHUNK_LENGTH)
        yield from (access_log_csv_row(entry) for entry in chunk)
        if len(chunk) < CHUNK_LENGTH:
            return
        before = chunk[-1].id


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
        entry_details(entry),
    ]


def entry_details(entry: AuditEntry) -> str:
    """The details that the entry adds, as `name=value`. They never contain a secret."""
    if "differences" in entry.data:
        return " · ".join(correction_details(entry.data))
    return ", ".join(f"{key}={value}" for key, value in entry.data.items() if value not in (None, ""))


def correction_details(data: Mapping[str, Any]) -> Iterator[str]:
    """The object, each value before and after the correction, and the tools that had written it."""
    yield str(data.get("object", ""))
    for each in data["differences"]:
        yield f"{each['path']}: {shorten_value(each['found'])} → {shorten_value(each['wanted'])}"
    if data.get("by"):
        yield _("written by %(tools)s", tools=", ".join(map(str, data["by"])))


def shorten_value(value: object) -> str:
    """Shortens the value; objects are written as JSON."""
    text = (
        "–" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
