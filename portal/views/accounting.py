"""The accounting page: units and hours used in a month, by workspace and user, also as CSV."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response

from cluster.domain.jobs.accounting import CalendarMonth, month_of, parse_month
from cluster.services.jobs import accounting
from cluster.services.jobs.accounting import MonthlyUsage
from cluster.services.workspaces import queries
from portal.csv_text import CsvCell
from portal.presenters.unit_words import installation_unit_kind, localized_unit_word
from portal.recent_values import EVERYBODY, recent_values
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster
from portal.web.responses.csv_responses import csv_response

blueprint = Blueprint("accounting", __name__)


@dataclass(frozen=True)
class WorkspaceUse:
    """A workspace with its people, and what they used together."""

    name: str
    lines: tuple[MonthlyUsage, ...]

    @property
    def jobs(self) -> int:
        return sum(line.jobs for line in self.lines)

    @property
    def booked_hours(self) -> float:
        return sum(line.booked_seconds for line in self.lines) / 3600

    @property
    def used_hours(self) -> float | None:
        return total_hours(line.used_seconds for line in self.lines)

    @property
    def cpu_hours(self) -> float | None:
        return total_hours(line.cpu_seconds for line in self.lines)


@blueprint.get("/accounting")
def page() -> str | Response:
    """Parameters: `month=2026-11`, else this month; `workspace`; `format=csv` for a file."""
    cluster, actor = current_cluster(), current_actor()
    now = month_of(cluster.clock(), cluster.settings.zone)
    month = parse_month(request.args["month"]) if request.args.get("month") else now
    everybody = read_month(month, is_now=month == now)
    workspace_id = query_params.id_param("workspace")
    lines = accounting.select_visible_usage(cluster, actor, everybody, workspace_id)
    if query_params.choice_param("format", ("html", "csv"), "html") == "csv":
        return accounting_csv(month, lines)
    groups = group_uses(lines)
    return render_template(
        "accounting/page.html",
        month=month,
        now=now,
        groups=groups,
        rows=list(usage_rows(groups, actor.user_id)),
        whole=WorkspaceUse("", tuple(lines)),
        people=len({line.user_id for line in lines}),
        workspaces=queries.list_workspace_summaries(cluster, actor),
        chosen=workspace_id,
        earlier=month.before() if month > accounting.read_first_month(cluster) else None,
        later=month.next() if month < now else None,
        current_url_with=query_params.current_url_with,
    )


def read_month(month: CalendarMonth, is_now: bool) -> list[MonthlyUsage]:
    """Reads the usage of everybody. Many people ask for the current month at once, so its jobs are read at most once
    a second.
    """
    cluster = current_cluster()
    if not is_now:
        return accounting.read_usage_of_everybody(cluster, month)
    return recent_values().read(
        EVERYBODY, "usage of this month", lambda: accounting.read_usage_of_everybody(cluster, month)
    )


def total_hours(seconds: Iterable[float | None]) -> float | None:
    """Adds the hours; None if nothing was measured."""
    measured = [each for each in seconds if each is not None]
    return sum(measured) / 3600 if measured else None


def group_uses(lines: list[MonthlyUsage]) -> list[WorkspaceUse]:
    """Groups the lines by workspace in the order of the lines, which is by name."""
    groups: dict[str, list[MonthlyUsage]] = {}
    for line in lines:
        groups.setdefault(line.workspace, []).append(line)
    return [WorkspaceUse(name, tuple(own)) for name, own in groups.items()]


class UsageRow(NamedTuple):
    """The use of one person in one workspace (`line`), or a workspace's `total`; the other of both is None."""

    line: MonthlyUsage | None
    total: WorkspaceUse | None
    unit: str
    is_mine: bool


def usage_rows(groups: Iterable[WorkspaceUse], reader_id: int) -> Iterator[UsageRow]:
    unit = localized_unit_word(1)
    for group in groups:
        for line in group.lines:
            yield UsageRow(line, None, unit, line.user_id == reader_id)
        if len(group.lines) > 1:
            yield UsageRow(None, group, unit, False)


def accounting_csv(month: CalendarMonth, lines: list[MonthlyUsage]) -> Response:
    head = ["month", "workspace", "user", "jobs", "finished", "failed", "stopped", "unit"]
    head += ["unit_hours_booked", "unit_hours_used", "cpu_hours", "max_memory_bytes"]
    kind = installation_unit_kind().value

    def row(line: MonthlyUsage) -> list[CsvCell]:
        ends = [line.finished, line.failed, line.stopped]
        hours = [
            seconds_to_hours(line.booked_seconds),
            seconds_to_hours(line.used_seconds),
            seconds_to_hours(line.cpu_seconds),
        ]
        who: list[CsvCell] = [str(month), line.workspace, line.user, line.jobs]
        return [*who, *ends, kind, *hours, line.max_memory_bytes]

    return csv_response(f"accounting-{month}.csv", head, (row(line) for line in lines))


def seconds_to_hours(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 3600, 4)
