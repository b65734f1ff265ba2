"""What the runbook knows of a failed job or operation, as the page shows it: the cause, and the way to its repair."""

from dataclasses import dataclass

from flask import Flask, url_for

from cluster.domain.runbook import Match
from cluster.domain.states import JobState
from cluster.files.beneath import FileMissing, FileNotPlain, open_file
from cluster.services.repair_catalogue import read_catalogue
from cluster.services.runbook import look_up
from cluster.store.operations import Operation
from portal.current import current_actor, current_cluster
from portal.i18n import language
from portal.job_files.log import read_piece
from portal.job_page import JobView

TAIL_BYTES = 16 * 1024


@dataclass(frozen=True)
class Advice:
    """`href` leads to the repair's forecast where this person may ask for it, else it is empty."""

    cause: str
    line: str
    href: str
    repair: str


def init_app(app: Flask) -> None:
    app.add_template_global(advice_for_job)
    app.add_template_global(advice_for_operation)


def advice_for_job(view: JobView) -> Advice | None:
    """By how it ended and the last lines of the stderr of the rank that failed."""
    if view.job.state is not JobState.FAILED:
        return None
    rank = (view.job.end_data or {}).get("rank", 0)
    lines = tail_of(f"rank-{rank}.stderr", view)
    return advice_of(look_up(current_cluster(), view.job.end_code or "", lines))


def tail_of(name: str, view: JobView) -> list[str]:
    try:
        with open_file(view.root, *view.out, name) as file:
            return read_piece(file, -TAIL_BYTES).text.splitlines()
    except (FileMissing, FileNotPlain):
        return []


def advice_for_operation(operation: Operation, log_tail: str) -> Advice | None:
    """By its code, what the code says, and the last lines of its log."""
    if not operation.error_code:
        return None
    said = [str(value) for value in (operation.error_data or {}).values()]
    return advice_of(look_up(current_cluster(), operation.error_code, [*log_tail.splitlines(), *said]))


def advice_of(match: Match | None) -> Advice | None:
    if match is None:
        return None
    entry = None
    if current_actor().is_administrator and match.sign.repairs:
        offered = read_catalogue(current_cluster())
        entry = next((offered[name] for name in match.sign.repairs if name in offered), None)
    return Advice(
        cause=match.sign.cause.in_language(language()),
        line=match.line,
        href=url_for("repairs.forecast", repair=entry.repair.name) if entry else "",
        repair=entry.repair.title.in_language(language()) if entry else "",
    )
