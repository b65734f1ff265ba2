"""The access log's pages: filter and list entries, export them as CSV, download or delete the files of a day."""

from flask import Blueprint, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from cluster.domain.errors import Conflict, NotFound
from cluster.domain.people.permissions import require_administrator
from cluster.files.safe_read import FileMissing, FileNotPlain, open_file_beneath
from cluster.services.audit import entries, log_files, log_lines
from cluster.services.audit.seals import read_audit_status
from cluster.services.repairs.catalogue import has_repair_catalogue
from portal.i18n.messages import localized_error
from portal.presenters import access_log
from portal.web import query_params
from portal.web.request_context import current_actor, current_cluster, is_fragment_request
from portal.web.responses.csv_responses import csv_response
from portal.web.responses.file_responses import send_file_so_far

blueprint = Blueprint("access_log", __name__)

PAGE_LENGTH = 50


@blueprint.get("/access-log")
def page() -> ResponseReturnValue:
    """Parameters: `who`, `kind`, `outcome`, `day=2026-11-21`, `before` (keyset), `format=csv` for a file."""
    cluster, actor = current_cluster(), current_actor()
    log_filter = access_log.read_access_log_filter()
    filters = log_filter.to_service_filters()
    if query_params.choice_param("format", ("html", "csv"), "html") == "csv":
        require_administrator(actor)
        name = f"access-log{'-' + log_filter.day if log_filter.day else ''}.csv"
        return csv_response(name, access_log.COLUMNS, access_log.access_log_csv_rows(cluster, actor, filters))
    rows = entries.list_audit_entries(
        cluster, actor, **filters, before_id=query_params.id_param("before"), limit=PAGE_LENGTH + 1
    )
    return render_template(
        "access_log/_list.html" if is_fragment_request() else "access_log/page.html",
        entries=rows[:PAGE_LENGTH],
        has_more=len(rows) > PAGE_LENGTH,
        log_filter=log_filter,
        audit_status=read_audit_status(cluster),
        kinds=access_log.KINDS,
        outcomes=access_log.OUTCOMES,
        can_verify=has_repair_catalogue(cluster),
        current_url_with=query_params.current_url_with,
    )


@blueprint.get("/access-log/days")
def days() -> str:
    """The access log as files, one per local day."""
    files = log_files.list_log_files(current_cluster(), current_actor())
    return render_template("access_log/days.html", files=files)


@blueprint.get("/access-log/days/<day>")
def day(day: str) -> ResponseReturnValue:
    """Raises NotFound."""
    file = log_files.find_log_file(current_cluster(), current_actor(), day)
    folder = log_lines.audit_log_folder(current_cluster())
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
